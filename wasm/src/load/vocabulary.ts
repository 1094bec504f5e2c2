// Vocabularies of a tokenizer.json: what all kinds of models share; twin of
// src/tokenmill/_load/vocabulary.py.
import { utf8 } from "./byte_string.js";
import type { ByteString } from "./byte_string.js";
import { LoadError } from "./errors.js";
import { isInt, member, shown } from "./fields.js";
import type { JsonInt, JsonObject } from "./json.js";
import { reprText } from "./python.js";
import type { Model, TokenTable } from "./spec.js";

/** Tokens with their ids, in the order of the file. */
export type Vocab = ReadonlyMap<string, JsonInt>;

/** A model and the reasons why it cannot be run natively. */
export interface ReadModel {
  readonly model: Model;
  readonly reasons: readonly string[];
}

/** Read a vocabulary of the form {token: id}. */
export function readVocab(section: JsonObject): Vocab {
  const vocab = member(section, "vocab", "dict", "model");
  for (const [token, id] of vocab) {
    if (!isInt(id) || id < 0) {
      const place = `model.vocab[${reprText(token)}]`;
      throw new LoadError(`${place}: expected a whole number, got ${shown(id)}`);
    }
  }
  return vocab as Vocab;
}

/** The largest id, -1 if there is none. */
function largestId(vocab: Vocab): JsonInt {
  let largest: JsonInt = -1;
  for (const id of vocab.values()) {
    if (id > largest) largest = id;
  }
  return largest;
}

/** One more than the largest id; only for ids without reasons against them. */
export function sizeOf(vocab: Vocab): number {
  return Number(largestId(vocab)) + 1;
}

/** Explain why a vocabulary does not fit into a table with one token for each id. */
export function idReasons(vocab: Vocab): string[] {
  const reasons: string[] = [];
  const largest = largestId(vocab);
  if (Number(largest) + 1 > 4 * vocab.size + 1024) {
    reasons.push(`ids up to ${largest} for ${vocab.size} tokens`);
  }
  if (new Set(vocab.values()).size !== vocab.size) {
    reasons.push("two tokens of the vocabulary share an id");
  }
  return reasons;
}

/** Leave a model to its library. */
export function opaque(reasons: readonly string[]): ReadModel {
  return { model: { type: "OpaqueModel" }, reasons };
}

/** Return a table of entries by their ids, null for holes. */
export function byId(
  size: number,
  ids: Iterable<JsonInt>,
  entries: readonly (ByteString | null)[],
): (ByteString | null)[] {
  const table = new Array<ByteString | null>(size).fill(null);
  let index = 0;
  for (const id of ids) {
    table[Number(id)] = entries[index]!;
    index += 1;
  }
  return table;
}

/** Return the UTF-8 of tokens. */
export function utf8OfTokens(texts: Iterable<string>): ByteString[] {
  return Array.from(texts, utf8);
}

/** Return the UTF-8 of each token by its id; an empty token is never found in a text. */
export function utf8Table(vocab: Vocab): TokenTable {
  const spelled = utf8OfTokens(vocab.keys()).map((entry) => (entry === "" ? null : entry));
  return byId(sizeOf(vocab), vocab.values(), spelled);
}

/**
 * Return the ids of "<0x00>" to "<0xFF>" for a model that falls back to bytes.
 *
 * null if there are none. If only some exist, that is a reason against the native path: the
 * library checks for each character whether all of its bytes are tokens.
 */
export function readByteIds(vocab: Vocab): [readonly number[] | null, string[]] {
  const found: number[] = [];
  for (let byte = 0; byte < 256; byte += 1) {
    const id = vocab.get(`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);
    if (id !== undefined) found.push(Number(id));
  }
  if (found.length === 256) return [found, []];
  if (found.length === 0) return [null, []];
  return [null, [`byte_fallback with ${found.length} of 256 byte tokens`]];
}

