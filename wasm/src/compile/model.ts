// TokenizerSpec -> Definition: other modules make the parts, this one joins them; twin of
// src/tokenmill/_compile/model.py.
import { contentHash } from "../load/content_hash.js";
import { ONLY_IN_PYTHON, UnsupportedTokenizer } from "../load/errors.js";
import { reprText } from "../load/python.js";
import { REFERENCE, templatePart } from "../load/spec.js";
import type { TemplatePart, TokenizerSpec } from "../load/spec.js";
import { codePoints } from "../unicode/index.js";
import { spellBlanks } from "./blanks.js";
import { decodeTable, decodingOf } from "./decoder.js";
import type { AddedToken, Definition } from "./definition.js";
import { dumps } from "./meta.js";
import type { Plain } from "./meta.js";
import { serializeNormalizer } from "./normalizer.js";
import { offsetReasons, trimMode } from "./offsets.js";
import { compileSplit, spellIdeographs } from "./split_plan.js";
import type { SplitPlan } from "./split_plan.js";
import { modelReasons, vocabTables } from "./tables.js";
import { vanishing } from "./vanishing.js";
import type { Normalize } from "./vanishing.js";

const META_VERSION = 1;

/** What compiling may use. */
export interface CompileOptions {
  /** The core's normalizer, for the few tokenizers that cannot be judged without it. */
  readonly normalize?: Normalize;
  /** Packs the tokenizer.json (zlib) to keep it in the model; without it, it is left out. */
  readonly pack?: (source: Uint8Array) => Uint8Array;
}

/** Describe a tokenizer to the core; UnsupportedTokenizer if the engine cannot be exact. */
export function defineSpec(spec: TokenizerSpec, options: CompileOptions): Definition {
  if (spec.unsupported.length > 0 || spec.model.type === "OpaqueModel") {
    throw refusal(spec, spec.unsupported.length > 0 ? spec.unsupported : ["the model is unknown"]);
  }
  const spelled = spellIdeographs(spellBlanks(spec));
  const { model } = spelled.spec;
  if (model.type === "OpaqueModel") throw refusal(spec, ["the model is unknown"]);
  const steps = spelled.spec.normalizer;
  const normalizer = serializeNormalizer(steps);
  const gone = vanishing(spec.addedTokens, steps, normalizer, options.normalize);
  const reasons = [...spelled.reasons, ...modelReasons(spelled), ...gone];
  if (reasons.length > 0) throw refusal(spec, reasons);
  const split = compileSplit(spelled);
  return {
    vocab: vocabTables(model, decodeTable(spec), split.keepsWhite),
    cutByTokens: split.cutByTokens,
    stages: split.stages,
    rule: split.rule,
    addedTokens: spelled.spec.addedTokens.map(
      (token): AddedToken => ({ ...token, id: Number(token.id) }),
    ),
    normalizer,
    respelling: serializeNormalizer(spelled.respelling),
    prefixSpace: spelled.prefix,
    trim: trimMode(spec),
    prefixIds: Uint32Array.from(spec.prefixIds),
    suffixIds: Uint32Array.from(spec.suffixIds),
    whitespaceRanges: Uint32Array.from(codePoints("hf", "Whitespace")),
    wordRanges: Uint32Array.from(codePoints("hf", "Word")),
    meta: packMeta(spec, metaOf(spec, split, offsetReasons(spelled.spec)), options),
  };
}

/** Meta data as JSON, added tokens as another line; after a NUL, the packed tokenizer.json. */
function packMeta(
  spec: TokenizerSpec,
  head: ReadonlyMap<string, Plain>,
  options: CompileOptions,
): Uint8Array {
  const added = new Map(spec.addedTokens.map((token) => [token.content, token.id]));
  const text = new TextEncoder().encode(`${dumps(head)}\n${dumps(added)}`);
  if (options.pack === undefined) return text;
  const packed = options.pack(spec.source);
  const meta = new Uint8Array(text.length + 1 + packed.length);
  meta.set(text);
  meta.set(packed, text.length + 1);
  return meta;
}

function metaOf(
  spec: TokenizerSpec,
  split: SplitPlan,
  noOffsets: readonly string[],
): ReadonlyMap<string, Plain> {
  const decoding = decodingOf(spec);
  const through = `through ${reprText(REFERENCE)}: ${decoding.reasons.join("; ")}`;
  const special = spec.addedTokens.filter((token) => token.special);
  return new Map<string, Plain>([
    ["version", META_VERSION],
    ["name", spec.name],
    ["kind", spec.kind],
    ["hash", contentHash(spec)],
    ["path", split.isNative ? "native" : "dfa"],
    ["split", split.lines],
    ["normalizer", spec.normalizer.map((step) => step.kind)],
    ["decoder", decoding.reasons.length > 0 ? through : "native"],
    ["decoding", decoding.data],
    ["reference", REFERENCE],
    ["ranks", null],
    ["notes", spec.notes],
    ["special_tokens", new Map(special.map((token) => [token.content, token.id]))],
    ["spelling", spec.texts.length > 0 ? "texts" : "alphabet"],
    ...templatesOf(spec),
    ["reasons", split.isNative ? [] : ["the split is none of the built-in rules"]],
    ["no_offsets", noOffsets],
  ]);
}

/** Write what is put around one text and around two; null where that is not known. */
function templatesOf(spec: TokenizerSpec): [string, Plain][] {
  const text = templatePart("A");
  let { single, pair } = spec;
  if (single?.length === 0) {
    single = [templatePart("", spec.prefixIds), text, templatePart("", spec.suffixIds)];
  }
  if (pair?.length === 0) {
    const isBare = spec.prefixIds.length === 0 && spec.suffixIds.length === 0;
    pair = isBare ? [text, templatePart("B", [], 1, 1)] : null;
  }
  return [
    ["single", single === null ? null : single.map(plainPart)],
    ["pair", pair === null ? null : pair.map(plainPart)],
    ["trim_offsets", spec.trimOffsets],
  ];
}

function plainPart(part: TemplatePart): Plain {
  return [part.text, part.ids, part.typeId, part.overflowTypeId];
}

function refusal(spec: TokenizerSpec, reasons: readonly string[]): UnsupportedTokenizer {
  const problem = `the native engine cannot run it: ${reasons.join("; ")}`;
  return new UnsupportedTokenizer(problem, reasons, { where: spec.name, hint: ONLY_IN_PYTHON });
}
