// Ids as they come -> text, never half a character.
import { TokenmillError } from "./errors.js";
import type { Handle } from "./handle.js";

/**
 * Text of ids as they come. All that `push` and `finish` return, joined, is what `decode` returns
 * for all ids.
 */
export class DecodeStream {
  #tokenizer: Handle;
  #stream: number;

  /** Made by `Tokenizer.decodeStream`. */
  constructor(tokenizer: Handle, options: number) {
    const { native } = tokenizer;
    native.check(native.call.tokenmill_stream_new(tokenizer.address, options, native.out));
    this.#tokenizer = tokenizer;
    this.#stream = native.number(native.out);
    tokenizer.adopt(this, this.#stream);
  }

  /** Take the next id and return the text that became certain, which may be empty. */
  push(id: number): string {
    const { native } = this.#tokenizer;
    const stream = this.#open();
    const { out } = native;
    const ids = out + 8;
    new DataView(native.call.memory.buffer).setUint32(ids, checkedId(id), true);
    native.check(native.call.tokenmill_stream_push(stream, ids, 1, out, out + 4));
    return native.text(native.number(out), native.number(out + 4));
  }

  /** Return the rest of the text; the stream is as new afterwards. */
  finish(): string {
    const { native } = this.#tokenizer;
    const { out } = native;
    native.check(native.call.tokenmill_stream_finish(this.#open(), out, out + 4));
    return native.text(native.number(out), native.number(out + 4));
  }

  /** Free its memory; `free` of its tokenizer does so, too. */
  free(): void {
    if (this.#stream !== 0) this.#tokenizer.release(this, this.#stream);
    this.#stream = 0;
  }

  #open(): number {
    if (this.#stream === 0) throw new TokenmillError("Freed", "the stream was freed");
    return this.#tokenizer.address === 0 ? 0 : this.#stream; // or throws
  }
}

/** An id that fits 32 bits; the module knows which ids there are. */
export function checkedId(id: number): number {
  if (!Number.isInteger(id) || id < 0 || id > 0xffff_ffff) {
    throw new TokenmillError("UnknownId", `expected an id of the vocabulary, got ${String(id)}`);
  }
  return id;
}
