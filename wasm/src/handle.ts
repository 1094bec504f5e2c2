// A tokenizer of the module, and everything that must be freed with it.
import { TokenmillError } from "./errors.js";
import type { Native } from "./native.js";

// What one tokenizer has in the module. Knows nobody who uses it, so that a registry may hold it.
class Owned {
  readonly native: Native;
  address: number;
  #file: number;
  #streams = new Map<number, number>(); // the address of a stream, and that of its id

  constructor(native: Native, address: number, file: number) {
    this.native = native;
    this.address = address;
    this.#file = file;
  }

  addStream(stream: number, id: number): void {
    this.#streams.set(stream, id);
  }

  dropStream(stream: number): void {
    const id = this.#streams.get(stream);
    if (id === undefined) return;
    this.#streams.delete(stream);
    this.native.call.tokenmill_stream_free(stream);
    this.native.giveBack(id);
  }

  free(): void {
    if (this.address === 0) return;
    for (const stream of [...this.#streams.keys()]) this.dropStream(stream);
    this.native.call.tokenmill_free(this.address);
    this.native.giveBack(this.#file);
    this.native.call.tokenmill_trim();
    this.address = 0;
  }
}

// What a program forgot to free is freed when the garbage collector finds it.
const forgotten = new FinalizationRegistry((owned: Owned) => owned.free());
const forgottenStreams = new FinalizationRegistry(
  ({ owned, stream }: { owned: Owned; stream: number }) => owned.dropStream(stream),
);

/** Shared by a tokenizer and its streams: its memory is freed by hand, or after all of them. */
export class Handle {
  readonly native: Native;
  #owned: Owned;

  /** Owns the file and the tokenizer that reads it. */
  constructor(native: Native, address: number, file: number) {
    this.native = native;
    this.#owned = new Owned(native, address, file);
    forgotten.register(this, this.#owned, this);
  }

  get address(): number {
    if (this.#owned.address === 0) {
      throw new TokenmillError("Freed", "the tokenizer was freed; hint: load it again");
    }
    return this.#owned.address;
  }

  adopt(stream: object, address: number, id: number): void {
    this.#owned.addStream(address, id);
    forgottenStreams.register(stream, { owned: this.#owned, stream: address }, stream);
  }

  release(stream: object, address: number): void {
    forgottenStreams.unregister(stream);
    this.#owned.dropStream(address);
  }

  free(): void {
    forgotten.unregister(this);
    this.#owned.free();
  }
}
