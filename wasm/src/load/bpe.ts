// The BPE "model" section of a tokenizer.json -> BpeModel; twin of src/tokenmill/_load/bpe.py.
import { UTF8_BYTES, bytesOfToken, decodedBytes } from "./byte_level.js";
import { asBytes, utf8 } from "./byte_string.js";
import type { ByteString } from "./byte_string.js";
import { member, optional } from "./fields.js";
import type { JsonInt, JsonObject } from "./json.js";
import { readMerges } from "./merges.js";
import { isTrue, repr, reprText } from "./python.js";
import type { BpeModel, TokenTable } from "./spec.js";
import {
  byId,
  idReasons,
  opaque,
  readByteIds,
  sizeOf,
  utf8OfTokens,
  utf8Table,
} from "./vocabulary.js";
import type { ReadModel, Vocab } from "./vocabulary.js";

/**
 * Read a BPE model whose words are bytes in the byte-level alphabet.
 *
 * `written` is what decoding writes for the ids of added tokens.
 */
export function readByteBpe(
  section: JsonObject,
  vocab: Vocab,
  written: ReadonlyMap<JsonInt, string>,
): ReadModel {
  const suffix = bytesOfToken(optional(section, "end_of_word_suffix", "str", "", "model"));
  const reasons = [...prefixReasons(section), ...idReasons(vocab)];
  if (suffix === null) {
    reasons.push("model.end_of_word_suffix is outside the byte-level alphabet");
  }
  if (reasons.length > 0 || suffix === null) return opaque(reasons);
  const spelled = Array.from(vocab.keys(), bytesOfToken);
  const known = spelled.map((entry) => (entry === "" ? null : entry));
  const tokens = byId(sizeOf(vocab), vocab.values(), known);
  const texts = Array.from(vocab.keys(), (text, index) => spelled[index] ?? utf8(text));
  const model: BpeModel = {
    type: "BpeModel",
    tokens,
    decodeBytes: decodeTable(vocab, texts, written, decodedBytes),
    merges: readMerges(member(section, "merges", "list", "model"), vocab, tokens),
    ignoreMerges: optional(section, "ignore_merges", "bool", false, "model"),
    symbols: "bytes",
    byteIds: null,
    unkId: null,
    fuseUnk: false,
    suffix,
  };
  return { model, reasons: [...dropout(section), ...missingBytes(section, tokens, suffix)] };
}

/** Read a BPE model that starts from the characters of a word. */
export function readCharacterBpe(
  section: JsonObject,
  vocab: Vocab,
  written: ReadonlyMap<JsonInt, string>,
): ReadModel {
  const against = [...prefixReasons(section), ...idReasons(vocab)];
  if (against.length > 0) return opaque(against);
  const tokens = utf8Table(vocab);
  const [unkId, reasons] = readUnknown(section, vocab);
  const suffix = optional(section, "end_of_word_suffix", "str", "", "model");
  let byteIds: readonly number[] | null = null;
  if (optional(section, "byte_fallback", "bool", false, "model")) {
    const [ids, partly] = readByteIds(vocab);
    byteIds = ids;
    reasons.push(...partly);
    // The library would write the bytes of the suffix as well.
    if (suffix) reasons.push("byte_fallback with an end_of_word_suffix");
  }
  const model: BpeModel = {
    type: "BpeModel",
    tokens,
    decodeBytes: decodeTable(vocab, utf8OfTokens(vocab.keys()), written, utf8),
    merges: readMerges(member(section, "merges", "list", "model"), vocab, tokens),
    ignoreMerges: optional(section, "ignore_merges", "bool", false, "model"),
    symbols: "characters",
    byteIds,
    unkId,
    fuseUnk: optional(section, "fuse_unk", "bool", false, "model"),
    suffix: utf8(suffix),
  };
  return { model, reasons: [...dropout(section), ...reasons] };
}

/** Return the id of the unknown token; one that does not exist makes the library fail. */
function readUnknown(section: JsonObject, vocab: Vocab): [number | null, string[]] {
  if ((section.get("unk_token") ?? null) === null) return [null, []];
  const token = member(section, "unk_token", "str", "model");
  const id = vocab.get(token);
  if (id !== undefined) return [Number(id), []];
  return [null, [`model.unk_token ${reprText(token)} is not in the vocabulary`]];
}

function decodeTable(
  vocab: Vocab,
  entries: readonly ByteString[],
  written: ReadonlyMap<JsonInt, string>,
  spell: (text: string) => ByteString,
): TokenTable {
  let size = sizeOf(vocab);
  for (const id of written.keys()) size = Math.max(size, Number(id) + 1);
  const table = byId(size, vocab.values(), entries);
  for (const [id, text] of written) table[Number(id)] = spell(text);
  return table;
}

function prefixReasons(section: JsonObject): string[] {
  const prefix = optional(section, "continuing_subword_prefix", "str", "", "model");
  return prefix ? [`model.continuing_subword_prefix is ${reprText(prefix)}`] : [];
}

function dropout(section: JsonObject): string[] {
  const rate = section.get("dropout");
  if (rate === undefined || !isTrue(rate)) return [];
  return [`model.dropout is ${repr(rate)}: encoding is random`];
}

/**
 * Explain what happens to bytes without a token, unless they are dropped.
 *
 * With a token for every byte of UTF-8, unk_token, fuse_unk and byte_fallback have no effect.
 */
function missingBytes(section: JsonObject, tokens: TokenTable, suffix: ByteString): string[] {
  if (!isTrue(section.get("unk_token")) && !isTrue(section.get("byte_fallback"))) return [];
  const known = new Set(tokens);
  const missing = UTF8_BYTES.filter((byte) => {
    const symbol = String.fromCharCode(byte);
    return !known.has(asBytes(symbol)) || !known.has(asBytes(symbol + suffix));
  });
  if (missing.length === 0) return [];
  const first = missing[0]!.toString(16).padStart(2, "0");
  return [`${missing.length} bytes have no token, the first is 0x${first}`];
}
