// What can be wrong with a tokenizer.json: where, what, and how to fix it.
import { TokenmillError } from "../errors.js";

/** What an error is about, besides the problem. */
export interface ErrorFacts {
  where?: string;
  hint?: string;
}

/** A file that cannot be read, or that is not a tokenizer.json. */
export class LoadError extends TokenmillError {
  readonly problem: string;
  /** Counts from 1; null if unknown. */
  readonly line: number | null;
  /** A byte position in the file; null if unknown. */
  readonly offset: number | null;
  readonly hint: string;

  constructor(
    problem: string,
    facts: { line?: number; offset?: number; hint?: string } = {},
  ) {
    super("LoadError", compose(placeOf(facts.line, facts.offset), problem, facts.hint ?? ""));
    this.name = "LoadError";
    this.problem = problem;
    this.line = facts.line ?? null;
    this.offset = facts.offset ?? null;
    this.hint = facts.hint ?? "";
  }
}

/** A tokenizer that was understood but that the engine cannot run exactly, and the reasons. */
export class UnsupportedTokenizer extends TokenmillError {
  readonly problem: string;
  readonly reasons: readonly string[];
  readonly where: string;
  readonly hint: string;

  constructor(problem: string, reasons: readonly string[], facts: ErrorFacts = {}) {
    super("UnsupportedTokenizer", compose(facts.where ?? "", problem, facts.hint ?? ""));
    this.name = "UnsupportedTokenizer";
    this.problem = problem;
    this.reasons = reasons;
    this.where = facts.where ?? "";
    this.hint = facts.hint ?? "";
  }
}

/** A split pattern that is wrong; `offset` is a character position in `pattern`. */
export class PatternError extends TokenmillError {
  readonly problem: string;
  readonly pattern: string;
  readonly offset: number;

  constructor(problem: string, pattern: string, offset: number) {
    super("PatternError", compose(`pattern at character ${offset}`, problem, ""));
    this.name = "PatternError";
    this.problem = problem;
    this.pattern = pattern;
    this.offset = offset;
  }
}

/** What to do with a tokenizer that the engine cannot run: there is no other one here. */
export const ONLY_IN_PYTHON =
  "this package has no other engine to run it with; the Python package tokenmill runs it " +
  "through the library 'tokenizers'";

function placeOf(line: number | undefined, offset: number | undefined): string {
  if (line !== undefined) return `line ${line}`;
  return offset === undefined ? "" : `byte ${offset}`;
}

function compose(where: string, problem: string, hint: string): string {
  const message = where ? `${where}: ${problem}` : problem;
  return hint ? `${message}; hint: ${hint}` : message;
}
