// Blanks that the vocabulary writes with a marker (U+2581): spelled back, so that text stays as is;
// twin of src/tokenmill/_compile/blanks.py, which explains why that is the same.
import { asBytes, utf8 } from "../load/byte_string.js";
import type { ByteString } from "../load/byte_string.js";
import { lengthOf, reprText } from "../load/python.js";
import { normalizerStep } from "../load/spec.js";
import type { Metaspace, Model, NormalizerStep, SplitStep, TokenizerSpec } from "../load/spec.js";

/** A tokenizer over blanks; the twin explains the fields. */
export interface Spelled {
  readonly spec: TokenizerSpec;
  readonly wordsAtBlanks: boolean;
  readonly prefix: "never" | "always" | "first";
  readonly reasons: readonly string[];
  readonly respelling: readonly NormalizerStep[];
  readonly ideographsAlone: boolean;
}

const PLAIN: Omit<Spelled, "spec"> = {
  wordsAtBlanks: false,
  prefix: "never",
  reasons: [],
  respelling: [],
  ideographsAlone: false,
};

/** Spell the markers of a tokenizer as blanks, if it has any. */
export function spellBlanks(spec: TokenizerSpec): Spelled {
  if (spec.metaspace !== null) return spellMetaspace(spec, spec.metaspace);
  const last = spec.normalizer[spec.normalizer.length - 1];
  const marker = markerOf(last);
  if (last === undefined || marker === null) {
    return { ...PLAIN, spec, prefix: spec.addPrefixSpace ? "always" : "never" };
  }
  if (spec.split.some((step) => step.pattern !== " ")) {
    return { ...PLAIN, spec, reasons: ["a split of text whose blanks are replaced"] };
  }
  const steps = spec.normalizer.slice(0, -1);
  let respelling: NormalizerStep[] = [];
  const before = steps[steps.length - 1];
  if (spec.addedTokens.some((token) => token.normalized && (token.lstrip || token.rstrip))) {
    // They take white space with them, and the marker is none.
    steps.push(last);
    respelling = [toBlanks(marker)];
  } else if (before !== undefined && before.kind === "prepend" && before.a === marker) {
    // The library puts it in front of what is then replaced: the order does not matter.
    steps.splice(-1, 1, toBlanks(marker), normalizerStep("prepend", { a: " " }));
  } else {
    steps.push(toBlanks(marker));
  }
  // No " " is left to split at.
  const model = spellModel(spec.model, marker);
  const spelled = { ...spec, normalizer: steps, split: [], model };
  return { ...PLAIN, spec: spelled, reasons: unknownMarker(spec.model, marker), respelling };
}

function markerOf(step: NormalizerStep | undefined): string | null {
  if (step === undefined || step.kind !== "replace" || step.a !== " ") return null;
  return lengthOf(step.b) === 1 ? step.b : null;
}

function spellMetaspace(spec: TokenizerSpec, space: Metaspace): Spelled {
  const before = spec.split.slice(0, space.after);
  const reasons: string[] = [];
  if (spec.split.length > space.after) reasons.push("a pre-tokenizer after Metaspace");
  const steps = spec.normalizer.slice();
  if (before.length > 0) {
    reasons.push(...squeezeReasons(spec, space, before));
    // A word that begins with the marker does not get another one.
    const begun = normalizerStep("replace", { a: ` ${space.replacement}`, b: " " });
    steps.push(normalizerStep("squeeze"), begun);
  }
  // The library looks for these before it writes markers.
  const isLater = spec.addedTokens.some((token) => token.normalized);
  if (!isLater) steps.push(toBlanks(space.replacement));
  reasons.push(...unknownMarker(spec.model, space.replacement));
  return {
    spec: {
      ...spec,
      normalizer: steps,
      split: [],
      metaspace: null,
      model: spellModel(spec.model, space.replacement),
    },
    wordsAtBlanks: space.split,
    prefix: before.length > 0 ? "never" : space.prepend,
    reasons,
    respelling: isLater ? [toBlanks(space.replacement)] : [],
    ideographsAlone: false,
  };
}

/** Words at white space, each with a marker in front: blanks between words are just that. */
function squeezeReasons(
  spec: TokenizerSpec,
  space: Metaspace,
  before: readonly SplitStep[],
): string[] {
  const [step] = before;
  const isAtWhite = before.length === 1 && step!.pattern === "\\s" && step!.behavior === "removed";
  if (!isAtWhite || space.prepend !== "always" || !space.split) {
    return ["Metaspace after another pre-tokenizer"];
  }
  if (spec.addedTokens.some((token) => token.normalized)) {
    return ["Metaspace at white space, with normalized added tokens"];
  }
  return [];
}

/** Report a marker that would become the tokens of its bytes, which are not those of a blank. */
function unknownMarker(model: Model, marker: string): string[] {
  if (model.type !== "BpeModel" && model.type !== "UnigramModel") return [];
  if (model.byteIds === null) return [];
  const written = utf8(marker);
  const unknown = model.unkId === null ? null : model.tokens[model.unkId]!;
  if (model.tokens.includes(written) && !(unknown ?? "").includes(written)) return [];
  return [`bytes for ${reprText(marker)}, which is not a token of its own`];
}

function toBlanks(marker: string): NormalizerStep {
  return normalizerStep("replace", { a: marker, b: " " });
}

/** Write the tokens of a model with blanks for markers; none of them can have held a blank. */
function spellModel(model: Model, marker: string): Model {
  if (model.type === "OpaqueModel") return model;
  const written = utf8(marker);
  const spell = (token: ByteString | null): ByteString | null =>
    token === null || token.includes(" ") ? null : asBytes(token.replaceAll(written, " "));
  const tokens = model.tokens.map(spell);
  if (model.type !== "BpeModel") return { ...model, tokens };
  // Merges of tokens that hold a blank: no text can come to them.
  const isGone = model.tokens.map((token) => token !== null && token.includes(" "));
  const { merges } = model;
  const kept = merges.filter((_, i) => !isGone[merges[i & ~1]!]! && !isGone[merges[i | 1]!]!);
  return { ...model, tokens, merges: kept };
}
