// Whether two stages give the same words for every text; twin of
// src/tokenmill/_compile/dfa_compare.py.
import { DEAD, MATCH_BIT, START, STATE_BITS } from "./dfa_build.js";
import { alwaysMatches } from "./dfa_tables.js";
import type { StageTables } from "./dfa_tables.js";

const SURROGATES = [0xd800, 0xe000] as const;

/** Compare two stages: both tables are minimal, so equal ones differ in state numbers only. */
export function sameWords(left: StageTables, right: StageTables): boolean {
  if (left.keepMatch !== right.keepMatch) return false;
  if (left.keepGap !== right.keepGap && !alwaysMatches(left)) return false;
  if (left.table.nStates !== right.table.nStates) return false;
  const columns = [...commonClasses(left, right), [left.nClasses, right.nClasses] as const];
  return isIsomorphic(left, right, columns);
}

/** All pairs (class on the left, class on the right) that some code point has. */
function commonClasses(left: StageTables, right: StageTables): (readonly [number, number])[] {
  const pairs = new Map<number, readonly [number, number]>();
  for (const bound of [...begins(left), ...begins(right), ...SURROGATES]) {
    if (bound >= SURROGATES[0] && bound < SURROGATES[1]) continue;
    const pair = [classAt(left, bound), classAt(right, bound)] as const;
    pairs.set(pair[0] * 256 + pair[1], pair);
  }
  return Array.from(pairs.values());
}

function begins(stage: StageTables): Uint32Array {
  return stage.ranges.filter((_, i) => i % 3 === 0);
}

/** The class of a code point. */
export function classAt(stage: StageTables, codePoint: number): number {
  return stage.ranges[3 * rowAt(stage.ranges, codePoint) + 2]!;
}

/** The last row that begins at or before the code point. */
function rowAt(ranges: Uint32Array, codePoint: number): number {
  let low = 0;
  let high = ranges.length / 3;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (ranges[3 * middle]! <= codePoint) low = middle;
    else high = middle;
  }
  return low;
}

function isIsomorphic(
  left: StageTables,
  right: StageTables,
  columns: readonly (readonly [number, number])[],
): boolean {
  const partner = new Map<number, number>([
    [DEAD, DEAD],
    [START, START],
  ]);
  const pending = [START];
  for (const state of pending) {
    const ours = state * left.table.nColumns;
    const theirs = partner.get(state)! * right.table.nColumns;
    for (const [a, b] of columns) {
      const [one, other] = [left.table.cells[ours + a]!, right.table.cells[theirs + b]!];
      if ((one ^ other) & MATCH_BIT) return false;
      const known = partner.get(one & STATE_BITS);
      if (known === undefined) {
        partner.set(one & STATE_BITS, other & STATE_BITS);
        pending.push(one & STATE_BITS);
      } else if (known !== (other & STATE_BITS)) return false;
    }
  }
  return new Set(partner.values()).size === partner.size;
}
