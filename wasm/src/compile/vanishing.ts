// Added tokens of which the normalizer leaves nothing, which would match everywhere.
//
// In Python the core is asked. Here a proof comes first, so that nearly all tokenizers are compiled
// without it; the core decides about the others.
import { toArray, utf8 } from "../load/byte_string.js";
import { normalized } from "../load/added_tokens.js";
import { reprText } from "../load/python.js";
import type { AddedToken, NormalizerKind, NormalizerStep } from "../load/spec.js";

/** The normalizer of the core: a serialized program and UTF-8 -> UTF-8. */
export type Normalize = (program: Uint8Array, text: Uint8Array) => Uint8Array;

const NEVER_EMPTIES = new Set<NormalizerKind>([
  "nfc",
  "nfd",
  "nfkc",
  "nfkd",
  "lowercase",
  "space_ideographs",
  "byte_level",
  "prepend",
]);

/** Report them; `program` is the serialized form of `steps`. */
export function vanishing(
  tokens: readonly AddedToken[],
  steps: readonly NormalizerStep[],
  program: Uint8Array,
  normalize: Normalize | undefined,
): string[] {
  const isGone = (content: string): boolean =>
    vanishes(content, steps) ?? asked(content, program, normalize);
  return tokens
    .filter((token) => token.normalized && isGone(token.content))
    .map((token) => `the added token ${reprText(token.content)}, which is normalized to nothing`);
}

/** Whether nothing is left of a text; null if that takes the tables of Unicode or of a map. */
export function vanishes(content: string, steps: readonly NormalizerStep[]): boolean | null {
  const keeps = (step: NormalizerStep): boolean =>
    NEVER_EMPTIES.has(step.kind) || (step.kind === "replace" && step.b !== "");
  if (content !== "" && steps.every(keeps)) return false;
  const left = normalized(content, steps);
  return left === null ? null : left === "";
}

function asked(content: string, program: Uint8Array, normalize: Normalize | undefined): boolean {
  if (normalize !== undefined) return normalize(program, toArray(utf8(content))).length === 0;
  const token = reprText(content);
  throw new TypeError(
    `definitionOf: only the core knows what the normalizer leaves of the added token ${token}; ` +
      "hint: pass `normalize`",
  );
}
