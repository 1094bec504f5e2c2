// tokenizer.json of the `tokenizers` library -> TokenizerSpec; twin of
// src/tokenmill/_load/tokenizer_json.py.
import { readAddedTokens, writtenContents } from "./added_tokens.js";
import { readByteBpe, readCharacterBpe } from "./bpe.js";
import { readDecoder } from "./decoder.js";
import { LoadError } from "./errors.js";
import { member, parseJson, shown } from "./fields.js";
import type { JsonInt, JsonObject, JsonValue } from "./json.js";
import { readNormalizer } from "./normalizer.js";
import { readPostProcessor } from "./post_processor.js";
import { readPreTokenizer } from "./pre_tokenizer.js";
import type { Splitting } from "./pre_tokenizer.js";
import { reprList, reprText, sorted } from "./python.js";
import type { TokenizerSpec } from "./spec.js";
import { piecesOf, readPieces, readUnigram } from "./unigram.js";
import { readVocab } from "./vocabulary.js";
import type { ReadModel, Vocab } from "./vocabulary.js";
import { readWordLevel } from "./wordlevel.js";
import { readWordPiece } from "./wordpiece.js";

type Kind = TokenizerSpec["kind"];

const KINDS = new Map<string, Kind>([
  ["BPE", "bpe"],
  ["Unigram", "unigram"],
  ["WordLevel", "wordlevel"],
  ["WordPiece", "wordpiece"],
]);
const WORDPIECE_MEMBERS = ["unk_token", "continuing_subword_prefix", "max_input_chars_per_word"];

/** Read the bytes of a file. */
export function readTokenizerJson(source: Uint8Array, name: string): TokenizerSpec {
  if (source[firstOfContent(source)] !== 0x7b) {
    const hint = "other forms of tokenizers have to be compiled by the Python package first";
    throw new LoadError("expected a tokenizer.json, got something else", { offset: 0, hint });
  }
  const data = parseJson(source);
  if (!data.has("model")) {
    const got = reprList(sorted(data.keys()).slice(0, 8));
    const hint = "this JSON is not a tokenizer; look for a tokenizer.json next to it";
    throw new LoadError(`expected "model", got the members ${got}`, { hint });
  }
  return readParsed(data, source, name);
}

function firstOfContent(source: Uint8Array): number {
  let at = 0;
  while (at < source.length && (source[at] === 0x20 || (source[at]! >= 9 && source[at]! <= 13))) {
    at += 1;
  }
  return at;
}

/** Read a parsed file; `source` is its text. */
function readParsed(data: JsonObject, source: Uint8Array, name: string): TokenizerSpec {
  const part = (key: string): JsonValue => data.get(key) ?? null;
  const section = member(data, "model", "dict", "");
  const kind = modelKind(section);
  const vocab = kind === "unigram" ? readPieces(section) : readVocab(section);
  // The library counts entries, so two equal pieces count twice.
  const nEntries = kind === "unigram" ? piecesOf(section).length : vocab.size;
  const [addedTokens, notes] = readAddedTokens(part("added_tokens"), vocab, nEntries);
  const [normalizer, reasons] = readNormalizer(part("normalizer"));
  const splitting = readPreTokenizer(part("pre_tokenizer"));
  const frame = readPostProcessor(part("post_processor"));
  const [written, decodeReasons] = writtenContents(addedTokens, normalizer);
  const read = readModel(kind, section, vocab, splitting, written);
  const tokens = tokensOf(kind, section, vocab);
  const decoder = readDecoder(part("decoder"), read.model, tokens, addedTokens, written);
  return {
    name,
    kind,
    model: read.model,
    addedTokens,
    normalizer,
    split: splitting.steps,
    addPrefixSpace: splitting.addPrefixSpace,
    prefixIds: frame.prefixIds,
    suffixIds: frame.suffixIds,
    metaspace: splitting.metaspace,
    texts: decoder.texts,
    decoder: decoder.steps,
    single: frame.single,
    pair: frame.pair,
    trimOffsets: frame.trimOffsets,
    unsupported: [
      ...read.reasons,
      ...reasons,
      ...splitting.reasons,
      ...standIns(kind, splitting),
      ...firstWord(splitting, part("normalizer")),
      ...frame.reasons,
    ],
    unsupportedDecode: [...decoder.reasons, ...decodeReasons],
    notes: [...notes, ...leftOut(data)],
    source,
  };
}

function readModel(
  kind: Kind,
  section: JsonObject,
  vocab: Vocab,
  splitting: Splitting,
  written: ReadonlyMap<JsonInt, string>,
): ReadModel {
  if (kind === "bpe") {
    const readBpe = splitting.byteLevel ? readByteBpe : readCharacterBpe;
    return readBpe(section, vocab, written);
  }
  if (kind === "unigram") return readUnigram(section, vocab);
  return (kind === "wordpiece" ? readWordPiece : readWordLevel)(section, vocab);
}

function modelKind(section: JsonObject): Kind {
  if (section.has("type")) {
    const stated = member(section, "type", "str", "model");
    const kind = KINDS.get(stated);
    if (kind !== undefined) return kind;
    const known = reprList(sorted(KINDS.keys()));
    throw new LoadError(`model.type: expected one of ${known}, got ${shown(stated)}`);
  }
  // Old files omit it; the library then takes the first that fits, in this order.
  if ((section.get("merges") ?? null) !== null) return "bpe";
  if (WORDPIECE_MEMBERS.every((key) => section.has(key))) return "wordpiece";
  if (Array.isArray(section.get("vocab"))) return "unigram";
  if (section.has("unk_token")) return "wordlevel";
  const got = reprList(sorted(section.keys()).slice(0, 8));
  throw new LoadError(`model: expected a type, or members that imply it, got ${got}`);
}

/** Report words in the byte-level alphabet under a model whose tokens are read as text. */
function standIns(kind: Kind, splitting: Splitting): string[] {
  if (kind === "bpe" || !splitting.byteLevel) return [];
  return [`pre-tokenizer ByteLevel before a model of the kind ${reprText(kind)}`];
}

/**
 * Report cases where the first word may not be the one that begins the text.
 *
 * The library asks where a word began before normalizing, and that is not at the beginning if the
 * normalizer has removed something there.
 */
function firstWord(splitting: Splitting, normalizer: JsonValue): string[] {
  const space = splitting.metaspace;
  if (space === null || space.prepend !== "first" || space.after === 0 || normalizer === null) {
    return [];
  }
  return ["Metaspace with prepend_scheme first after a split of normalized text"];
}

/** List tokens with their ids; two pieces of a Unigram model may be written alike. */
function tokensOf(
  kind: Kind,
  section: JsonObject,
  vocab: Vocab,
): Iterable<readonly [string, JsonInt]> {
  if (kind !== "unigram") return vocab;
  return piecesOf(section).map(([piece], index) => [piece, index] as const);
}

function leftOut(data: JsonObject): string[] {
  return ["truncation", "padding"]
    .filter((key) => (data.get(key) ?? null) !== null)
    .map((key) => `the "${key}" section is ignored: every text is encoded whole and alone`);
}
