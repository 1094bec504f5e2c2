// The merges of a BPE model: pairs of tokens -> pairs of ids; part of what
// src/tokenmill/_load/bpe.py does.
import { LoadError } from "./errors.js";
import { shown } from "./fields.js";
import type { JsonValue } from "./json.js";
import type { TokenTable } from "./spec.js";
import type { Vocab } from "./vocabulary.js";

type Pair = readonly [string, string];

/** Return the ids of each pair, flat; of equal pairs the last, as the library keeps that rank. */
export function readMerges(merges: JsonValue[], vocab: Vocab, tokens: TokenTable): Uint32Array {
  const lines = withoutVersions(merges);
  const flat = mergeIds(lines, vocab);
  if (flat === null) throw mergeError(lines, vocab);
  return lastOfEach(possible(flat, tokens), tokens.length);
}

function withoutVersions(merges: JsonValue[]): JsonValue[] {
  const first = merges[0];
  if (typeof first !== "string" || !first.includes("#version")) return merges;
  return merges.filter((line) => typeof line !== "string" || !line.startsWith("#version"));
}

/** Flatten ["a b", ...] or [["a", "b"], ...] to ids; null if an entry is wrong. */
function mergeIds(merges: JsonValue[], vocab: Vocab): Uint32Array | null {
  const flat = new Uint32Array(2 * merges.length);
  const pairOf = typeof merges[0] === "string" ? splitPair : givenPair;
  let at = 0;
  for (const merge of merges) {
    const pair = pairOf(merge);
    if (pair === null) return null;
    const left = vocab.get(pair[0]);
    const right = vocab.get(pair[1]);
    // The merged token must exist, too.
    if (left === undefined || right === undefined || !vocab.has(pair[0] + pair[1])) return null;
    flat[at] = Number(left);
    flat[at + 1] = Number(right);
    at += 2;
  }
  return flat;
}

function splitPair(merge: JsonValue): Pair | null {
  if (typeof merge !== "string") return null;
  const blank = merge.indexOf(" ");
  if (blank < 0 || merge.includes(" ", blank + 1)) return null;
  return [merge.slice(0, blank), merge.slice(blank + 1)];
}

/** Two strings; like Python, take two characters or the keys of two members for them as well. */
function givenPair(merge: JsonValue): Pair | null {
  let parts: JsonValue[] = [];
  if (Array.isArray(merge)) parts = merge;
  else if (typeof merge === "string") parts = Array.from(merge);
  else if (merge instanceof Map) parts = Array.from(merge.keys());
  const [left, right] = parts;
  if (parts.length !== 2 || typeof left !== "string" || typeof right !== "string") return null;
  return [left, right];
}

/** Leave out merges of entries outside the alphabet, which can never happen. */
function possible(pairs: Uint32Array, tokens: TokenTable): Uint32Array {
  let count = 0;
  const kept = new Uint32Array(pairs.length);
  for (let i = 0; i < pairs.length; i += 2) {
    if (tokens[pairs[i]!] !== null && tokens[pairs[i + 1]!] !== null) {
      kept[count] = pairs[i]!;
      kept[count + 1] = pairs[i + 1]!;
      count += 2;
    }
  }
  return kept.slice(0, count);
}

function lastOfEach(pairs: Uint32Array, nIds: number): Uint32Array {
  const keys = new Float64Array(pairs.length / 2);
  for (let i = 0; i < keys.length; i += 1) keys[i] = pairs[2 * i]! * nIds + pairs[2 * i + 1]!;
  // Nearly no file has equal pairs, and sorting finds that out faster than a map.
  const inOrder = keys.slice().sort();
  if (!inOrder.some((key, i) => i > 0 && inOrder[i - 1] === key)) return pairs;
  const lasts = new Map<number, number>();
  keys.forEach((key, i) => lasts.set(key, 2 * i));
  const places = Array.from(lasts.values()).sort((a, b) => a - b);
  return Uint32Array.from(places.flatMap((i) => [pairs[i]!, pairs[i + 1]!]));
}

/** Find the merge that is wrong; only called when there is one. */
function mergeError(merges: JsonValue[], vocab: Vocab): LoadError {
  for (const [index, merge] of merges.entries()) {
    const place = `model.merges[${index}]`;
    const parts = typeof merge === "string" ? merge.split(" ") : merge;
    if (!isPairOfTexts(parts)) {
      return new LoadError(`${place}: expected two tokens, got ${shown(merge)}`);
    }
    for (const token of [...parts, parts.join("")]) {
      if (!vocab.has(token)) {
        const problem = `expected tokens of the vocabulary, got ${shown(token)}`;
        return new LoadError(`${place}: ${problem}`);
      }
    }
  }
  return new LoadError('model.merges: expected either "a b" or ["a", "b"] throughout, got both');
}

function isPairOfTexts(parts: JsonValue): parts is string[] {
  return (
    Array.isArray(parts) && parts.length === 2 && parts.every((part) => typeof part === "string")
  );
}
