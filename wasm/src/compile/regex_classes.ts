// Bracketed character classes: [^\s\p{L}], [a-z&&[^x]], [[:alpha:]], as sets; twin of
// src/tokenmill/_compile/regex_classes.py.
import { reprText } from "../load/python.js";
import { caseVariants } from "../unicode/index.js";
import { complement, intersection, ofChars, union } from "./char_sets.js";
import type { CharSet } from "./char_sets.js";
import type { Cursor } from "./regex_cursor.js";
import { isCaseless, namedSet, readEscape } from "./regex_escapes.js";

const LAST_ASCII = 0x7f;

/** A set and the ASCII letters in it that ignoring case has widened. */
export interface Folded {
  readonly chars: CharSet;
  readonly letters: string;
}

/** Read a class after its opening bracket, up to and including the closing one. */
export function readClass(cursor: Cursor, ignoreCase: boolean): Folded {
  const negated = cursor.take("^");
  let { chars, letters } = readOperand(cursor, ignoreCase, true);
  while (cursor.take("&&")) {
    const right = readOperand(cursor, ignoreCase, false);
    chars = intersection(chars, right.chars);
    letters += right.letters;
  }
  cursor.nextChar();
  return { chars: negated ? complement(chars) : chars, letters };
}

/** Return all code points that match this one without regard to case. */
export function fold(cursor: Cursor, codePoint: number): Folded {
  if (codePoint > LAST_ASCII) cursor.refuse("a non-ASCII character that ignores case");
  const letter = String.fromCharCode(codePoint).toLowerCase();
  if (!/[a-z]/.test(letter)) return { chars: single(codePoint), letters: "" };
  return { chars: ofChars(caseVariants(letter)), letters: letter };
}

/** Read the union of items up to `&&` or the closing bracket, which stays unread. */
function readOperand(cursor: Cursor, ignoreCase: boolean, isFirst: boolean): Folded {
  const items: Folded[] = [];
  if (isFirst && cursor.sees("]")) {
    if (!cursor.hasLater("]")) cursor.fail("empty or unclosed character class");
    items.push({ chars: single(cursor.nextChar().codePointAt(0)!), letters: "" });
  }
  while (!cursor.sees("]") && !cursor.sees("&&")) {
    if (cursor.atEnd()) cursor.fail("expected ']', got the end of the pattern");
    items.push(readItem(cursor, ignoreCase));
  }
  if (items.length === 0) cursor.refuse("an empty part of a character class");
  const letters = items.map((item) => item.letters).join("");
  return { chars: union(...items.map((item) => item.chars)), letters };
}

function readItem(cursor: Cursor, ignoreCase: boolean): Folded {
  if (cursor.take("[:")) return readPosix(cursor, ignoreCase);
  if (cursor.take("[")) return readClass(cursor, ignoreCase);
  const begin = readSingle(cursor, ignoreCase);
  const isRange = cursor.sees("-") && !cursor.sees("-]") && !cursor.sees("-&&");
  if (typeof begin !== "number") {
    if (isRange) cursor.fail("a range cannot begin with a set");
    return { chars: begin, letters: "" };
  }
  if (isRange) return readRange(cursor, begin, ignoreCase);
  return ignoreCase ? fold(cursor, begin) : { chars: single(begin), letters: "" };
}

function readRange(cursor: Cursor, begin: number, ignoreCase: boolean): Folded {
  cursor.nextChar();
  if (cursor.sees("[")) cursor.refuse("a range that ends in a class");
  const end = readSingle(cursor, ignoreCase);
  if (typeof end !== "number") cursor.fail("a range cannot end with a set");
  if (end < begin) {
    const [first, last] = [begin, end].map((code) => reprText(String.fromCodePoint(code)));
    cursor.fail(`empty range, got ${first} to ${last}`);
  }
  if (cursor.sees("-") && !cursor.sees("-]")) cursor.refuse("a '-' after a range");
  if (!ignoreCase) return { chars: [begin, end + 1], letters: "" };
  if (end > LAST_ASCII) cursor.refuse("a non-ASCII range that ignores case");
  const folds: Folded[] = [];
  for (let code = begin; code <= end; code += 1) folds.push(fold(cursor, code));
  const letters = folds.map((one) => one.letters).join("");
  return { chars: union(...folds.map((one) => one.chars)), letters };
}

function readSingle(cursor: Cursor, ignoreCase: boolean): number | CharSet {
  const letter = cursor.nextChar();
  if (letter !== "\\") return letter.codePointAt(0)!;
  const kind = cursor.peek();
  if (kind === "b") cursor.refuse("\\b in a character class");
  const item = readEscape(cursor, true);
  if (ignoreCase && typeof item !== "number" && !isCaseless(kind)) {
    cursor.refuse(`the set \\${kind} that ignores case`);
  }
  return item;
}

function readPosix(cursor: Cursor, ignoreCase: boolean): Folded {
  if (ignoreCase) cursor.refuse("a POSIX class that ignores case");
  const negated = cursor.take("^");
  const chars = namedSet(cursor, `[:${cursor.until(":]")}:]`);
  return { chars: negated ? complement(chars) : chars, letters: "" };
}

function single(codePoint: number): CharSet {
  return [codePoint, codePoint + 1];
}
