/// <reference lib="esnext.disposable" preserve="true" />
// Tokenizer: the public class.
import { TokenmillError } from "./errors.js";
import { Handle } from "./handle.js";
import { bytesOf, loadNative } from "./module.js";
import type { Native, Place } from "./native.js";
import { OptionShelf, refuse } from "./options.js";
import type { DecodeOptions, EncodeOptions } from "./options.js";
import { DecodeStream, checkedId } from "./stream.js";

/** Where a tokenizer can come from: a `.mill` file or a tokenizer.json. */
export type TokenizerSource = string | URL | Response | ArrayBuffer | Uint8Array;

export interface LoadOptions {
  /** Memory for words that were seen: up to 37, 12 (the default) or 2 MiB. */
  tables?: "usual" | "small" | "tiny";
  /** The name of a tokenizer that comes as bytes, for messages. */
  name?: string;
}

/** Ids, and the begin and the end of each one in the string: `text.slice(begin, end)`. */
export interface EncodingWithOffsets {
  ids: Uint32Array;
  /** Two numbers for each id; tokens around the text have 0, 0. */
  offsets: Uint32Array;
}

const TABLES = ["usual", "small", "tiny"] as const;
const MAGIC = [0x89, 0x4d, 0x49, 0x4c, 0x4c, 0x0d, 0x0a, 0x1a];
const SHORT = 1 << 13; // bytes of a text whose ids have a place that is kept
const MORE_IDS = 64; // that special tokens add
const LONG = 1 << 20; // bytes of a text after which buffers are freed

/**
 * A tokenizer. Its memory is the module's: call `free()`, or write `using tokenizer = ...`, if you
 * load many; otherwise the garbage collector frees it some day.
 */
export class Tokenizer {
  #handle: Handle;
  #native: Native;
  #options: OptionShelf;
  #ids: number;
  #special: ReadonlyMap<string, number> | undefined;

  private constructor(native: Native, handle: Handle, shared: Shared) {
    this.#native = native;
    this.#handle = handle;
    this.#options = shared.options;
    this.#ids = shared.ids;
  }

  /** Load a `.mill` file or a tokenizer.json: an address, a path in Node, or its bytes. */
  static async load(source: TokenizerSource, options: LoadOptions = {}): Promise<Tokenizer> {
    const tables = TABLES.indexOf(options.tables ?? "small");
    if (tables < 0) throw refuse("tables", `one of ${TABLES.join(", ")}`, options.tables);
    const [native, data] = await Promise.all([loadNative(), dataOf(source)]);
    const shared = sharedOf(native);
    const file = isMill(data)
      ? { at: native.copyIn(data), size: data.length }
      : await compiled(native, data, options.name ?? nameOf(source));
    try {
      const { out } = native;
      const given = native.copyIn(new Uint8Array(Uint32Array.of(12, tables, 1).buffer));
      const status = native.call.tokenmill_load_memory(file.at, file.size, given, out);
      native.giveBack(given);
      native.check(status);
      return new Tokenizer(native, new Handle(native, native.number(out), file.at), shared);
    } catch (error) {
      native.giveBack(file.at);
      throw error;
    }
  }

  /** Ids are below this number; a few of them may be unused. */
  get vocabSize(): number {
    return this.#native.call.tokenmill_vocab_size(this.#handle.address);
  }

  /** Which code runs: "simd128", or "scalar". */
  get target(): string {
    return this.#native.textAt(this.#native.call.tokenmill_target(this.#handle.address));
  }

  /** Special tokens and their ids, in the order of the tokenizer. */
  get specialTokens(): ReadonlyMap<string, number> {
    const native = this.#native;
    const address = this.#handle.address;
    if (this.#special === undefined) {
      const at = native.call.tokenmill_special_ids(address, native.out) >>> 0;
      const ids = native.numbers(at, native.number(native.out));
      this.#special = new Map([...ids].map((id) => [this.idToToken(id), id]));
    }
    return this.#special;
  }

