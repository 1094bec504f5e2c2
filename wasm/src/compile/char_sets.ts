// Sets of code points as sorted, disjoint, half-open ranges: the algebra of character classes; twin
// of src/tokenmill/_compile/char_sets.py.

/** Ranges, flat: begin, end, begin, end. */
export type CharSet = readonly number[];

export const LIMIT = 0x110000;
export const EVERY: CharSet = [0, LIMIT];
export const NOTHING: CharSet = [];

/** Return the set of these code points: ofChars([98, 97]) is [97, 99]. */
export function ofChars(chars: readonly number[]): CharSet {
  return union(...chars.map((char) => [char, char + 1]));
}

/** All code points that are in any of the sets. */
export function union(...sets: CharSet[]): CharSet {
  const pairs: [number, number][] = [];
  for (const set of sets) {
    for (let i = 0; i < set.length; i += 2) pairs.push([set[i]!, set[i + 1]!]);
  }
  pairs.sort((a, b) => a[0] - b[0]);
  const merged: number[] = [];
  for (const [begin, end] of pairs) {
    const last = merged.length - 1;
    if (last > 0 && begin <= merged[last]!) merged[last] = Math.max(end, merged[last]!);
    else merged.push(begin, end);
  }
  return merged;
}

/** All code points that are not in the set. */
export function complement(chars: CharSet): CharSet {
  const edges = [0, ...chars, LIMIT];
  const result: number[] = [];
  for (let i = 0; i < edges.length; i += 2) {
    if (edges[i]! < edges[i + 1]!) result.push(edges[i]!, edges[i + 1]!);
  }
  return result;
}

/** All code points that are in both sets. */
export function intersection(left: CharSet, right: CharSet): CharSet {
  return complement(union(complement(left), complement(right)));
}

const keys = new WeakMap<CharSet, string>();

/** A text that is equal for equal sets. */
export function keyOf(chars: CharSet): string {
  let key = keys.get(chars);
  if (key === undefined) {
    key = chars.join();
    keys.set(chars, key);
  }
  return key;
}
