// A tokenizer of the module, and everything that must be freed with it.
import { TokenmillError } from "./errors.js";
import type { Native } from "./native.js";

// What one tokenizer has in the module. Knows nobody who uses it, so that a registry may hold it.
class Owned {
  readonly native: Native;
  address: number;
  #file: number;
  #streams = new Set<number>(); // addresses

  constructor(native: Native, address: number, file: number) {
    this.native = native;
    this.address = address;
    this.#file = file;
  }

  addStream(stream: number): void {
    this.#streams.add(stream);
  }

  dropStream(stream: number): void {
    if (this.#streams.delete(stream)) this.native.call.tokenmill_stream_free(stream);
  }

  free(): void {
    if (this.address === 0) return;
    for (const stream of this.#streams) this.dropStream(stream);
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

  adopt(stream: object, address: number): void {
    this.#owned.addStream(address);
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
