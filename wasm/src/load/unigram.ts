// The Unigram "model" section of a tokenizer.json -> UnigramModel; twin of
// src/tokenmill/_load/unigram.py.
import { LoadError } from "./errors.js";
import { expect, isInt, member, shown } from "./fields.js";
import { JsonFloat } from "./json.js";
import type { JsonInt, JsonObject, JsonValue } from "./json.js";
import { parseScore } from "./scores.js";
import type { ByteString } from "./byte_string.js";
import { readByteIds, utf8OfTokens } from "./vocabulary.js";
import type { ReadModel, Vocab } from "./vocabulary.js";

/** Read [[piece, score], ...] as {piece: id}; the last of equal pieces wins. */
export function readPieces(section: JsonObject): Vocab {
  const ids = new Map<string, JsonInt>();
  for (const [index, piece] of member(section, "vocab", "list", "model").entries()) {
    if (!isPiece(piece)) {
      const place = `model.vocab[${index}]`;
      throw new LoadError(`${place}: expected [piece, score], got ${shown(piece)}`);
    }
    ids.set(piece[0], index);
  }
  return ids;
}

/** The pieces of a section that `readPieces` has checked, with equal ones. */
export function piecesOf(section: JsonObject): [string, JsonInt | JsonFloat][] {
  return section.get("vocab") as [string, JsonInt | JsonFloat][];
}

export function readUnigram(section: JsonObject, vocab: Vocab): ReadModel {
  const pieces = piecesOf(section);
  const tokens = new Array<ByteString | null>(pieces.length).fill(null);
  const spelled = utf8OfTokens(vocab.keys());
  let index = 0;
  for (const id of vocab.values()) {
    const piece = spelled[index]!;
    tokens[Number(id)] = piece === "" ? null : piece;
    index += 1;
  }
  const [unkId, reasons] = readUnknown(section, pieces.length);
  let byteIds: readonly number[] | null = null;
  if (section.has("byte_fallback") && member(section, "byte_fallback", "bool", "model")) {
    const [ids, partly] = readByteIds(vocab);
    byteIds = ids;
    reasons.push(...partly);
  }
  const scores = Float64Array.from(pieces, ([, score]) => parseScore(score));
  if (!scores.every(Number.isFinite)) {
    throw new LoadError("model.vocab: expected scores that are finite, got one that is not");
  }
  return { model: { type: "UnigramModel", tokens, scores, unkId, byteIds }, reasons };
}

function readUnknown(section: JsonObject, size: number): [number | null, string[]] {
  if ((section.get("unk_id") ?? null) === null) {
    return [null, ["model.unk_id is null: a character without a piece is an error"]];
  }
  const unkId = expect(section.get("unk_id"), "int", "model.unk_id");
  if (unkId < 0 || unkId >= size) {
    const problem = `expected the id of one of ${size} pieces, got ${unkId}`;
    throw new LoadError(`model.unk_id: ${problem}`);
  }
  return [Number(unkId), []];
}

function isPiece(piece: JsonValue): piece is [string, JsonInt | JsonFloat] {
  if (!Array.isArray(piece) || piece.length !== 2) return false;
  const [text, score] = piece;
  return typeof text === "string" && (isInt(score) || score instanceof JsonFloat);
}
