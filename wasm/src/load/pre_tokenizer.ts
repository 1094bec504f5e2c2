// The "pre_tokenizer" section of a tokenizer.json -> SplitStep; twin of
// src/tokenmill/_load/pre_tokenizer.py.
import { LoadError } from "./errors.js";
import { expect, member, optional, shown, typeOf } from "./fields.js";
import type { JsonObject, JsonValue } from "./json.js";
import { readPattern } from "./normalizer.js";
import { lengthOf, reprList, reprText, sorted } from "./python.js";
import type { Behavior, Metaspace, PrependScheme, SplitStep } from "./spec.js";

// What ByteLevel splits by when its "use_regex" is true.
export const BYTE_LEVEL_PATTERN =
  "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

const BEHAVIORS = new Map<string, Behavior>([
  ["Removed", "removed"],
  ["Isolated", "isolated"],
  ["MergedWithPrevious", "merged_with_previous"],
  ["MergedWithNext", "merged_with_next"],
  ["Contiguous", "contiguous"],
]);
const SPECIAL_CHARACTERS = new Set("\\.+*?()|[]{}^$#&-~");
const PREPEND_SCHEMES: readonly PrependScheme[] = ["always", "first", "never"];
// How many scripts the library distinguishes; `Script0` holds characters that fit any script.
const N_SCRIPTS = 136;

/** A pre-tokenizer as read; with `byteLevel`, words become bytes. */
export interface Splitting {
  readonly steps: SplitStep[];
  addPrefixSpace: boolean;
  byteLevel: boolean;
  metaspace: Metaspace | null;
  readonly reasons: string[];
}

interface Cut {
  readonly pattern: string;
  readonly behavior: string;
  readonly invert: boolean;
}

/** Read the section, which may be null. */
export function readPreTokenizer(section: JsonValue): Splitting {
  const result: Splitting = {
    steps: [],
    addPrefixSpace: false,
    byteLevel: false,
    metaspace: null,
    reasons: [],
  };
  if (section !== null) read(section, "pre_tokenizer", result);
  return result;
}

function read(section: JsonValue, where: string, result: Splitting): void {
  const [kind, fields] = typeOf(section, where);
  const reader = READERS.get(kind);
  if (kind === "Sequence") {
    for (const [index, child] of member(fields, "pretokenizers", "list", where).entries()) {
      read(child, `${where}.pretokenizers[${index}]`, result);
    }
  } else if (kind === "ByteLevel") {
    readByteLevel(fields, where, result);
  } else if (kind === "Metaspace") {
    readMetaspace(fields, where, result);
  } else if (reader !== undefined) {
    for (const cut of reader(fields, where)) add(result, cut);
  } else {
    result.reasons.push(`pre-tokenizer ${kind}`);
  }
}

function readByteLevel(fields: JsonObject, where: string, result: Splitting): void {
  if (result.byteLevel) {
    result.reasons.push("pre-tokenizer ByteLevel twice");
    return;
  }
  if (result.metaspace !== null) {
    result.reasons.push("pre-tokenizer ByteLevel after Metaspace");
  }
  if (optional(fields, "add_prefix_space", "bool", true, where)) {
    // ByteLevel puts a space before every word it gets, so after another split it would not be
    // once for each range but once for each word.
    const isFirst = result.steps.length === 0 && result.metaspace === null;
    result.addPrefixSpace = isFirst;
    if (!isFirst) {
      result.reasons.push("ByteLevel with add_prefix_space after another pre-tokenizer");
    }
  }
  if (optional(fields, "use_regex", "bool", true, where)) {
    const pattern = BYTE_LEVEL_PATTERN;
    result.steps.push({ pattern, behavior: "isolated", invert: false, onBytes: false });
  }
  result.byteLevel = true;
}

function readMetaspace(fields: JsonObject, where: string, result: Splitting): void {
  const replacement = character(fields, "replacement", where);
  const stated = fields.has("prepend_scheme") ? fields.get("prepend_scheme") : "always";
  const scheme = expect(stated, "str", `${where}.prepend_scheme`);
  const prepend = PREPEND_SCHEMES.find((known) => known === scheme);
  if (prepend === undefined) {
    const problem = `expected one of ${reprList(PREPEND_SCHEMES)}, got ${reprText(scheme)}`;
    throw new LoadError(`${where}.prepend_scheme: ${problem}`);
  }
  if (!optional(fields, "add_prefix_space", "bool", true, where) && prepend !== "never") {
    const problem = `expected what fits prepend_scheme ${reprText(scheme)}, got false`;
    throw new LoadError(`${where}.add_prefix_space: ${problem}`);
  }
  if (result.metaspace !== null || result.byteLevel) {
    const earlier = result.byteLevel ? "ByteLevel" : "another Metaspace";
    result.reasons.push(`pre-tokenizer Metaspace after ${earlier}`);
    return;
  }
  const split = optional(fields, "split", "bool", true, where);
  result.metaspace = { replacement, prepend, split, after: result.steps.length };
}

