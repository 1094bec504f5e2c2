// The "decoder" section of a tokenizer.json -> DecoderStep, and the texts they work on; twin of
// src/tokenmill/_load/decoder.py.
import { LoadError } from "./errors.js";
import { expect, member, optional, shown, typeOf } from "./fields.js";
import type { JsonInt, JsonObject, JsonValue } from "./json.js";
import { lengthOf } from "./python.js";
import { decoderStep } from "./spec.js";
import type { AddedToken, DecoderStep, Model } from "./spec.js";

const LARGEST_COUNT = 1n << 62n;

/** Steps, the texts of all tokens where the steps need them, and reasons against both. */
export interface ReadDecoder {
  readonly steps: readonly DecoderStep[] | null;
  readonly texts: readonly (string | null)[];
  readonly reasons: readonly string[];
}

/**
 * Read the chain; `pieces` are the tokens of the model, `written` the texts of added ones.
 *
 * No texts are returned if decoding needs nothing but the model's own table of bytes. The library
 * recognises special tokens by their texts, so one that is written differently from how it was
 * added is never skipped.
 */
export function readDecoder(
  section: JsonValue,
  model: Model,
  pieces: Iterable<readonly [string, JsonInt]>,
  addedTokens: readonly AddedToken[],
  written: ReadonlyMap<JsonInt, string>,
): ReadDecoder {
  const reasons: string[] = [];
  const steps = section === null ? null : read(section, "decoder", reasons);
  const areSpecialById = addedTokens.every(
    (token) => !token.special || written.get(token.id) === token.content,
  );
  const isByteLevel = steps !== null && steps.length === 1 && steps[0]!.kind === "byte_level";
  const isOverBytes = model.type === "BpeModel" && model.symbols === "bytes";
  if (isByteLevel && areSpecialById && isOverBytes) return { steps, texts: [], reasons };
  const byId = textsById(pieces, reasons);
  for (const [id, text] of written) byId.set(id, text);
  return { steps, texts: tableOf(byId, reasons), reasons };
}

function textsById(
  pieces: Iterable<readonly [string, JsonInt]>,
  reasons: string[],
): Map<JsonInt, string> {
  const byId = new Map<JsonInt, string>();
  for (const [text, id] of pieces) {
    const known = byId.get(id);
    if (known === undefined) byId.set(id, text);
    else if (known !== text) {
      reasons.push(`two tokens of the vocabulary share the id ${id}`);
      break;
    }
  }
  return byId;
}

function tableOf(byId: ReadonlyMap<JsonInt, string>, reasons: string[]): (string | null)[] {
  let largest: JsonInt = -1;
  for (const id of byId.keys()) {
    if (id > largest) largest = id;
  }
  const size = Number(largest) + 1;
  if (size > 4 * byId.size + 1024) {
    // A forged file must not claim all memory.
    reasons.push(`ids up to ${largest} for ${byId.size} tokens`);
    return [];
  }
  return Array.from({ length: size }, (_, id) => byId.get(id) ?? null);
}

function read(section: JsonValue, where: string, reasons: string[]): DecoderStep[] {
  const [kind, fields] = typeOf(section, where);
  if (kind === "Sequence") {
    const children = expect(fields.get("decoders"), "list", `${where}.decoders`);
    return children.flatMap((child, index) =>
      read(child, `${where}.decoders[${index}]`, reasons),
    );
  }
  const reader = READERS.get(kind);
  if (reader !== undefined) return [reader(fields, where)];
  reasons.push(`decoder ${kind}`);
  return [];
}

function readReplace(fields: JsonObject, where: string): DecoderStep {
  const content = member(fields, "content", "str", where);
  const pattern = member(fields, "pattern", "dict", where);
  for (const [name, kind] of [
    ["String", "replace"],
    ["Regex", "replace_regex"],
  ] as const) {
    if (pattern.has(name)) {
      const text = member(pattern, name, "str", `${where}.pattern`);
      return decoderStep(kind, { a: text, b: content });
    }
  }
  const problem = `expected "String" or "Regex", got ${shown(pattern)}`;
  throw new LoadError(`${where}.pattern: ${problem}`);
}

function readStrip(fields: JsonObject, where: string): DecoderStep {
  const left = member(fields, "start", "int", where);
  const right = member(fields, "stop", "int", where);
  for (const [name, count] of [
    ["start", left],
    ["stop", right],
  ] as const) {
    if (count < 0 || count > LARGEST_COUNT) {
      throw new LoadError(`${where}.${name}: expected a number of characters, got ${count}`);
    }
  }
  return decoderStep("strip", { a: character(fields, "content", where), left, right });
}

/** Read both spellings: "prepend_scheme", and "add_prefix_space" before there was one. */
function readMetaspace(fields: JsonObject, where: string): DecoderStep {
  const replacement = character(fields, "replacement", where);
  const old = optional(fields, "add_prefix_space", "bool", true, where);
  const scheme = optional(fields, "prepend_scheme", "str", old ? "always" : "never", where);
  if (!["always", "first", "never"].includes(scheme)) {
    const place = `${where}.prepend_scheme`;
    throw new LoadError(`${place}: expected always, first or never, got ${shown(scheme)}`);
  }
  return decoderStep("metaspace", { a: replacement, flag: scheme !== "never" });
}

function readWordPiece(fields: JsonObject, where: string): DecoderStep {
  const prefix = member(fields, "prefix", "str", where);
  return decoderStep("wordpiece", { a: prefix, flag: member(fields, "cleanup", "bool", where) });
}

function readCtc(fields: JsonObject, where: string): DecoderStep {
  const a = member(fields, "pad_token", "str", where);
  const b = member(fields, "word_delimiter_token", "str", where);
  return decoderStep("ctc", { a, b, flag: member(fields, "cleanup", "bool", where) });
}

function readSuffix(fields: JsonObject, where: string): DecoderStep {
  return decoderStep("bpe", { a: member(fields, "suffix", "str", where) });
}

function character(fields: JsonObject, key: string, where: string): string {
  const text = member(fields, key, "str", where);
  if (lengthOf(text) === 1) return text;
  throw new LoadError(`${where}.${key}: expected one character, got ${shown(text)}`);
}

const READERS = new Map<string, (fields: JsonObject, where: string) => DecoderStep>([
  ["BPEDecoder", readSuffix],
  ["ByteFallback", () => decoderStep("byte_fallback")],
  ["ByteLevel", () => decoderStep("byte_level")],
  ["CTC", readCtc],
  ["Fuse", () => decoderStep("fuse")],
  ["Metaspace", readMetaspace],
  ["Replace", readReplace],
  ["Strip", readStrip],
  ["WordPiece", readWordPiece],
]);
