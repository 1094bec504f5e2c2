// Tokens that end a word, such as "the</w>": how the core spells them, and when it cannot; twin of
// src/tokenmill/_compile/word_ends.py.
//
// The last symbol of a word is a byte or a character followed by the suffix. The core writes the
// suffix as one byte that no text has; so the text "</w>" is never taken for it.
import { UTF8_BYTES } from "../load/byte_level.js";
import { asBytes, textOf } from "../load/byte_string.js";
import type { ByteString } from "../load/byte_string.js";
import { lengthOf, reprBytes } from "../load/python.js";
import type { BpeModel, TokenTable } from "../load/spec.js";

const END = "\xff";

/** Write the suffix of tokens as the core spells it; null if no text can become the token. */
export function spellEnds(model: BpeModel): TokenTable {
  return model.tokens.map((token) => (token === null ? null : spelled(token, model.suffix)));
}

function spelled(token: ByteString, suffix: ByteString): ByteString | null {
  const body = token.endsWith(suffix) ? token.slice(0, -suffix.length) : token;
  if (body === "" || body.includes(END)) return null;
  return asBytes(body.length < token.length ? body + END : body);
}

/** List why words with a suffix cannot be exact. */
export function suffixReasons(model: BpeModel, isSplit: boolean): string[] {
  const reasons: string[] = [];
  if (!isSplit) reasons.push("BPE over whole texts with an end_of_word_suffix");
  if (model.ignoreMerges) reasons.push("an end_of_word_suffix where merges are ignored");
  if (!isToldApart(model)) {
    reasons.push(`text that is merged to tokens that end with ${reprBytes(model.suffix)}`);
  }
  if (model.symbols === "bytes" && !hasAllBytes(model)) {
    reasons.push("bytes without a token, in words with a suffix");
  }
  return reasons;
}

/** Whether tokens with the suffix come from the last symbol of a word, and from nothing else. */
function isToldApart(model: BpeModel): boolean {
  const { suffix, merges, symbols } = model;
  const size = symbols === "bytes" ? suffix.length : lengthOf(textOf(suffix));
  if (size === 1) return false; // it may be a symbol of the text as well
  const tokens = model.tokens.map((token): string => token ?? "");
  for (let i = 0; i < merges.length; i += 2) {
    const left = tokens[merges[i]!]!;
    const right = tokens[merges[i + 1]!]!;
    const isEnd = (left + right).endsWith(suffix);
    if (left.endsWith(suffix) || right.endsWith(suffix) !== isEnd) return false;
  }
  return true;
}

function hasAllBytes(model: BpeModel): boolean {
  const known = new Set<string | null>(model.tokens);
  return UTF8_BYTES.every((byte) => {
    const symbol = String.fromCharCode(byte);
    return known.has(symbol) && known.has(symbol + model.suffix);
  });
}
