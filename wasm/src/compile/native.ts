// A Definition -> the bytes of a `.mill` file, through the core. The flat form is described in
// native/compile.cpp, which reads the fields in the order in which they are written here.
import type { Native, Place } from "../native.js";
import type { AddedToken, Definition, SplitRule, SplitStage, VocabTables } from "./definition.js";

const FORMAT = 0x31_3030_4544_4d54n; // "TMDE001"
const KINDS = ["bytes", "characters", "wordpiece", "unigram", "wordlevel"] as const;
const FAMILIES = ["", "gpt2", "cl100k", "o200k", "adjacent"] as const;
const CONTRACTIONS = ["none", "exact", "ignore_case"] as const;
const TAILS = ["", "crlf", "crlf_slash"] as const;
const DIGITS = ["none", "each"] as const;
const PREFIXES = ["never", "always", "first"] as const;
const TRIMS = ["never", "all", "keep_added"] as const;

type Numbers = Uint8Array | Uint16Array | Uint32Array | Float64Array;

/** Compile a definition. The file is in the module's memory, for the caller to give back. */
export function compileDefinition(native: Native, definition: Definition): Place {
  const flat = flatten(definition);
  const at = native.copyIn(flat);
  try {
    const { out } = native;
    native.check(native.call.tokenmill_compile(at, flat.length, out, out + 4));
    return { at: native.number(out), size: native.number(out + 4) };
  } finally {
    native.giveBack(at);
  }
}

/** What the core's normalizer makes of a text. */
export function normalizeWith(native: Native, program: Uint8Array, text: Uint8Array): Uint8Array {
  const { out } = native;
  const both = new Uint8Array(program.length + text.length);
  both.set(program);
  both.set(text, program.length);
  const at = native.copyIn(both);
  try {
    const call = native.call.tokenmill_normalize;
    native.check(call(at, program.length, at + program.length, text.length, out));
    return native.takeBytes();
  } finally {
    native.giveBack(at);
  }
}

function flatten(definition: Definition): Uint8Array {
  const writer = new FieldWriter();
  writer.number(FORMAT);
  writeVocab(writer, definition.vocab);
  writer.list(definition.stages, writeStage);
  writer.optional(definition.rule, writeRule);
  writer.truth(definition.cutByTokens);
  writer.list(definition.addedTokens, writeAdded);
  writer.array(definition.normalizer);
  writer.array(definition.respelling);
  writer.choice(PREFIXES, definition.prefixSpace);
  writer.choice(TRIMS, definition.trim);
  writer.array(definition.prefixIds);
  writer.array(definition.suffixIds);
  writer.array(definition.whitespaceRanges);
  writer.array(definition.wordRanges);
  writer.array(definition.meta);
  return writer.done();
}

function writeVocab(writer: FieldWriter, vocab: VocabTables): void {
  const array = (one: FieldWriter, value: Numbers): void => one.array(value);
  writer.choice(KINDS, vocab.kind);
  writer.array(vocab.tokenBytes);
  writer.array(vocab.tokenOffsets);
  writer.array(vocab.matchable);
  writer.array(vocab.decodeBytes);
  writer.array(vocab.decodeOffsets);
  writer.optional(vocab.merges, array);
  writer.optional(vocab.ranks, array);
  writer.truth(vocab.ignoreMerges);
  writer.optional(vocab.byteIds, array);
  writer.optional(vocab.scores, array);
  writer.optional(vocab.unkId, (one, id) => one.number(id));
  writer.truth(vocab.fuseUnk);
  writer.truth(vocab.dropWhite);
  writer.truth(vocab.wholeText);
  writer.truth(vocab.hasEnds);
  writer.array(vocab.prefix);
  writer.number(vocab.maxCharacters);
}

function writeStage(writer: FieldWriter, stage: SplitStage): void {
  writer.array(stage.ranges);
  writer.number(stage.nClasses);
  writer.array(stage.next);
  writer.array(stage.sync);
  writer.array(stage.separates);
  writer.truth(stage.keepMatch);
  writer.truth(stage.keepGap);
  writer.truth(stage.onBytes);
}

function writeRule(writer: FieldWriter, rule: SplitRule): void {
  writer.choice(FAMILIES, rule.family);
  writer.array(rule.classes);
  writer.choice(CONTRACTIONS, rule.contraction);
  writer.number(rule.digits);
  writer.choice(TAILS, rule.tail);
  writer.truth(rule.endRun);
  writer.choice(DIGITS, rule.isolateDigits);
  writer.truth(rule.isolateHan);
  writer.truth(rule.wideClasses);
  writer.array(Uint32Array.from(rule.joins));
}

function writeAdded(writer: FieldWriter, token: AddedToken): void {
  writer.array(new TextEncoder().encode(token.content));
  writer.number(token.id);
  writer.truth(token.special);
  writer.truth(token.normalized);
  writer.truth(token.lstrip);
  writer.truth(token.rstrip);
  writer.truth(token.singleWord);
}

// Values at multiples of 8, in memory that doubles.
class FieldWriter {
  #bytes = new Uint8Array(1 << 20);
  #size = 0;

  number(value: number | bigint): void {
    const at = this.#reserve(8);
    new DataView(this.#bytes.buffer).setBigUint64(at, BigInt(value), true);
  }

  truth(value: boolean): void {
    this.number(value ? 1 : 0);
  }

  choice<Word extends string>(words: readonly Word[], word: Word): void {
    this.number(words.indexOf(word)); // the type has no other words
  }

  array(value: Numbers): void {
    this.number(value.byteLength);
    const at = this.#reserve(Math.ceil(value.byteLength / 8) * 8);
    this.#bytes.set(new Uint8Array(value.buffer, value.byteOffset, value.byteLength), at);
  }

  list<Item>(items: readonly Item[], write: (writer: FieldWriter, item: Item) => void): void {
    this.number(items.length);
    for (const item of items) write(this, item);
  }

  optional<Value>(value: Value | null, write: (writer: FieldWriter, value: Value) => void): void {
    this.truth(value !== null);
    if (value !== null) write(this, value);
  }

  done(): Uint8Array {
    return this.#bytes.subarray(0, this.#size);
  }

  #reserve(size: number): number {
    const at = this.#size;
    this.#size += size;
    if (this.#size > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(2 * this.#bytes.length, this.#size));
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    return at;
  }
}
