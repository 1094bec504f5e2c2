// What a tokenizer is, as plain data; the twin of src/tokenmill/_spec, which explains every field.
// Only what a tokenizer.json can say: no ranks, no longest match, no SentencePiece rules.
import type { ByteString } from "./byte_string.js";
import type { JsonInt } from "./json.js";

export type Behavior =
  | "removed"
  | "isolated"
  | "merged_with_previous"
  | "merged_with_next"
  | "contiguous";
export type PrependScheme = "always" | "first" | "never";
export type NormalizerKind =
  | "nfc"
  | "nfd"
  | "nfkc"
  | "nfkd"
  | "lowercase"
  | "strip_accents"
  | "strip"
  | "replace"
  | "prepend"
  | "clean"
  | "space_ideographs"
  | "strip_nonspacing"
  | "nmt"
  | "byte_level"
  | "precompiled"
  | "replace_regex"
  | "squeeze";
export type DecoderKind =
  | "byte_level"
  | "byte_fallback"
  | "fuse"
  | "strip"
  | "replace"
  | "replace_regex"
  | "metaspace"
  | "wordpiece"
  | "bpe"
  | "ctc";
export type TokenTable = readonly (ByteString | null)[];

/** Byte-pair encoding over bytes, or over characters. */
export interface BpeModel {
  readonly type: "BpeModel";
  readonly tokens: TokenTable;
  readonly decodeBytes: TokenTable;
  /** Pairs of ids, best first, flat. */
  readonly merges: Uint32Array;
  readonly ignoreMerges: boolean;
  readonly symbols: "bytes" | "characters";
  readonly byteIds: readonly number[] | null;
  readonly unkId: number | null;
  readonly fuseUnk: boolean;
  readonly suffix: ByteString;
}

export interface WordPieceModel {
  readonly type: "WordPieceModel";
  readonly tokens: TokenTable;
  readonly unkId: number;
  readonly prefix: ByteString;
  readonly maxCharacters: JsonInt;
}

export interface UnigramModel {
  readonly type: "UnigramModel";
  readonly tokens: TokenTable;
  readonly scores: Float64Array;
  readonly unkId: number | null;
  readonly byteIds: readonly number[] | null;
}

export interface WordLevelModel {
  readonly type: "WordLevelModel";
  readonly tokens: TokenTable;
  readonly unkId: number;
}

/** A model that the engine cannot run. */
export interface OpaqueModel {
  readonly type: "OpaqueModel";
}

export type Model = BpeModel | WordPieceModel | UnigramModel | WordLevelModel | OpaqueModel;

export interface AddedToken {
  readonly content: string;
  readonly id: JsonInt;
  readonly special: boolean;
  readonly normalized: boolean;
  readonly lstrip: boolean;
  readonly rstrip: boolean;
  readonly singleWord: boolean;
}

export interface SplitStep {
  readonly pattern: string;
  readonly behavior: Behavior;
  readonly invert: boolean;
  readonly onBytes: boolean;
}

export interface NormalizerStep {
  readonly kind: NormalizerKind;
  readonly a: string;
  readonly b: string;
  readonly left: boolean;
  readonly right: boolean;
}

export interface Metaspace {
  readonly replacement: string;
  readonly prepend: PrependScheme;
  readonly split: boolean;
  readonly after: number;
}

export interface DecoderStep {
  readonly kind: DecoderKind;
  readonly a: string;
  readonly b: string;
  readonly left: JsonInt;
  readonly right: JsonInt;
  readonly flag: boolean;
}

export interface TemplatePart {
  readonly text: "" | "A" | "B";
  readonly ids: readonly number[];
  readonly typeId: number;
  readonly overflowTypeId: number;
}

/** A whole tokenizer. */
export interface TokenizerSpec {
  readonly name: string;
  readonly kind: "bpe" | "unigram" | "wordpiece" | "wordlevel";
  readonly model: Model;
  readonly addedTokens: readonly AddedToken[];
  readonly normalizer: readonly NormalizerStep[];
  readonly split: readonly SplitStep[];
  readonly addPrefixSpace: boolean;
  readonly prefixIds: readonly number[];
  readonly suffixIds: readonly number[];
  readonly metaspace: Metaspace | null;
  readonly texts: readonly (string | null)[];
  readonly decoder: readonly DecoderStep[] | null;
  readonly single: readonly TemplatePart[] | null;
  readonly pair: readonly TemplatePart[] | null;
  readonly trimOffsets: readonly boolean[];
  readonly unsupported: readonly string[];
  readonly unsupportedDecode: readonly string[];
  readonly notes: readonly string[];
  readonly source: Uint8Array;
}

/** The library whose answers count. */
export const REFERENCE = "tokenizers";

export function normalizerStep(
  kind: NormalizerKind,
  rest: Partial<NormalizerStep> = {},
): NormalizerStep {
  return { a: "", b: "", left: false, right: false, ...rest, kind };
}

export function decoderStep(kind: DecoderKind, rest: Partial<DecoderStep> = {}): DecoderStep {
  return { a: "", b: "", left: 0, right: 0, flag: false, ...rest, kind };
}

export function templatePart(
  text: "" | "A" | "B",
  ids: readonly number[] = [],
  typeId = 0,
  overflowTypeId = 0,
): TemplatePart {
  return { text, ids, typeId, overflowTypeId };
}

/** One more than the largest id, so that every id indexes a table of this length. */
export function vocabSize(spec: TokenizerSpec): number {
  const { model } = spec;
  if (model.type === "BpeModel") return model.decodeBytes.length;
  let size = model.type === "OpaqueModel" ? 0 : model.tokens.length;
  for (const token of spec.addedTokens) size = Math.max(size, Number(token.id) + 1);
  return size;
}
