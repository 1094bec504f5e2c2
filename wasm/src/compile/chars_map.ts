// Look-ups in a map of characters: a double-array trie over the bytes of the keys, then the values,
// each ended by a zero byte; as core/normalize/charsmap.cpp reads it.
import { fromArray, textOf, utf8 } from "../load/byte_string.js";

const LEAF = 0x80000000;
const HAS_LEAF = 0x100;

/** A map whose bounds have been checked by the loader. */
export class CharsMap {
  private readonly units: Uint32Array;
  private readonly values: Uint8Array;

  constructor(blob: Uint8Array) {
    const size = new DataView(blob.buffer, blob.byteOffset).getUint32(0, true);
    const nUnits = size >>> 2;
    this.units = new Uint32Array(blob.slice(4, 4 + 4 * nUnits).buffer);
    this.values = blob.subarray(4 + 4 * nUnits);
  }

  /** What the map writes for one character; null if it leaves it as it is. */
  find(character: string): string | null {
    let node = offsetOf(this.units[0]!);
    for (const letter of utf8(character)) {
      const byte = letter.charCodeAt(0);
      node ^= byte;
      const unit = this.units[node];
      if (unit === undefined || (unit & (LEAF | 0xff)) >>> 0 !== byte) return null;
      node ^= offsetOf(unit);
      if (unit & HAS_LEAF) return this.valueAt(this.units[node]);
    }
    return null;
  }

  private valueAt(leaf: number | undefined): string | null {
    const begin = leaf === undefined ? Infinity : leaf & ~LEAF;
    if (begin > this.values.length) return null;
    if ((this.values[begin]! & 0xc0) === 0x80) return null; // inside a character
    const end = this.values.indexOf(0, begin);
    return textOf(fromArray(this.values.subarray(begin, end < 0 ? this.values.length : end)));
  }
}

function offsetOf(unit: number): number {
  return ((unit >>> 10) & 0x1fffff) << (unit & 0x200 ? 8 : 0);
}
