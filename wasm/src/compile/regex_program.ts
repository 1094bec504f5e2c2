// Syntax tree -> program: a list of steps that threads walk, most wanted thread first; twin of
// src/tokenmill/_compile/regex_program.py.
//
// The steps are laid out from the end of the pattern to its beginning, so that every step knows
// what follows it. A possessive run of one set is a greedy one that may only stop before a
// character outside of the set. Other parts that never give back what they took become plain ones;
// `held` lists the steps after them, which must be unable to fail; the caller has to prove that.
import { complement } from "./char_sets.js";
import type { CharSet } from "./char_sets.js";
import { NotRegular, isNullable, repeatOf, singleSet } from "./regex_ast.js";
import type { Node, Repeat } from "./regex_ast.js";

const MOST_STEPS = 20_000;
// Pairs of letters that Oniguruma also matches as one character when it ignores case.
const LIGATURES = ["ss", "st", "ff", "fi", "fl"];

export const MATCH = 0;

/** Step over one character of `chars`, then continue at `then`. */
export interface Consume {
  readonly type: "consume";
  readonly chars: CharSet;
  readonly folded: string;
  readonly then: number;
}

/** Continue at `then` if the next character (or the end) is one of those wanted. */
export interface Look {
  readonly type: "look";
  readonly chars: CharSet;
  readonly atEnd: boolean;
  readonly then: number;
}

/** Try each of `ways`, the first one first. */
export interface Fork {
  readonly type: "fork";
  readonly ways: readonly number[];
}

export type Step = Consume | Look | Fork;

/** Steps by number; number 0 is the match. `start` is where a thread begins. */
export class Program {
  readonly steps: Step[] = [{ type: "fork", ways: [] }];
  readonly held: number[] = [];
  start = MATCH;

  /** Append a step and return its number. */
  add(step: Step): number {
    if (this.steps.length >= MOST_STEPS) {
      throw new NotRegular(`the pattern needs more than ${MOST_STEPS} steps`);
    }
    this.steps.push(step);
    return this.steps.length - 1;
  }
}

/** Lay out the steps of a pattern. */
export function buildProgram(node: Node): Program {
  const program = new Program();
  program.start = emit(program, node, MATCH);
  refuseLigatures(program);
  return program;
}

/** Add the steps of `node` that lead to `then`; return the number of the first. */
function emit(program: Program, node: Node, then: number): number {
  switch (node.type) {
    case "char":
      return program.add({ type: "consume", chars: node.chars, folded: node.folded, then });
    case "ahead":
      return program.add({ type: "look", chars: node.chars, atEnd: node.atEnd, then });
    case "sequence":
      return node.parts.reduceRight((next, part) => emit(program, part, next), then);
    case "choice":
      return program.add({
        type: "fork",
        ways: node.options.map((option) => emit(program, option, then)),
      });
    case "atomic":
      return emitAtomic(program, node.part, then);
    case "repeat":
      return emitRepeat(program, node, then);
  }
}

function emitAtomic(program: Program, part: Node, then: number): number {
  if (part.type === "repeat" && part.mode === "greedy") {
    return emitRepeat(program, repeatOf(part.part, part.least, part.most, "possessive"), then);
  }
  if (singleSet(part) === null) program.held.push(then);
  return emit(program, part, then);
}

function emitRepeat(program: Program, node: Repeat, then: number): number {
  if (node.most !== 1 && isNullable(node.part)) {
    throw new NotRegular("a repeated part that can match the empty text");
  }
  const leave = emitLeave(program, node, then);
  let first = then;
  let least = node.least;
  if (node.most === null) {
    first = emitLoop(program, node, leave);
    least = Math.max(node.least - 1, 0);
  } else {
    for (let i = node.least; i < node.most; i += 1) {
      const once = emit(program, node.part, first);
      first = program.add(forkOf(node, once, leave));
    }
  }
  for (let i = 0; i < least; i += 1) first = emit(program, node.part, first);
  return first;
}

/** Add the steps between the part and `then` when the part could be repeated once more. */
function emitLeave(program: Program, node: Repeat, then: number): number {
  if (node.mode !== "possessive") return then;
  const chars = singleSet(node.part);
  if (chars === null) {
    program.held.push(then);
    return then;
  }
  return program.add({ type: "look", chars: complement(chars), atEnd: true, then });
}

/** Add `part*` or `part+`: a fork that leads into the part and back, or out. */
function emitLoop(program: Program, node: Repeat, leave: number): number {
  const fork = program.add({ type: "fork", ways: [] });
  const once = emit(program, node.part, fork);
  program.steps[fork] = forkOf(node, once, leave);
  return node.least === 0 ? fork : once;
}

function forkOf(node: Repeat, once: number, leave: number): Fork {
  return { type: "fork", ways: node.mode === "lazy" ? [leave, once] : [once, leave] };
}

function refuseLigatures(program: Program): void {
  for (const step of program.steps) {
    if (step.type !== "consume" || step.folded === "") continue;
    for (const follower of consumersFrom(program, step.then)) {
      const isLigature = ([a = "", b = ""]: string): boolean =>
        step.folded.includes(a) && follower.folded.includes(b);
      if (LIGATURES.some(isLigature)) {
        throw new NotRegular("letters that match a ligature when case is ignored");
      }
    }
  }
}

/** Return the consuming steps that can come next, whatever the text is. */
function consumersFrom(program: Program, start: number): Consume[] {
  const found: Consume[] = [];
  const seen = new Set([start]);
  const stack = [start];
  for (let number = stack.pop(); number !== undefined; number = stack.pop()) {
    const step = program.steps[number]!;
    if (step.type === "consume") {
      found.push(step);
      continue;
    }
    for (const way of step.type === "look" ? [step.then] : step.ways) {
      if (!seen.has(way)) stack.push(way);
      seen.add(way);
    }
  }
  return found;
}
