// What the core needs to know about offsets, and when it cannot give them exactly; twin of
// src/tokenmill/_compile/offsets.py.
import type { TokenizerSpec } from "../load/spec.js";

/** Return which blanks offsets leave out: none, all, or all but one that may have been added. */
export function trimMode(spec: TokenizerSpec): "never" | "all" | "keep_added" {
  if (spec.trimOffsets.length === 0) return "never";
  return spec.trimOffsets[0] === true ? "keep_added" : "all";
}

/** List why offsets cannot be exact; `spec` has its blanks spelled. */
export function offsetReasons(spec: TokenizerSpec): string[] {
  const reasons: string[] = [];
  const { model } = spec;
  const trims = spec.trimOffsets.length > 0;
  if (spec.trimOffsets.length > 1) reasons.push("offsets that are trimmed more than once");
  if (trims && model.type === "BpeModel" && model.suffix) {
    reasons.push("trimmed offsets of words with a suffix");
  }
  const isOverBytes = model.type === "BpeModel" && model.symbols === "bytes";
  if (trims && !isOverBytes) {
    reasons.push("trimmed offsets of a model that is not over bytes");
  }
  const drops = model.type === "BpeModel" && model.byteIds === null && model.unkId === null;
  // Dropped text moves everything after it in the word.
  if (drops && !isOverBytes) reasons.push("a vocabulary that drops characters it does not know");
  return reasons;
}
