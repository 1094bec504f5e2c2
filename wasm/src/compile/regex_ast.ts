// The parts of a parsed split pattern, and the reasons why one may not become an automaton; twin of
// src/tokenmill/_compile/regex_ast.py.
import type { CharSet } from "./char_sets.js";

export type Mode = "greedy" | "lazy" | "possessive";

/** A valid pattern whose exact meaning no table can hold; the message explains why. */
export class NotRegular extends Error {
  constructor(readonly reason: string) {
    super(reason);
    this.name = "NotRegular";
  }
}

/** One character of a set. `folded` lists the ASCII letters that were widened by (?i). */
export interface Char {
  readonly type: "char";
  readonly chars: CharSet;
  readonly folded: string;
}

/** The next character must be in `chars`, or, if `atEnd`, there may be none. */
export interface Ahead {
  readonly type: "ahead";
  readonly chars: CharSet;
  readonly atEnd: boolean;
}

/** One part after the other; empty: the empty text. */
export interface Sequence {
  readonly type: "sequence";
  readonly parts: readonly Node[];
}

/** The first option that leads to a match. */
export interface Choice {
  readonly type: "choice";
  readonly options: readonly Node[];
}

/** `part` at least `least` and at most `most` times (null: without limit). */
export interface Repeat {
  readonly type: "repeat";
  readonly part: Node;
  readonly least: number;
  readonly most: number | null;
  readonly mode: Mode;
}

/** The first match of `part`, never given back. */
export interface Atomic {
  readonly type: "atomic";
  readonly part: Node;
}

export type Node = Char | Ahead | Sequence | Choice | Repeat | Atomic;

export function charOf(chars: CharSet, folded = ""): Char {
  return { type: "char", chars, folded };
}

export function aheadOf(chars: CharSet, atEnd: boolean): Ahead {
  return { type: "ahead", chars, atEnd };
}

export function sequenceOf(parts: readonly Node[]): Sequence {
  return { type: "sequence", parts };
}

export function choiceOf(options: readonly Node[]): Choice {
  return { type: "choice", options };
}

export function repeatOf(part: Node, least: number, most: number | null, mode: Mode): Repeat {
  return { type: "repeat", part, least, most, mode };
}

/** Whether the node can match without consuming a character. */
export function isNullable(node: Node): boolean {
  switch (node.type) {
    case "char":
      return false;
    case "ahead":
      return true;
    case "sequence":
      return node.parts.every(isNullable);
    case "choice":
      return node.options.some(isNullable);
    case "repeat":
      return node.least === 0 || isNullable(node.part);
    case "atomic":
      return isNullable(node.part);
  }
}

/** Return the set if the node matches exactly one character of a set, whatever follows. */
export function singleSet(node: Node): CharSet | null {
  switch (node.type) {
    case "char":
      return node.chars;
    case "sequence":
      return node.parts.length === 1 ? singleSet(node.parts[0]!) : null;
    case "choice":
      return node.options.length === 1 ? singleSet(node.options[0]!) : null;
    case "atomic":
      return singleSet(node.part);
    case "repeat":
      return node.least === 1 && node.most === 1 ? singleSet(node.part) : null;
    case "ahead":
      return null;
  }
}
