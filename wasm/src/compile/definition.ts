// The definition of a tokenizer as the core compiles it; the twin of
// src/tokenmill/_compile/definition.py, which explains every field.

export const NO_LIMIT = 0xffff_ffff;

/** A model's tokens, by id, and what it does with them. */
export interface VocabTables {
  kind: "bytes" | "characters" | "wordpiece" | "unigram" | "wordlevel";
  tokenBytes: Uint8Array;
  /** One more than tokens; places in `tokenBytes`. */
  tokenOffsets: Uint32Array;
  matchable: Uint8Array;
  decodeBytes: Uint8Array;
  decodeOffsets: Uint32Array;
  /** Pairs of ids in order of rank: left, right, left, right. */
  merges: Uint32Array | null;
  ranks: Uint32Array | null;
  ignoreMerges: boolean;
  byteIds: Uint32Array | null;
  scores: Float64Array | null;
  unkId: number | null;
  fuseUnk: boolean;
  dropWhite: boolean;
  wholeText: boolean;
  hasEnds: boolean;
  prefix: Uint8Array;
  maxCharacters: number;
}

/** One automaton of a split. */
export interface SplitStage {
  /** Rows of (begin, end, class). */
  ranges: Uint32Array;
  nClasses: number;
  /** [state][nClasses + 1] */
  next: Uint16Array;
  /** [nClasses][nClasses] */
  sync: Uint8Array;
  separates: Uint8Array;
  keepMatch: boolean;
  keepGap: boolean;
  onBytes: boolean;
}

/** A split that the core knows by its parameters. */
export interface SplitRule {
  family: "gpt2" | "cl100k" | "o200k" | "adjacent";
  /** Rows of (begin, end, class). */
  classes: Uint32Array;
  contraction: "none" | "exact" | "ignore_case";
  digits: number;
  tail: "" | "crlf" | "crlf_slash";
  endRun: boolean;
  isolateDigits: "none" | "each";
  isolateHan: boolean;
  wideClasses: boolean;
  joins: readonly number[];
}

/** A text that is a token of its own wherever it occurs. */
export interface AddedToken {
  content: string;
  id: number;
  special: boolean;
  normalized: boolean;
  lstrip: boolean;
  rstrip: boolean;
  singleWord: boolean;
}

/** A whole tokenizer. */
export interface Definition {
  vocab: VocabTables;
  meta: Uint8Array;
  /** Rows of (begin, end). */
  whitespaceRanges: Uint32Array;
  wordRanges: Uint32Array;
  prefixIds: Uint32Array;
  suffixIds: Uint32Array;
  stages: readonly SplitStage[];
  rule: SplitRule | null;
  cutByTokens: boolean;
  addedTokens: readonly AddedToken[];
  normalizer: Uint8Array;
  respelling: Uint8Array;
  prefixSpace: "never" | "always" | "first";
  trim: "never" | "all" | "keep_added";
}
