// Program -> transition table, with the meaning of a backtracking engine; twin of
// src/tokenmill/_compile/dfa_build.py.
//
// A state is an ordered list of threads, the most wanted first. Reading a symbol moves each of
// them; a thread that arrives at the match cuts off all threads after it. The next character is
// known when a thread meets a look-ahead, so the look-ahead is decided there, and a match shows on
// the transition by the character after it.
import { Classes } from "./dfa_classes.js";
import { NotRegular } from "./regex_ast.js";
import { MATCH } from "./regex_program.js";
import type { Program, Step } from "./regex_program.js";

export const MATCH_BIT = 0x8000;
export const STATE_BITS = MATCH_BIT - 1;
export const MOST_STATES = 32_767;
export const DEAD = 0;
export const START = 1;

/** Rows are states, columns classes; the last column is the end of the text. */
export interface Table {
  readonly nStates: number;
  readonly nColumns: number;
  readonly cells: Uint16Array;
}

/** Where threads get to by one symbol, in order; a match cuts off those after it. */
interface Move {
  readonly targets: readonly number[];
  readonly hasMatched: boolean;
}

/** The threads of one program over one partition of the code points. */
export class Builder {
  readonly classes: Classes;
  private readonly end: number;
  private readonly accepts: readonly Uint8Array[];
  private readonly moves = new Map<number, Move>();

  constructor(private readonly program: Program) {
    this.classes = new Classes(
      program.steps.flatMap((step) => (step.type === "fork" ? [] : [step.chars])),
    );
    this.end = this.classes.count;
    this.accepts = program.steps.map((step) => this.accepted(step));
  }

  /** All reachable states. */
  table(): Table {
    this.proveHeld();
    const { start } = this.program;
    const numbers = new Map<string, number>([
      ["", DEAD],
      [String(start), START],
    ]);
    const pending: (readonly number[])[] = [[start]];
    const cells = new Array<number>(this.end + 1).fill(DEAD);
    for (const threads of pending) {
      for (let symbol = 0; symbol <= this.end; symbol += 1) {
        const move = this.advance(threads, symbol);
        const key = move.targets.join();
        let number = numbers.get(key);
        if (number === undefined) {
          number = numbers.size;
          numbers.set(key, number);
          pending.push(move.targets);
        }
        cells.push(number | (move.hasMatched ? MATCH_BIT : 0));
      }
      if (numbers.size > MOST_STATES) {
        throw new NotRegular(`the pattern needs more than ${MOST_STATES} states`);
      }
    }
    const nColumns = this.end + 1;
    return { nStates: cells.length / nColumns, nColumns, cells: Uint16Array.from(cells) };
  }

  private advance(threads: readonly number[], symbol: number): Move {
    if (threads.length === 1) return this.move(threads[0]!, symbol);
    const targets = new Set<number>();
    for (const thread of threads) {
      const move = this.move(thread, symbol);
      for (const target of move.targets) targets.add(target);
      if (move.hasMatched) return { targets: Array.from(targets), hasMatched: true };
    }
    return { targets: Array.from(targets), hasMatched: false };
  }

  private move(thread: number, symbol: number): Move {
    const key = thread * (this.end + 1) + symbol;
    let known = this.moves.get(key);
    if (known === undefined) {
      known = this.follow(thread, symbol);
      this.moves.set(key, known);
    }
    return known;
  }

  /** Follow a thread to every step that reads `symbol`, the most wanted way first. */
  private follow(thread: number, symbol: number): Move {
    const targets = new Set<number>();
    const seen = new Set<number>();
    const stack = [thread];
    for (let number = stack.pop(); number !== undefined; number = stack.pop()) {
      if (seen.has(number)) continue;
      seen.add(number);
      if (number === MATCH) return { targets: Array.from(targets), hasMatched: true };
      const step = this.program.steps[number]!;
      if (step.type === "fork") {
        for (let i = step.ways.length - 1; i >= 0; i -= 1) stack.push(step.ways[i]!);
      } else if (this.accepts[number]![symbol] === 1) {
        if (step.type === "consume") targets.add(step.then);
        else stack.push(step.then);
      }
    }
    return { targets: Array.from(targets), hasMatched: false };
  }

  /** For every symbol, the last one the end, whether the step can continue with it. */
  private accepted(step: Step): Uint8Array {
    if (step.type === "fork") return new Uint8Array(0);
    const accepted = new Uint8Array(this.end + 1);
    accepted.set(this.classes.inSet(step.chars));
    accepted[this.end] = step.type === "look" && step.atEnd ? 1 : 0;
    return accepted;
  }

  /** Prove that what follows an atomic part always succeeds, so nothing is ever given back. */
  private proveHeld(): void {
    for (const step of this.program.held) {
      for (let symbol = 0; symbol <= this.end; symbol += 1) {
        if (!this.move(step, symbol).hasMatched) {
          throw new NotRegular("an atomic part that is followed by something that may fail");
        }
      }
    }
  }
}
