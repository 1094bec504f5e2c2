// The functions of the module, its memory, and its errors as exceptions.
import { TokenmillError } from "./errors.js";

type Call = (...numbers: number[]) => number;

/** What the module exports: the functions of tokenmill.h and of native/module.h. */
export interface NativeExports {
  readonly memory: WebAssembly.Memory;
  _initialize(): void;
  tokenmill_take: Call;
  tokenmill_give_back(memory: number): void;
  tokenmill_trim(): void;
  tokenmill_compile: Call;
  tokenmill_normalize: Call;
  tokenmill_error_message: Call;
  tokenmill_status_name: Call;
  tokenmill_load_memory: Call;
  tokenmill_free(tokenizer: number): void;
  tokenmill_encode: Call;
  tokenmill_encode_into: Call;
  tokenmill_encoding_ids: Call;
  tokenmill_encoding_offsets: Call;
  tokenmill_encoding_free(encoding: number): void;
  tokenmill_count: Call;
  tokenmill_decode: Call;
  tokenmill_bytes_free(bytes: number): void;
  tokenmill_stream_new: Call;
  tokenmill_stream_push: Call;
  tokenmill_stream_finish: Call;
  tokenmill_stream_free(stream: number): void;
  tokenmill_vocab_size: Call;
  tokenmill_special_ids: Call;
  tokenmill_token_to_id: Call;
  tokenmill_id_to_token: Call;
  tokenmill_id_to_bytes: Call;
  tokenmill_target: Call;
}

const NUMBER = 4; // bytes of a size or an address
const KEPT_TEXT = 1 << 20; // bytes of texts for which memory is kept
const OUT_OF_MEMORY = 2;
const HINTS: Record<string, string> = {
  SpecialInText: 'pass specialInText: "encode" to make it the token, "text" to keep it text',
};

const encoder = new TextEncoder();
// A BOM at the beginning of a text belongs to the text.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** A piece of the module's memory. */
export interface Place {
  readonly at: number;
  readonly size: number;
}

/** The module. Nothing here is asynchronous, and nothing calls back. */
export class Native {
  readonly call: NativeExports;
  /** Room for four numbers: results of calls, and the id that a stream takes. */
  readonly out: number;
  #bytes = new Uint8Array();
  #text: Place = { at: 0, size: 0 };

  constructor(exports: NativeExports) {
    this.call = exports;
    this.out = this.take(4 * NUMBER);
  }

  /** The memory as bytes; another object after it has grown. */
  get bytes(): Uint8Array {
    if (this.#bytes.buffer !== this.call.memory.buffer) {
      this.#bytes = new Uint8Array(this.call.memory.buffer);
    }
    return this.#bytes;
  }

  /** Memory of the module, for giveBack. */
  take(size: number): number {
    // A number of 2^32 or more would lose its high bits.
    const at = size < 2 ** 32 ? this.call.tokenmill_take(size) >>> 0 : 0;
    if (at === 0) throw new TokenmillError("OutOfMemory", `no room for ${size} bytes`);
    return at;
  }

  giveBack(at: number): void {
    this.call.tokenmill_give_back(at);
  }

  /** Copy bytes into memory that the caller gives back. */
  copyIn(data: Uint8Array): number {
    const at = this.take(data.length);
    this.bytes.set(data, at);
    return at;
  }

  /** A copy of bytes that `take` or a call made, which are given back. */
  copyOut({ at, size }: Place): Uint8Array {
    try {
      return this.bytes.slice(at, at + size);
    } finally {
      this.giveBack(at);
    }
  }

  /** A number that a call has written. */
  number(at: number): number {
    return new DataView(this.call.memory.buffer).getUint32(at, true);
  }

  /** A copy of numbers of 32 bits. */
  numbers(at: number, count: number): Uint32Array {
    return count === 0 ? new Uint32Array() : new Uint32Array(this.call.memory.buffer, at, count).slice();
  }

  /** A copy of the bytes that a call has made and named in `out`, which are freed. */
  takeBytes(): Uint8Array {
    try {
      const at = this.number(this.out);
      return this.bytes.slice(at, at + this.number(this.out + NUMBER));
    } finally {
      this.call.tokenmill_bytes_free(this.out);
    }
  }

  /** The same as text. */
  takeText(): string {
    return decoder.decode(this.takeBytes());
  }

  text(at: number, size: number): string {
    return decoder.decode(this.bytes.subarray(at, at + size));
  }

  /** A text that ends with a zero. */
  textAt(at: number): string {
    return this.text(at, this.bytes.indexOf(0, at) - at);
  }

  /** Throw what a status other than 0 says. */
  check(status: number): void {
    if (status !== 0) throw this.#error(status);
  }

  /** Write a string into memory that stays until the next call of this method. */
  writeText(text: string): Place {
    refuseHalfPairs(text);
    let room = this.#room(text.length < KEPT_TEXT / 3 ? 3 * text.length : text.length + 64);
    let { read, written } = encoder.encodeInto(text, this.bytes.subarray(room.at, room.at + room.size));
    while (read < text.length) {
      room = this.#grow(written, 3 * (text.length - read));
      const rest = this.bytes.subarray(room.at + written, room.at + room.size);
      const more = encoder.encodeInto(text.slice(read), rest);
      read += more.read;
      written += more.written;
    }
    return { at: room.at, size: written };
  }

  /** Give back the memory of a long text. */
  forgetText(): void {
    if (this.#text.size > KEPT_TEXT) {
      this.giveBack(this.#text.at);
      this.#text = { at: 0, size: 0 };
    }
  }

  #room(size: number): Place {
    if (this.#text.size < size || this.#text.at === 0) {
      if (this.#text.at !== 0) this.giveBack(this.#text.at);
      this.#text = { at: 0, size: 0 };
      this.#text = { at: this.take(size), size };
    }
    return this.#text;
  }

  #grow(kept: number, more: number): Place {
    const at = this.take(kept + more);
    this.bytes.copyWithin(at, this.#text.at, this.#text.at + kept);
    this.giveBack(this.#text.at);
    this.#text = { at, size: kept + more };
    return this.#text;
  }

  #error(status: number): TokenmillError {
    const name = this.textAt(this.call.tokenmill_status_name(status) >>> 0);
    const code = name.toLowerCase().replace(/(^|_)([a-z0-9])/g, (_, __, c: string) => c.toUpperCase());
    if (status === OUT_OF_MEMORY) return new TokenmillError(code, "the module has no more memory");
    const message = this.textAt(this.call.tokenmill_error_message() >>> 0);
    const hint = HINTS[code];
    // Hints of C name options of C.
    return new TokenmillError(code, hint ? `${message.split("; hint: ")[0]}; hint: ${hint}` : message);
  }
}

const HALF_PAIR = /\p{Surrogate}/u;

/** A string of JavaScript may hold half a pair, which no text of Unicode does. */
function refuseHalfPairs(text: string): void {
  const given = text as string & { isWellFormed?: () => boolean };
  const isText = given.isWellFormed === undefined ? !HALF_PAIR.test(text) : given.isWellFormed();
  if (isText) return;
  const place = text.search(HALF_PAIR);
  const unit = text.charCodeAt(place).toString(16);
  const hint = "text.toWellFormed() replaces it by U+FFFD";
  throw new TokenmillError(
    "InvalidUtf16",
    `position ${place}: half of a surrogate pair, \\u${unit}, which is not text; hint: ${hint}`,
  );
}
