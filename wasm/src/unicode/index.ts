// Code-point sets as the reference engine sees them; the twin of src/tokenmill/_unicode.
//
// "onig" has the sets of patterns, "hf" those of the predicates inside `tokenizers`. Nothing is
// unpacked before the first question.
import { CASE_VARIANTS, PACKED, PRINTABLE, SETS } from "./generated/sets.js";

export type Engine = "onig" | "hf";
/** Sorted half-open ranges, flat: begin, end, begin, end. */
export type Ranges = readonly number[];

let unpacked: Ranges[] | null = null;
let printable: Uint8Array | null = null;

/** A set by name: codePoints("onig", "Zs") begins with 32, 33. */
export function codePoints(engine: Engine, name: string): Ranges {
  const place = SETS[engine]![name];
  if (place === undefined) throw new RangeError(`unicode: no such ${engine} set, got ${name}`);
  unpacked ??= unpack(PACKED);
  return unpacked[place]!;
}

/** Code points that match (?i:letter): caseVariants("k") is [75, 107, 8490]. */
export function caseVariants(letter: string): readonly number[] {
  return CASE_VARIANTS[letter]!;
}

/** Names of all sets of an engine. */
export function names(engine: Engine): readonly string[] {
  return Object.keys(SETS[engine]!);
}

/** Whether Python's repr() writes the character as it is. */
export function isPrintable(codePoint: number): boolean {
  printable ??= tableOf(unpack(PRINTABLE)[0]!);
  return printable[codePoint] === 1;
}

function tableOf(ranges: Ranges): Uint8Array {
  const table = new Uint8Array(0x110000);
  for (let i = 0; i < ranges.length; i += 2) table.fill(1, ranges[i], ranges[i + 1]);
  return table;
}

/** Undo the packing: how many ranges, then gap and length of each. */
function unpack(packed: string): Ranges[] {
  const numbers = varints(atob(packed));
  const sets: number[][] = [];
  for (let at = 0; at < numbers.length; ) {
    const end = at + 1 + 2 * numbers[at]!;
    const ranges: number[] = [];
    let edge = 0;
    for (at += 1; at < end; at += 1) {
      edge += numbers[at]!;
      ranges.push(edge);
    }
    sets.push(ranges);
  }
  return sets;
}

function varints(bytes: string): number[] {
  const numbers: number[] = [];
  let value = 0;
  let shift = 0;
  for (let i = 0; i < bytes.length; i += 1) {
    const byte = bytes.charCodeAt(i);
    value |= (byte & 0x7f) << shift;
    shift += 7;
    if ((byte & 0x80) === 0) {
      numbers.push(value);
      value = 0;
      shift = 0;
    }
  }
  return numbers;
}
