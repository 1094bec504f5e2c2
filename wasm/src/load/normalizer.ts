// The "normalizer" section of a tokenizer.json -> NormalizerStep; twin of
// src/tokenmill/_load/normalizer.py.
import { fromBase64 } from "./base64.js";
import { LoadError } from "./errors.js";
import { expect, firstBadByte, member, optional, typeOf } from "./fields.js";
import type { JsonObject, JsonValue } from "./json.js";
import { reprList, sorted } from "./python.js";
import { normalizerStep } from "./spec.js";
import type { NormalizerKind, NormalizerStep } from "./spec.js";

const PLAIN = new Map<string, NormalizerKind>([
  ["NFC", "nfc"],
  ["NFD", "nfd"],
  ["NFKC", "nfkc"],
  ["NFKD", "nfkd"],
  ["Lowercase", "lowercase"],
  ["StripAccents", "strip_accents"],
  ["Nmt", "nmt"],
  ["ByteLevel", "byte_level"],
]);
// The smallest character map: the size of its trie, and one unit.
const LEAST_MAP = 8;

/** Return the steps and the reasons why some could not be expressed. */
export function readNormalizer(section: JsonValue): [readonly NormalizerStep[], string[]] {
  const steps: NormalizerStep[] = [];
  const reasons: string[] = [];
  if (section !== null) read(section, "normalizer", steps, reasons);
  return [steps, reasons];
}

function read(
  section: JsonValue,
  where: string,
  steps: NormalizerStep[],
  reasons: string[],
): void {
  const [kind, fields] = typeOf(section, where);
  const plain = PLAIN.get(kind);
  if (kind === "Sequence") {
    for (const [index, child] of member(fields, "normalizers", "list", where).entries()) {
      read(child, `${where}.normalizers[${index}]`, steps, reasons);
    }
  } else if (plain !== undefined) {
    steps.push(normalizerStep(plain));
  } else if (kind === "Strip") {
    const left = optional(fields, "strip_left", "bool", true, where);
    const right = optional(fields, "strip_right", "bool", true, where);
    steps.push(normalizerStep("strip", { left, right }));
  } else if (kind === "Prepend") {
    steps.push(normalizerStep("prepend", { a: member(fields, "prepend", "str", where) }));
  } else if (kind === "Replace") {
    readReplace(fields, where, steps, reasons);
  } else if (kind === "BertNormalizer") {
    steps.push(...readBert(fields, where));
  } else if (kind === "Precompiled") {
    steps.push(normalizerStep("precompiled", { a: readMap(fields, where) }));
  } else {
    reasons.push(`normalizer ${kind}`);
  }
}

function readReplace(
  fields: JsonObject,
  where: string,
  steps: NormalizerStep[],
  reasons: string[],
): void {
  const content = member(fields, "content", "str", where);
  const [engine, pattern] = readPattern(fields, where);
  if (engine === "Regex") {
    steps.push(normalizerStep("replace_regex", { a: pattern, b: content }));
  } else if (pattern === "") {
    reasons.push("normalizer Replace of the empty string");
  } else {
    steps.push(normalizerStep("replace", { a: pattern, b: content }));
  }
}

/** Strip accents when the file leaves it open and the text is lowercased. */
function readBert(fields: JsonObject, where: string): NormalizerStep[] {
  const steps: NormalizerStep[] = [];
  const lowers = member(fields, "lowercase", "bool", where);
  if (member(fields, "clean_text", "bool", where)) steps.push(normalizerStep("clean"));
  if (member(fields, "handle_chinese_chars", "bool", where)) {
    steps.push(normalizerStep("space_ideographs"));
  }
  if (optional(fields, "strip_accents", "bool", lowers, where)) {
    steps.push(normalizerStep("nfd"), normalizerStep("strip_nonspacing"));
  }
  if (lowers) steps.push(normalizerStep("lowercase"));
  return steps;
}

/** Return the map in base64, after checks that the library makes too. */
function readMap(fields: JsonObject, where: string): string {
  const text = member(fields, "precompiled_charsmap", "str", where);
  const place = `${where}.precompiled_charsmap`;
  const blob = fromBase64(text);
  if (blob === null) throw new LoadError(`${place}: expected base64, got other characters`);
  const stated = blob.length < 4 ? 0 : new DataView(blob.buffer).getUint32(0, true);
  const size = stated - (stated % 4);
  if (blob.length < LEAST_MAP || size === 0 || size > blob.length - 4) {
    const problem = `expected a trie and its size, got ${blob.length} bytes for ${size} of trie`;
    throw new LoadError(`${place}: ${problem}`);
  }
  const bad = firstBadByte(blob.subarray(4 + size));
  if (bad !== null) {
    const problem = `${place}: expected replacements in UTF-8, got other bytes in them`;
    throw new LoadError(problem, { offset: 4 + size + bad });
  }
  return text;
}

/** Return ("Regex" or "String", pattern) of a section that has a "pattern". */
export function readPattern(
  fields: JsonObject,
  where: string,
): ["Regex" | "String", string] {
  const pattern = member(fields, "pattern", "dict", where);
  for (const engine of ["Regex", "String"] as const) {
    const text = pattern.get(engine);
    if (text !== undefined) return [engine, expect(text, "str", `${where}.pattern.${engine}`)];
  }
  const got = reprList(sorted(pattern.keys()));
  throw new LoadError(`${where}.pattern: expected "Regex" or "String", got ${got}`);
}
