// Models -> the arrays that the core compiles; twin of src/tokenmill/_compile/tables.py.
import { joined, toArray } from "../load/byte_string.js";
import { LoadError } from "../load/errors.js";
import type { JsonInt } from "../load/json.js";
import type { BpeModel, Model, OpaqueModel, TokenTable } from "../load/spec.js";
import type { Spelled } from "./blanks.js";
import { NO_LIMIT } from "./definition.js";
import type { VocabTables } from "./definition.js";
import { spellEnds, suffixReasons } from "./word_ends.js";

export type KnownModel = Exclude<Model, OpaqueModel>;

/** List why the engine cannot be exact with a model. */
export function modelReasons(spelled: Spelled): string[] {
  const { model, split } = spelled.spec;
  if (model.type === "BpeModel") {
    return bpeReasons(model, split.length > 0 || spelled.wordsAtBlanks);
  }
  const isWithout = model.type === "UnigramModel" && model.unkId === null;
  return isWithout ? ["Unigram without an unknown token"] : [];
}

function bpeReasons(model: BpeModel, isSplit: boolean): string[] {
  const reasons = model.suffix ? suffixReasons(model, isSplit) : [];
  if (model.symbols === "bytes") return reasons;
  if (!isSplit && model.byteIds === null && model.unkId === null) {
    reasons.push("BPE over whole texts that drops characters it does not know");
  }
  if (!isSplit && model.ignoreMerges) reasons.push("BPE over whole texts that ignores merges");
  // A token for unknown characters must not merge: it is not found in any text.
  const standIns = new Set(model.byteIds ?? (model.unkId === null ? [] : [model.unkId]));
  if (model.merges.some((id) => standIns.has(id))) {
    reasons.push("merges of the tokens for unknown characters");
  }
  return reasons;
}

/** Describe a model to the core; `decoded` holds the bytes that ids decode to. */
export function vocabTables(
  model: KnownModel,
  decoded: TokenTable,
  dropWhite: boolean,
): VocabTables {
  const size = Math.max(decoded.length, model.tokens.length);
  const known = model.type === "BpeModel" && model.suffix ? spellEnds(model) : model.tokens;
  const tokens = padded(known, size);
  const decode = padded(decoded, size);
  const base: VocabTables = {
    kind: "wordlevel",
    tokenBytes: joined(tokens),
    tokenOffsets: offsetsOf(tokens),
    matchable: Uint8Array.from(tokens, (token) => (token === null ? 0 : 1)),
    decodeBytes: joined(decode),
    decodeOffsets: offsetsOf(decode),
    merges: null,
    ranks: null,
    ignoreMerges: false,
    byteIds: null,
    scores: null,
    unkId: model.unkId,
    fuseUnk: false,
    dropWhite,
    wholeText: false,
    hasEnds: false,
    prefix: new Uint8Array(0),
    maxCharacters: NO_LIMIT,
  };
  return { ...base, ...detailsOf(model, size) };
}

/** The fields that only some kinds of models have. */
function detailsOf(model: KnownModel, size: number): Partial<VocabTables> {
  switch (model.type) {
    case "BpeModel":
      return {
        kind: model.symbols,
        merges: model.merges,
        ignoreMerges: model.ignoreMerges,
        byteIds: idsOf(model.byteIds),
        fuseUnk: model.fuseUnk,
        hasEnds: model.suffix !== "",
      };
    case "WordPieceModel": {
      const maxCharacters = limitOf(model.maxCharacters);
      return { kind: "wordpiece", prefix: toArray(model.prefix), maxCharacters };
    }
    case "UnigramModel":
      return {
        kind: "unigram",
        scores: paddedScores(model.scores, size),
        byteIds: idsOf(model.byteIds),
      };
    case "WordLevelModel":
      return {};
  }
}

/** The core keeps it in 32 bits. */
function limitOf(limit: JsonInt): number {
  if (limit <= NO_LIMIT) return Number(limit);
  const place = "model.max_input_chars_per_word";
  throw new LoadError(`${place}: expected a number up to ${NO_LIMIT}, got ${limit}`);
}

/** Ids beyond the model have no score; none of theirs may be the least. */
function paddedScores(scores: Float64Array, size: number): Float64Array {
  const all = new Float64Array(size).fill(scores.reduce((a, b) => Math.max(a, b), 0));
  all.set(scores);
  return all;
}

function idsOf(ids: readonly number[] | null): Uint32Array | null {
  return ids === null ? null : Uint32Array.from(ids);
}

function padded(table: TokenTable, size: number): TokenTable {
  const holes = new Array<null>(size - table.length).fill(null);
  return holes.length === 0 ? table : [...table, ...holes];
}

function offsetsOf(table: TokenTable): Uint32Array {
  const offsets = new Uint32Array(table.length + 1);
  let end = 0;
  table.forEach((entry, index) => {
    end += entry === null ? 0 : entry.length;
    offsets[index + 1] = end;
  });
  return offsets;
}
