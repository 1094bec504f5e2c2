// Normalizer steps -> the byte string that a compiled model carries and the core runs; twin of
// src/tokenmill/_compile/normalizer.py, which explains the form.
import { fromBase64 } from "../load/base64.js";
import { toArray, utf8 } from "../load/byte_string.js";
import { ONLY_IN_PYTHON, UnsupportedTokenizer } from "../load/errors.js";
import { reprText } from "../load/python.js";
import type { NormalizerKind, NormalizerStep } from "../load/spec.js";
import { NotRegular } from "./regex_ast.js";
import { compileStage } from "./split.js";

const KINDS: Record<NormalizerKind, number> = {
  nfc: 1,
  nfd: 2,
  nfkc: 3,
  nfkd: 4,
  lowercase: 5,
  strip_accents: 6,
  strip: 7,
  replace: 8,
  prepend: 9,
  clean: 10,
  space_ideographs: 11,
  strip_nonspacing: 12,
  nmt: 13,
  byte_level: 14,
  precompiled: 15,
  replace_regex: 16,
  squeeze: 17,
};

/** Serialize steps in order: "nfc" alone is one byte, 1. */
export function serializeNormalizer(steps: readonly NormalizerStep[]): Uint8Array {
  return concat(steps.flatMap((step) => [Uint8Array.of(KINDS[step.kind]), ...argumentsOf(step)]));
}

function argumentsOf(step: NormalizerStep): Uint8Array[] {
  switch (step.kind) {
    case "strip":
      return [Uint8Array.of(Number(step.left) | (Number(step.right) << 1))];
    case "prepend":
      return sized(toArray(utf8(step.a)));
    case "replace":
      return [...sized(toArray(utf8(step.a))), ...sized(toArray(utf8(step.b)))];
    case "replace_regex":
      return [...sized(toArray(utf8(step.b))), ...sized(patternTable(step.a))];
    case "precompiled":
      return sized(fromBase64(step.a)!);
    default:
      return [];
  }
}

/**
 * Ranges, classes and transitions; the ranges cover all code points, so a begin each is enough.
 *
 * Text outside of matches stays as it is: to the compiler, both are words of their own.
 */
function patternTable(pattern: string): Uint8Array {
  const stage = stageOf(pattern);
  const nRows = stage.ranges.length / 3;
  const numbers = Uint32Array.of(
    nRows,
    ...stage.ranges.filter((_, i) => i % 3 !== 1),
    stage.nClasses,
    stage.table.nStates,
  );
  const { cells } = stage.table;
  return concat([
    new Uint8Array(numbers.buffer),
    new Uint8Array(cells.buffer, cells.byteOffset, cells.byteLength),
  ]);
}

function stageOf(pattern: string): ReturnType<typeof compileStage> {
  try {
    return compileStage(pattern, "isolated", false);
  } catch (error) {
    if (!(error instanceof NotRegular)) throw error;
    const problem = `Replace with the pattern ${reprText(pattern)}: ${error.reason}`;
    const facts = { where: "normalizer", hint: ONLY_IN_PYTHON };
    throw new UnsupportedTokenizer(problem, [problem], facts);
  }
}

function sized(content: Uint8Array): Uint8Array[] {
  return [new Uint8Array(Uint32Array.of(content.length).buffer), content];
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}