  /** The ids of a text. */
  encode(text: string, options?: EncodeOptions): Uint32Array {
    const native = this.#native;
    const address = this.#handle.address;
    const given = this.#options.encode(options, false);
    const place = native.writeText(checkedText(text));
    if (place.size > SHORT) return this.#encodeLong(address, place, given).ids;
    const { out } = native;
    const room = SHORT + MORE_IDS;
    const into = native.call.tokenmill_encode_into;
    const status = into(address, place.at, place.size, given, this.#ids, room, out);
    const count = native.number(out);
    if (count > room) return this.#encodeLong(address, place, given).ids; // a normalizer at work
    native.check(status);
    return native.numbers(this.#ids, count);
  }

  /** The ids of a text, and the place of each one in the string. */
  encodeWithOffsets(text: string, options?: EncodeOptions): EncodingWithOffsets {
    const address = this.#handle.address;
    const given = this.#options.encode(options, true);
    return this.#encodeLong(address, this.#native.writeText(checkedText(text)), given);
  }

  /** The number of ids of a text; with `limit`, `limit + 1` means more. */
  count(text: string, options?: EncodeOptions & { limit?: number }): number {
    const native = this.#native;
    const address = this.#handle.address;
    const given = this.#options.encode(options, false);
    const limit = options?.limit ?? 0xffff_ffff;
    if (!Number.isInteger(limit) || limit < 0) {
      throw refuse("limit", "a whole number of 0 or more", limit);
    }
    const place = native.writeText(checkedText(text));
    const most = Math.min(limit, 0xffff_ffff);
    const { out } = native;
    try {
      native.check(native.call.tokenmill_count(address, place.at, place.size, given, most, out));
      return native.number(out);
    } finally {
      this.#forget(place);
    }
  }

  /** The text of ids; U+FFFD for half a character. */
  decode(ids: ArrayLike<number>, options?: DecodeOptions): string {
    const native = this.#native;
    const address = this.#handle.address;
    const given = this.#options.decode(options);
    const numbers = ids instanceof Uint32Array ? ids : Uint32Array.from(ids, checkedId);
    const bytes = new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
    const at = native.copyIn(bytes);
    try {
      native.check(native.call.tokenmill_decode(address, at, numbers.length, given, native.out));
      return native.takeText();
    } finally {
      native.giveBack(at);
    }
  }

  /** A stream for ids that arrive one by one. */
  decodeStream(options?: DecodeOptions): DecodeStream {
    return new DecodeStream(this.#handle, this.#options.decode(options));
  }

  /** The id of a token, by the name that the vocabulary gives it; null if there is none. */
  tokenToId(token: string): number | null {
    const native = this.#native;
    const address = this.#handle.address;
    const place = native.writeText(checkedText(token));
    const { out } = native;
    try {
      native.check(native.call.tokenmill_token_to_id(address, place.at, place.size, out));
      return native.number(out);
    } catch (error) {
      if (error instanceof TokenmillError && error.code === "UnknownToken") return null;
      throw error;
    }
  }

  /** A token as its vocabulary writes it. */
  idToToken(id: number): string {
    const native = this.#native;
    const call = native.call.tokenmill_id_to_token;
    native.check(call(this.#handle.address, checkedId(id), native.out));
    return native.takeText();
  }

  /** The bytes that an id decodes to after others. */
  idToBytes(id: number): Uint8Array {
    const native = this.#native;
    const call = native.call.tokenmill_id_to_bytes;
    native.check(call(this.#handle.address, checkedId(id), native.out));
    return native.takeBytes();
  }

  /** Free its memory. Every later call throws. */
  free(): void {
    this.#handle.free();
  }

  #encodeLong(address: number, place: Place, options: number): EncodingWithOffsets {
    const native = this.#native;
    const { out, call } = native;
    let encoding = 0; // null, which may be freed
    try {
      native.check(call.tokenmill_encode(address, place.at, place.size, options, out));
      encoding = native.number(out);
      const at = call.tokenmill_encoding_ids(encoding, out) >>> 0;
      const ids = native.numbers(at, native.number(out));
      const spans = call.tokenmill_encoding_offsets(encoding, out) >>> 0;
      const offsets = native.numbers(spans, native.number(out));
      return { ids, offsets };
    } finally {
      call.tokenmill_encoding_free(encoding);
      this.#forget(place);
    }
  }

  #forget(place: Place): void {
    this.#native.forgetText();
    if (place.size > LONG) this.#native.call.tokenmill_trim();
  }
}

export interface Tokenizer extends Disposable {}

const dispose: symbol = Symbol.dispose ?? Symbol.for("Symbol.dispose");
Object.defineProperty(Tokenizer.prototype, dispose, {
  value(this: Tokenizer): void {
    this.free();
  },
});

/**
 * Compile a tokenizer.json to the bytes of a `.mill` file, which loads in a fraction of the time:
 * for a cache, or for another page.
 */
export async function compile(
  source: TokenizerSource,
  options: { name?: string } = {},
): Promise<Uint8Array> {
  const [native, data] = await Promise.all([loadNative(), dataOf(source)]);
  if (isMill(data)) return data.slice();
  return native.copyOut(await compiled(native, data, options.name ?? nameOf(source)));
}

// What all tokenizers of a module use.
interface Shared {
  options: OptionShelf;
  ids: number;
}
const shelves = new WeakMap<Native, Shared>();

function sharedOf(native: Native): Shared {
  let shared = shelves.get(native);
  if (shared === undefined) {
    shared = { options: new OptionShelf(native), ids: native.take(4 * (SHORT + MORE_IDS)) };
    shelves.set(native, shared);
  }
  return shared;
}

// The compiler is a part of the package that a page with `.mill` files never loads.
async function compiled(native: Native, json: Uint8Array, name: string): Promise<Place> {
  const [{ definitionOf }, { compileDefinition, normalizeWith }] = await Promise.all([
    import("./compile/index.js"),
    import("./compile/native.js"),
  ]);
  const normalize = (program: Uint8Array, text: Uint8Array): Uint8Array =>
    normalizeWith(native, program, text);
  return compileDefinition(native, definitionOf(json, name, { normalize }));
}

function isMill(data: Uint8Array): boolean {
  return MAGIC.every((byte, i) => data[i] === byte);
}

async function dataOf(source: TokenizerSource): Promise<Uint8Array> {
  if (source instanceof Uint8Array) return source;
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  return bytesOf(source);
}

function nameOf(source: TokenizerSource): string {
  if (typeof source === "string") return source;
  if (source instanceof URL) return source.href;
  return typeof Response !== "undefined" && source instanceof Response ? source.url : "tokenizer";
}

function checkedText(text: string): string {
  if (typeof text !== "string") throw refuse("text", "a string", typeof text);
  return text;
}
