// Reading members of foreign JSON, with an error that names the wrong one; twin of
// src/tokenmill/_load/fields.py.
import { LoadError } from "./errors.js";
import { JsonFloat, parse } from "./json.js";
import type { JsonInt, JsonObject, JsonValue } from "./json.js";
import { repr, reprText } from "./python.js";

interface Kinds {
  bool: boolean;
  dict: JsonObject;
  int: JsonInt;
  list: JsonValue[];
  str: string;
}

const WORDS: Record<keyof Kinds, string> = {
  bool: "true or false",
  dict: "an object",
  int: "a whole number",
  list: "an array",
  str: "a string",
};
const SHOWN = 60;
const SURROGATE = /\\u[dD][89a-fA-F]/;
// Halves of pairs are no characters of their own to a pattern with this flag.
const LONE = /\p{Surrogate}/u;

/** Parse a JSON object; an error names the line. */
export function parseJson(bytes: Uint8Array): JsonObject {
  const text = decode(bytes);
  const data = parse(text);
  if (SURROGATE.test(text)) refuseSurrogates(data);
  return expect(data, "dict", "top level");
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    const at = firstBadByte(bytes);
    if (at === null) throw error;
    const shownByte = bytes[at]!.toString(16).padStart(2, "0");
    throw new LoadError(`expected UTF-8, got byte 0x${shownByte}`, { offset: at });
  }
}

/** The place of the first byte that begins no character. */
export function firstBadByte(bytes: Uint8Array): number | null {
  for (let at = 0; at < bytes.length; ) {
    const size = sizeOfCharacter(bytes, at);
    if (size === 0) return at;
    at += size;
  }
  return null;
}

function sizeOfCharacter(bytes: Uint8Array, at: number): number {
  const first = bytes[at]!;
  if (first < 0x80) return 1;
  const size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || at + size > bytes.length) return 0;
  const second = bytes[at + 1]!;
  const least = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  const most = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  if (second < least || second > most) return 0;
  for (let i = at + 2; i < at + size; i += 1) {
    if ((bytes[i]! & 0xc0) !== 0x80) return 0;
  }
  return size;
}

/** Refuse half a surrogate pair, which JSON can write and UTF-8 cannot hold. */
function refuseSurrogates(data: JsonValue): void {
  if (typeof data === "string") {
    const found = LONE.exec(data);
    if (found === null) return;
    throw new LoadError(`expected text, got a lone surrogate ${reprText(found[0])}`);
  }
  if (Array.isArray(data)) data.forEach(refuseSurrogates);
  if (!(data instanceof Map)) return;
  for (const [key, value] of data) {
    refuseSurrogates(key);
    refuseSurrogates(value);
  }
}

/** Return `value` if it is of `kind`; where: dotted path inside the file. */
export function expect<K extends keyof Kinds>(
  value: JsonValue | undefined,
  kind: K,
  where: string,
): Kinds[K] {
  if (kindOf(value) === kind) return value as Kinds[K];
  throw new LoadError(`${where}: expected ${WORDS[kind]}, got ${shown(value ?? null)}`);
}

/** Return a required member. */
export function member<K extends keyof Kinds>(
  data: JsonObject,
  key: string,
  kind: K,
  where: string,
): Kinds[K] {
  const place = where ? `${where}.${key}` : key;
  const value = data.get(key);
  if (value === undefined) throw new LoadError(`${place}: expected ${WORDS[kind]}, got nothing`);
  return expect(value, kind, place);
}

/** Return a member, or `fallback` where it is absent or null. */
export function optional<K extends keyof Kinds>(
  data: JsonObject,
  key: string,
  kind: K,
  fallback: Kinds[K],
  where: string,
): Kinds[K] {
  const value = data.get(key) ?? null;
  return value === null ? fallback : expect(value, kind, `${where}.${key}`);
}

/** Return the "type" of a section and the section. */
export function typeOf(section: JsonValue, where: string): [string, JsonObject] {
  const fields = expect(section, "dict", where);
  return [member(fields, "type", "str", where), fields];
}

/** Write a value of a foreign file into a message, cut to a readable length. */
export function shown(value: JsonValue): string {
  // A character has at most two units, and the text may be that of a whole vocabulary.
  const characters = Array.from(repr(value).slice(0, 2 * SHOWN + 2));
  if (characters.length <= SHOWN) return characters.join("");
  return `${characters.slice(0, SHOWN).join("")}...`;
}

export function isInt(value: JsonValue | undefined): value is JsonInt {
  return typeof value === "number" || typeof value === "bigint";
}

function kindOf(value: JsonValue | undefined): keyof Kinds | "float" | "none" {
  if (value === null || value === undefined) return "none";
  if (typeof value === "string") return "str";
  if (typeof value === "boolean") return "bool";
  if (isInt(value)) return "int";
  if (value instanceof JsonFloat) return "float";
  return Array.isArray(value) ? "list" : "dict";
}
