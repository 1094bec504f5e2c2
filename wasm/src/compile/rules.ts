// Native rules: the splits that the core finds with masks instead of a table; twin of
// src/tokenmill/_compile/rules.py.
//
// A rule is recognised by what its automaton does. A few probe texts suggest the parameters, then
// the automaton of that rule is built and compared; only equality counts, the probes merely choose.
import type { Behavior } from "../load/spec.js";
import { codePoints } from "../unicode/index.js";
import { complement, intersection, union } from "./char_sets.js";
import type { CharSet } from "./char_sets.js";
import { MATCH_BIT, START, STATE_BITS } from "./dfa_build.js";
import { Classes, mergeRanges } from "./dfa_classes.js";
import { classAt, sameWords } from "./dfa_compare.js";
import type { StageTables } from "./dfa_tables.js";
import { NotRegular } from "./regex_ast.js";
import { compileStage } from "./split.js";

type Family = "gpt2" | "cl100k" | "o200k";
type Tail = "" | "crlf" | "crlf_slash";

/** A stage before it is compiled. */
export interface Stage {
  readonly pattern: string;
  readonly behavior: Behavior;
  readonly invert: boolean;
}

/** A split by family and parameters; the twin explains them. */
export interface NativeRule {
  readonly family: Family;
  readonly contraction: "none" | "exact" | "ignore_case";
  readonly digits: number;
  readonly lettersWithMarks: boolean;
  readonly tail: Tail;
  readonly endRun: boolean;
  readonly isolateDigits: "none" | "each";
  readonly isolateHan: boolean;
}

const [LETTER, NUMBER, SPACE, MARK, UPPER, LOWER, BOTH, HAN] = [1, 2, 4, 8, 16, 32, 64, 128];
const CONTRACTIONS = "'s|'t|'re|'ve|'m|'ll|'d";
const TAILS: Record<Tail, string> = { "": "", crlf: "[\\r\\n]*", crlf_slash: "[\\r\\n/]*" };
const MOST_DIGITS = 3;
const EACH_DIGIT: Stage = { pattern: "\\p{hf:Numeric}", behavior: "isolated", invert: false };

/** Return the rule that gives the same words as the stages for every text, if there is one. */
export function recognise(stages: readonly Stage[]): NativeRule | null {
  const last = stages[stages.length - 1];
  const earlier = stages.slice(0, -1);
  if (last === undefined || earlier.length > 1) return null;
  const [first] = earlier;
  let rule: NativeRule;
  let isolates = false;
  try {
    const tables = compile(last);
    isolates = first !== undefined && sameWords(compile(first), compile(EACH_DIGIT));
    rule = suggest(tables);
    const canonical = compileStage(patternOf(rule), "removed", true);
    if (!sameWords(tables, canonical)) return null;
  } catch (error) {
    if (error instanceof NotRegular) return null;
    throw error;
  }
  if (isolates !== (first !== undefined) || !isScanned(rule)) return null;
  if (!isolates) return rule;
  const isKnown = rule.family === "gpt2" && numbersAreNumeric();
  return isKnown ? { ...rule, isolateDigits: "each" } : null;
}

function compile(stage: Stage): StageTables {
  return compileStage(stage.pattern, stage.behavior, stage.invert);
}

/** Whether the mask scanners of the core know all that the rule asks for. */
function isScanned(rule: NativeRule): boolean {
  if (rule.digits > MOST_DIGITS) return false;
  return rule.family === "gpt2" ? !rule.tail && !rule.endRun : rule.digits > 0;
}

/** Return the rule as a regex, less `isolateDigits`. */
function patternOf(rule: NativeRule): string {
  const marks = rule.lettersWithMarks ? "\\p{M}" : "";
  const numbers = rule.digits ? `\\p{N}{1,${rule.digits}}` : " ?\\p{N}+";
  return [
    ...(rule.isolateHan ? ["\\p{Han}+"] : []),
    ...wordsOf(rule, `[\\p{L}${marks}]`),
    numbers,
    ` ?[^\\s\\p{L}${marks}\\p{N}]+${TAILS[rule.tail]}`,
    ...(rule.endRun ? ["\\s+\\z"] : []),
    ...(rule.family === "gpt2" ? [] : ["\\s*[\\r\\n]+"]),
    "\\s+(?!\\S)",
    "\\s+",
  ].join("|");
}

