// The hash over everything that decides about ids and decoded text; the same as
// TokenizerSpec.content_hash in src/tokenmill/_spec/tokenizer.py, which hashes Python's repr().
import { Blake2b } from "./blake2b.js";
import { joined } from "./byte_string.js";
import { repr, reprBytes, reprText, reprTuple } from "./python.js";
import { REFERENCE } from "./spec.js";
import type {
  AddedToken,
  DecoderStep,
  Metaspace,
  Model,
  NormalizerStep,
  SplitStep,
  TemplatePart,
  TokenTable,
  TokenizerSpec,
} from "./spec.js";

const SIZE = 20;
const ENCODER = new TextEncoder();

/** Return the hash of a tokenizer that the engine can run, in hexadecimal digits. */
export function contentHash(spec: TokenizerSpec): string {
  const hash = new Blake2b(SIZE);
  for (const part of hashedParts(spec)) {
    // Length first: no two different lists of parts may join to the same bytes.
    hash.update(new Uint8Array(BigUint64Array.of(BigInt(part.length)).buffer));
    hash.update(part);
  }
  return hash.hexDigest();
}

function* hashedParts(spec: TokenizerSpec): Iterable<Uint8Array> {
  const nothing = new Uint8Array(0);
  yield text("tokenmill spec 1");
  yield text(plainParts(spec));
  yield nothing; // the character map of a SentencePiece file
  if (spec.model.type === "OpaqueModel") {
    yield spec.source;
    return;
  }
  yield text(spec.model.type);
  yield* modelParts(spec.model);
  // A spec that only the reference library can run is only as good as its source.
  const isNative = spec.unsupported.length === 0 && spec.unsupportedDecode.length === 0;
  yield isNative ? nothing : spec.source;
}

/** The fields other than name, notes, model and source, as a list of pairs. */
function plainParts(spec: TokenizerSpec): string {
  const fields: [string, string][] = [
    ["kind", reprText(spec.kind)],
    ["added_tokens", tuple(spec.addedTokens, addedToken)],
    ["normalizer", tuple(spec.normalizer, normalizerStep)],
    ["split", tuple(spec.split, splitStep)],
    ["add_prefix_space", repr(spec.addPrefixSpace)],
    ["prefix_ids", tuple(spec.prefixIds, repr)],
    ["suffix_ids", tuple(spec.suffixIds, repr)],
    ["metaspace", spec.metaspace === null ? "None" : metaspace(spec.metaspace)],
    ["texts", tuple(spec.texts, repr)],
    ["decoder", spec.decoder === null ? "None" : tuple(spec.decoder, decoderStep)],
    ["sentencepiece", "None"],
    ["sentencepiece_decoder", "None"],
    ["single", spec.single === null ? "None" : tuple(spec.single, templatePart)],
    ["pair", spec.pair === null ? "None" : tuple(spec.pair, templatePart)],
    ["trim_offsets", tuple(spec.trimOffsets, repr)],
    ["reference", reprText(REFERENCE)],
    ["unsupported", tuple(spec.unsupported, repr)],
    ["unsupported_decode", tuple(spec.unsupportedDecode, repr)],
  ];
  return `[${fields.map(([name, value]) => `(${reprText(name)}, ${value})`).join(", ")}]`;
}

/** The fields of a model, in the order of its class in Python. */
function* modelParts(model: Exclude<Model, { type: "OpaqueModel" }>): Iterable<Uint8Array> {
  const number = (value: number | null): Uint8Array => text(repr(value));
  const ids = (value: readonly number[] | null): Uint8Array =>
    text(value === null ? "None" : tuple(value, repr));
  switch (model.type) {
    case "BpeModel":
      yield* tableParts(model.tokens);
      yield* tableParts(model.decodeBytes);
      yield* arrayParts("<u4", model.merges);
      yield text("None"); // ranks
      yield text(repr(model.ignoreMerges));
      yield text(reprText(model.symbols));
      yield ids(model.byteIds);
      yield number(model.unkId);
      yield text(repr(model.fuseUnk));
      yield text(reprBytes(model.suffix));
      return;
    case "WordPieceModel":
      yield* tableParts(model.tokens);
      yield number(model.unkId);
      yield text(reprBytes(model.prefix));
      yield text(repr(model.maxCharacters));
      return;
    case "UnigramModel":
      yield* tableParts(model.tokens);
      yield* arrayParts("<f8", model.scores);
      yield number(model.unkId);
      yield ids(model.byteIds);
      yield text("False"); // one sum of scores over a whole text
      return;
    case "WordLevelModel":
      yield* tableParts(model.tokens);
      yield number(model.unkId);
  }
}

function* arrayParts(type: string, array: Uint32Array | Float64Array): Iterable<Uint8Array> {
  yield text(type);
  yield new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

function* tableParts(table: TokenTable): Iterable<Uint8Array> {
  if (!table.some((entry) => entry !== null)) {
    yield text(tuple(table, () => "None"));
    return;
  }
  const lengths = Int32Array.from(table, (entry) => (entry === null ? -1 : entry.length));
  yield new Uint8Array(lengths.buffer);
  yield joined(table);
}

function addedToken(token: AddedToken): string {
  return object("AddedToken", [
    ["content", reprText(token.content)],
    ["id", repr(token.id)],
    ["special", repr(token.special)],
    ["normalized", repr(token.normalized)],
    ["lstrip", repr(token.lstrip)],
    ["rstrip", repr(token.rstrip)],
    ["single_word", repr(token.singleWord)],
  ]);
}

function normalizerStep(step: NormalizerStep): string {
  return object("NormalizerStep", [
    ["kind", reprText(step.kind)],
    ["a", reprText(step.a)],
    ["b", reprText(step.b)],
    ["left", repr(step.left)],
    ["right", repr(step.right)],
  ]);
}

function splitStep(step: SplitStep): string {
  return object("SplitStep", [
    ["pattern", reprText(step.pattern)],
    ["dialect", reprText("onig")],
    ["behavior", reprText(step.behavior)],
    ["invert", repr(step.invert)],
    ["on_bytes", repr(step.onBytes)],
  ]);
}

function metaspace(space: Metaspace): string {
  return object("Metaspace", [
    ["replacement", reprText(space.replacement)],
    ["prepend", reprText(space.prepend)],
    ["split", repr(space.split)],
    ["after", repr(space.after)],
  ]);
}

function decoderStep(step: DecoderStep): string {
  return object("DecoderStep", [
    ["kind", reprText(step.kind)],
    ["a", reprText(step.a)],
    ["b", reprText(step.b)],
    ["left", repr(step.left)],
    ["right", repr(step.right)],
    ["flag", repr(step.flag)],
  ]);
}

function templatePart(part: TemplatePart): string {
  return object("TemplatePart", [
    ["text", reprText(part.text)],
    ["ids", tuple(part.ids, repr)],
    ["type_id", repr(part.typeId)],
    ["overflow_type_id", repr(part.overflowTypeId)],
  ]);
}

function object(name: string, fields: readonly (readonly [string, string])[]): string {
  return `${name}(${fields.map(([key, value]) => `${key}=${value}`).join(", ")})`;
}

function tuple<T>(items: readonly T[], write: (item: T) => string): string {
  return reprTuple(items.map((item) => write(item)));
}

function text(value: string): Uint8Array {
  return ENCODER.encode(value);
}
