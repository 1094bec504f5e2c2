// Added tokens of which the normalizer leaves nothing, which would match everywhere.
//
// In Python the core is asked. Here the steps are run over plain text, ASCII and the marker, which
// needs no tables of Unicode; the core, if it is at hand, decides about other texts.
import { normalized } from "../load/added_tokens.js";
import { fromBase64 } from "../load/base64.js";
import { toArray, utf8 } from "../load/byte_string.js";
import { reprText } from "../load/python.js";
import type { AddedToken, NormalizerKind, NormalizerStep } from "../load/spec.js";
import { CharsMap } from "./chars_map.js";
import { firstMatch } from "./rules.js";
import { compileStage } from "./split.js";

/** The normalizer of the core: a serialized program and UTF-8 -> UTF-8. */
export type Normalize = (program: Uint8Array, text: Uint8Array) => Uint8Array;

// Printable ASCII and U+2581.
const SIMPLE = /^[\x20-\x7e\u2581]*$/;
const LONGEST = 1000;
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
// To these the marker is what an ASCII symbol is.
const LEAVE_MARKER = new Set<NormalizerKind>([
  "nfc",
  "nfd",
  "nfkc",
  "nfkd",
  "strip_accents",
  "strip_nonspacing",
  "space_ideographs",
  "clean",
]);

/** Report them; `program` is the serialized form of `steps`. */
export function vanishing(
  tokens: readonly AddedToken[],
  steps: readonly NormalizerStep[],
  program: Uint8Array,
  normalize: Normalize | undefined,
): string[] {
  const reasons: string[] = [];
  for (const token of tokens) {
    if (!token.normalized) continue;
    const written = `the added token ${reprText(token.content)}`;
    let isGone = vanishes(token.content, steps);
    if (isGone === null && normalize !== undefined) {
      isGone = normalize(program, toArray(utf8(token.content))).length === 0;
    }
    if (isGone === null) reasons.push(`${written}, whose normalized form is not known here`);
    else if (isGone) reasons.push(`${written}, which is normalized to nothing`);
  }
  return reasons;
}

/** Whether nothing is left of a text; null if that takes the tables of Unicode. */
export function vanishes(content: string, steps: readonly NormalizerStep[]): boolean | null {
  let text = content;
  for (const [place, step] of steps.entries()) {
    if (text === "") return true;
    if (steps.slice(place).every(keepsSome)) return false;
    const next = after(text, step);
    if (next === null) return null;
    text = next;
  }
  return text === "";
}

/** Whether a step leaves something of every text that is not empty. */
function keepsSome(step: NormalizerStep): boolean {
  const replaces = step.kind === "replace" || step.kind === "replace_regex";
  return NEVER_EMPTIES.has(step.kind) || (replaces && step.b !== "");
}

function after(text: string, step: NormalizerStep): string | null {
  if (step.kind === "replace" || step.kind === "prepend") return normalized(text, [step]);
  if (!SIMPLE.test(text) || text.length > LONGEST) return null;
  switch (step.kind) {
    case "precompiled":
      return mapped(text, new CharsMap(fromBase64(step.a)!));
    case "replace_regex":
      return withoutMatches(text, step.a, step.b);
    case "squeeze":
      return text.split(" ").reduce((words, word) => (word ? `${words} ${word}` : words), "");
    case "strip":
      return stripped(text, step);
    case "lowercase":
      return text.toLowerCase();
    default:
      if (LEAVE_MARKER.has(step.kind)) return text;
      return normalized(text, [step]);
  }
}

/** In plain text every character is a cluster of its own. */
function mapped(text: string, map: CharsMap): string {
  return Array.from(text, (character) => map.find(character) ?? character).join("");
}

function withoutMatches(text: string, pattern: string, replacement: string): string {
  const stage = compileStage(pattern, "isolated", false);
  let left = "";
  for (let at = 0; at < text.length; ) {
    const size = firstMatch(stage, text.slice(at));
    left += size > 0 ? replacement : text[at]!;
    at += Math.max(size, 1);
  }
  return left;
}

function stripped(text: string, step: NormalizerStep): string {
  const begun = step.left ? text.replace(/^ +/, "") : text;
  return step.right ? begun.replace(/ +$/, "") : begun;
}
