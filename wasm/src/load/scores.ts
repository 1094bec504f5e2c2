// Scores as the reference library parses them, which is not to the nearest double.
//
// It takes the digits as one whole number of at most 64 bits, cuts off the rest, and multiplies or
// divides that once by a power of ten, so the last bit often differs. A path that is better by one
// bit wins, so that bit matters.
import { JsonFloat } from "./json.js";
import type { JsonInt } from "./json.js";

const MOST_DIGITS = 18; // digits of a number that fits into 63 bits
const LARGEST = (1n << 64n) - 1n;
const LONGEST_POWER = 8;
const LARGEST_POWER = 5000;
const TENS = Float64Array.from({ length: 309 }, (_, exponent) => Number(`1e${exponent}`));

/** Return the score of a literal; not finite if the library would refuse it. */
export function parseScore(score: JsonInt | JsonFloat): number {
  const literal = literalOf(score);
  if (!Number.isFinite(Number(literal))) return NaN;
  const isNegative = literal.startsWith("-");
  const [digits, exponent] = significand(literal.slice(isNegative ? 1 : 0).toLowerCase());
  return isNegative ? -scaled(digits, exponent) : scaled(digits, exponent);
}

function literalOf(score: JsonInt | JsonFloat): string {
  if (score instanceof JsonFloat) return score.literal;
  return Object.is(score, -0) ? "-0" : String(score);
}

/** Return "12.5e1" as [125, 0]: digits that fit into 64 bits, and the power of ten. */
function significand(literal: string): [number, number] {
  const letter = literal.indexOf("e");
  const mantissa = letter < 0 ? literal : literal.slice(0, letter);
  // Beyond that, every number is zero or too large, whatever its digits.
  const wanted = letter < 0 ? 0 : Number(literal.slice(letter + 1, letter + 1 + LONGEST_POWER));
  const exponent = Math.min(Math.max(wanted, -LARGEST_POWER), LARGEST_POWER);
  const point = mantissa.indexOf(".");
  const nWhole = point < 0 ? mantissa.length : point;
  const digits = point < 0 ? mantissa : mantissa.slice(0, point) + mantissa.slice(point + 1);
  // Number() rounds a whole number to the nearest double, as the library does.
  if (digits.length <= MOST_DIGITS) return [Number(digits), exponent + nWhole - digits.length];
  let value = 0n;
  let used = 0;
  while (used < digits.length) {
    const next = value * 10n + BigInt(digits[used]!);
    if (next > LARGEST) break;
    value = next;
    used += 1;
  }
  return [Number(value), exponent + nWhole - used];
}

function scaled(digits: number, exponent: number): number {
  let value = digits;
  let power = exponent;
  while (power <= -TENS.length) {
    value /= 1e308;
    power += 308;
  }
  if (digits === 0 || value === 0) return 0;
  const factor = Math.abs(power) < TENS.length ? TENS[Math.abs(power)]! : Infinity;
  return power < 0 ? value / factor : value * factor;
}