function character(fields: JsonObject, key: string, where: string): string {
  const value = member(fields, key, "str", where);
  if (lengthOf(value) !== 1) {
    throw new LoadError(`${where}.${key}: expected one character, got ${shown(value)}`);
  }
  return value;
}

function split(fields: JsonObject, where: string): Cut[] {
  const [engine, text] = readPattern(fields, where);
  const pattern = engine === "Regex" ? text : escape(text);
  const behavior = member(fields, "behavior", "str", where);
  return [{ pattern, behavior, invert: optional(fields, "invert", "bool", false, where) }];
}

function digits(fields: JsonObject, where: string): Cut[] {
  const individual = optional(fields, "individual_digits", "bool", false, where);
  const behavior = individual ? "Isolated" : "Contiguous";
  return [{ pattern: "\\p{hf:Numeric}", behavior, invert: false }];
}

function punctuation(fields: JsonObject, where: string): Cut[] {
  const behavior = optional(fields, "behavior", "str", "Isolated", where);
  return [{ pattern: "\\p{hf:Punctuation}", behavior, invert: false }];
}

function delimiter(fields: JsonObject, where: string): Cut[] {
  const pattern = escape(character(fields, "delimiter", where));
  return [{ pattern, behavior: "Removed", invert: false }];
}

function fixedLength(fields: JsonObject, where: string): Cut[] {
  const length = optional(fields, "length", "int", 5, where);
  if (length < 1) throw new LoadError(`${where}.length: expected at least 1, got ${length}`);
  return [{ pattern: `[\\s\\S]{1,${length}}`, behavior: "Isolated", invert: false }];
}

/** Cut into runs of one script plus characters that fit any; drop those before the first. */
function scripts(): Cut[] {
  const sets = Array.from({ length: N_SCRIPTS }, (_, number) => `\\p{hf:Script${number}}`);
  const runs = sets.slice(1).map((one) => `${one}[${one}${sets[0]}]*`);
  return [{ pattern: runs.join("|"), behavior: "Removed", invert: true }];
}

// In this dialect \s is exactly Unicode's White_Space, which is what the library tests.
const BLANKS: Cut = { pattern: "\\s", behavior: "Removed", invert: false };
const WORDS: Cut = {
  pattern: "\\p{hf:Word}+|[^\\p{hf:Word}\\s]+",
  behavior: "Removed",
  invert: true,
};
const MARKS: Cut = { pattern: "\\p{hf:Punctuation}", behavior: "Isolated", invert: false };
const READERS = new Map<string, (fields: JsonObject, where: string) => Cut[]>([
  ["Split", split],
  ["Digits", digits],
  ["Punctuation", punctuation],
  ["CharDelimiterSplit", delimiter],
  ["FixedLength", fixedLength],
  ["UnicodeScripts", scripts],
  ["WhitespaceSplit", () => [BLANKS]],
  ["Whitespace", () => [WORDS]],
  ["BertPreTokenizer", () => [BLANKS, MARKS]],
]);

function add(result: Splitting, cut: Cut): void {
  const behavior = BEHAVIORS.get(cut.behavior);
  if (behavior === undefined) {
    const known = reprList(sorted(BEHAVIORS.keys()));
    const problem = `expected a behavior of ${known}, got ${reprText(cut.behavior)}`;
    throw new LoadError(`pre_tokenizer: ${problem}`);
  }
  if (cut.pattern === "") {
    result.reasons.push("pre-tokenizer Split with an empty pattern");
    return;
  }
  const { pattern, invert } = cut;
  result.steps.push({ pattern, behavior, invert, onBytes: result.byteLevel });
}

/** Write a literal as a pattern: "a.b" -> "a\.b". */
function escape(text: string): string {
  return Array.from(text, (c) => (SPECIAL_CHARACTERS.has(c) ? `\\${c}` : c)).join("");
}