function wordsOf(rule: NativeRule, letters: string): string[] {
  const contraction = contractionOf(rule);
  if (rule.family === "o200k") return casedWords(rule, contraction);
  const word = rule.family === "gpt2" ? ` ?${letters}+` : `[^\\r\\n\\p{L}\\p{N}]?${letters}+`;
  return contraction ? [contraction, word] : [word];
}

function casedWords(rule: NativeRule, contraction: string): string[] {
  const without = rule.isolateHan ? "&&[^\\p{Han}]" : "";
  const upper = `[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}${without}]`;
  const lower = `[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}${without}]`;
  const tail = contraction ? `(?:${contraction})?` : "";
  return [
    `[^\\r\\n\\p{L}\\p{N}]?${upper}*${lower}+${tail}`,
    `[^\\r\\n\\p{L}\\p{N}]?${upper}+${lower}*${tail}`,
  ];
}

function contractionOf(rule: NativeRule): string {
  if (rule.contraction === "none") return "";
  return rule.contraction === "ignore_case" ? `(?i:${CONTRACTIONS})` : CONTRACTIONS;
}

/** Return the only rule that could be this stage, judged by where a few texts are cut. */
function suggest(tables: StageTables): NativeRule {
  const takesWhole = (text: string): boolean => firstMatch(tables, text) === text.length;
  const isO200k = firstMatch(tables, "aB") === 1;
  const family = isO200k ? "o200k" : takesWhole("\tab") ? "cl100k" : "gpt2";
  const letter = isO200k ? "a" : "";
  const [isExact, isAny] = ["s", "S"].map(
    (s) => firstMatch(tables, `${letter}'${s}a`) === `${letter}'${s}`.length,
  );
  const run = "1".repeat(8);
  const digits = firstMatch(tables, run);
  return {
    family,
    contraction: isAny ? "ignore_case" : isExact ? "exact" : "none",
    digits: digits === run.length ? 0 : Math.max(digits, 1),
    lettersWithMarks: !isO200k && takesWhole("a\u0301"),
    tail: takesWhole("!\n/") ? "crlf_slash" : takesWhole("!\n") ? "crlf" : "",
    endRun: family !== "gpt2" && takesWhole("\n "),
    isolateDigits: "none",
    isolateHan: isO200k && firstMatch(tables, "a\u4e00") === 1,
  };
}

/** Length of the match at the beginning of a text of the first plane, 0 if there is none. */
export function firstMatch(stage: StageTables, text: string): number {
  const { nColumns, cells } = stage.table;
  let state = START;
  let end = 0;
  for (let place = 0; place <= text.length; place += 1) {
    const isEnd = place === text.length;
    const symbol = isEnd ? stage.nClasses : classAt(stage, text.charCodeAt(place));
    const cell = cells[state * nColumns + symbol]!;
    if (cell & MATCH_BIT) end = place;
    state = cell & STATE_BITS;
  }
  return end;
}

/** Rows (begin, end, flags) that cover all code points, for the mask scanners of the core. */
export function ruleClasses(rule: NativeRule): Uint32Array {
  const sets = flaggedSets(rule);
  const classes = new Classes(sets.values());
  const flags = new Array<number>(classes.count).fill(0);
  for (const [flag, chars] of sets) {
    classes.inSet(chars).forEach((isIn, number) => {
      if (isIn) flags[number]! |= flag;
    });
  }
  return mergeRanges(
    classes.bounds,
    classes.ofSegment.map((number) => flags[number]!),
  );
}

function flaggedSets(rule: NativeRule): Map<number, CharSet> {
  const named = (...all: string[]): CharSet => union(...all.map((n) => codePoints("onig", n)));
  const han = rule.isolateHan ? named("Han") : [];
  const isolated = rule.isolateDigits === "each" ? codePoints("hf", "Numeric") : [];
  const sets: [number, CharSet][] = [
    [LETTER!, rule.lettersWithMarks ? named("L", "M") : named("L")],
    [SPACE!, named("Space")],
    [MARK!, named("M")],
    [UPPER!, named("Lu", "Lt")],
    [LOWER!, named("Ll")],
    [BOTH!, named("Lm", "Lo")],
  ];
  const hidden = complement(union(han, isolated));
  return new Map([
    ...sets.map(([flag, chars]) => [flag, intersection(chars, hidden)] as const),
    [NUMBER!, union(named("N"), isolated)],
    [HAN!, han],
  ]);
}

/** Whether the digits that are isolated first leave no number to the split that follows. */
function numbersAreNumeric(): boolean {
  const others = complement(codePoints("hf", "Numeric"));
  return intersection(codePoints("onig", "N"), others).length === 0;
}
