// The options of calls, checked, as the module reads them.
import { TokenmillError } from "./errors.js";
import type { Native } from "./native.js";

export interface EncodeOptions {
  /** Add the tokens that belong before and after a text, such as "<s>". Off unless you say so. */
  addSpecialTokens?: boolean;
  /** What a special token in a text is: its id (the default), text like any other, or an error. */
  specialInText?: "encode" | "text" | "raise";
}

export interface DecodeOptions {
  /** Leave special tokens out. */
  skipSpecialTokens?: boolean;
  /** No blanks before English punctuation and endings, as in "do n't .". */
  cleanUp?: boolean;
}

const SPECIAL = ["encode", "text", "raise"] as const;
const NO_OFFSETS = 0;
const UTF16 = 3;
const ENCODE_NUMBERS = 6;
const DECODE_NUMBERS = 4;

/** Structures of options in the module's memory, written once for each combination. */
export class OptionShelf {
  #native: Native;
  #made = new Map<number, number>();

  constructor(native: Native) {
    this.#native = native;
  }

  /** The address of a tokenmill_encode_options. */
  encode(options: EncodeOptions | undefined, wantsOffsets: boolean): number {
    if (options === undefined && !wantsOffsets) return 0;
    const adds = truth("addSpecialTokens", options?.addSpecialTokens);
    const special = SPECIAL.indexOf(options?.specialInText ?? "encode");
    if (special < 0) {
      throw refuse("specialInText", `one of ${SPECIAL.join(", ")}`, options?.specialInText);
    }
    const offsets = wantsOffsets ? UTF16 : NO_OFFSETS;
    const key = adds | (special << 1) | (offsets << 3);
    return this.#at(key, [ENCODE_NUMBERS * 4, adds, special, 0, offsets, 1]);
  }

  /** The address of a tokenmill_decode_options. */
  decode(options: DecodeOptions | undefined): number {
    if (options === undefined) return 0;
    const skips = truth("skipSpecialTokens", options.skipSpecialTokens);
    const cleans = truth("cleanUp", options.cleanUp);
    return this.#at(64 | skips | (cleans << 1), [DECODE_NUMBERS * 4, skips, cleans, 0]);
  }

  #at(key: number, numbers: readonly number[]): number {
    const known = this.#made.get(key);
    if (known !== undefined) return known;
    const at = this.#native.copyIn(new Uint8Array(Uint32Array.from(numbers).buffer));
    this.#made.set(key, at);
    return at;
  }
}

/** 0 or 1. */
function truth(name: string, value: boolean | undefined): number {
  if (value !== undefined && typeof value !== "boolean") throw refuse(name, "true or false", value);
  return value ? 1 : 0;
}

export function refuse(name: string, expected: string, got: unknown): TokenmillError {
  return new TokenmillError("BadArgument", `${name}: expected ${expected}, got ${String(got)}`);
}
