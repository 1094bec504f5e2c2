// Code points -> numbered classes: two in one class belong to the same character sets; twin of
// src/tokenmill/_compile/dfa_classes.py.
import { LIMIT, keyOf } from "./char_sets.js";
import type { CharSet } from "./char_sets.js";

const SURROGATES = [0xd800, 0xe000] as const;

/** A partition of all code points such that every given set is a union of classes. */
export class Classes {
  readonly bounds: readonly number[];
  readonly ofSegment: readonly number[];
  readonly count: number;
  private readonly members = new Map<string, Uint8Array>();

  constructor(sets: Iterable<CharSet>) {
    const wanted = new Map<string, CharSet>();
    for (const chars of sets) wanted.set(keyOf(chars), chars);
    const edges = new Set<number>([0, ...SURROGATES, LIMIT]);
    for (const chars of wanted.values()) chars.forEach((edge) => edges.add(edge));
    this.bounds = Array.from(edges).sort((a, b) => a - b);
    const places = new Map(this.bounds.map((bound, index) => [bound, index]));
    const rows = Array.from(wanted.values(), (chars) => this.membership(chars, places));
    const numbers = new Map<string, number>();
    const firsts: number[] = [];
    const ofSegment: number[] = [];
    for (let segment = 0; segment + 1 < this.bounds.length; segment += 1) {
      const signature = String.fromCharCode(...rows.map((row) => row[segment]!));
      let number = numbers.get(signature);
      if (number === undefined) {
        number = numbers.size;
        numbers.set(signature, number);
        firsts.push(segment);
      }
      ofSegment.push(number);
    }
    this.ofSegment = ofSegment;
    this.count = firsts.length;
    Array.from(wanted.keys()).forEach((key, index) => {
      const row = rows[index]!;
      this.members.set(
        key,
        Uint8Array.from(firsts, (segment) => row[segment]!),
      );
    });
  }

  /** For every class whether it lies in the set, which must be one of those given. */
  inSet(chars: CharSet): Uint8Array {
    return this.members.get(keyOf(chars))!;
  }

  /** Rows (begin, end, renumber[class]) that cover all code points, as few as possible. */
  ranges(renumber: ArrayLike<number>): Uint32Array {
    return mergeRanges(
      this.bounds,
      this.ofSegment.map((number) => renumber[number]!),
    );
  }

  private membership(chars: CharSet, places: ReadonlyMap<number, number>): Uint8Array {
    const row = new Uint8Array(this.bounds.length - 1);
    for (let i = 0; i < chars.length; i += 2) {
      row.fill(1, places.get(chars[i]!), places.get(chars[i + 1]!));
    }
    // No text holds surrogates: they join the class before them and ask for none of their own.
    const [begin, end] = SURROGATES.map((edge) => places.get(edge)!);
    row.fill(row[begin! - 1]!, begin, end);
    return row;
  }
}

/** Rows (begin, end, number), neighbours with the same number joined. */
export function mergeRanges(
  bounds: readonly number[],
  numbers: readonly number[],
): Uint32Array {
  const rows: number[] = [];
  numbers.forEach((number, i) => {
    if (i > 0 && numbers[i - 1] === number) rows[rows.length - 2] = bounds[i + 1]!;
    else rows.push(bounds[i]!, bounds[i + 1]!, number);
  });
  return Uint32Array.from(rows);
}
