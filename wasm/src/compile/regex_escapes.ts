// Escapes of a pattern: \n, \x{41}, \s, \p{Lu}, and so on, as one code point or a set; twin of
// src/tokenmill/_compile/regex_escapes.py.
import { reprText } from "../load/python.js";
import { codePoints, names } from "../unicode/index.js";
import type { Engine } from "../unicode/index.js";
import { complement } from "./char_sets.js";
import type { CharSet } from "./char_sets.js";
import type { Cursor } from "./regex_cursor.js";

const CONTROLS = new Map([
  ["n", 10],
  ["r", 13],
  ["t", 9],
  ["f", 12],
  ["v", 11],
  ["a", 7],
  ["e", 27],
]);
const SHORTHANDS = new Map([
  ["s", "Space"],
  ["d", "Digit"],
  ["w", "Word"],
  ["h", "HexDigit"],
]);
const LONG_NAMES = new Map([
  ["letter", "L"],
  ["uppercaseletter", "Lu"],
  ["lowercaseletter", "Ll"],
  ["titlecaseletter", "Lt"],
  ["modifierletter", "Lm"],
  ["otherletter", "Lo"],
  ["mark", "M"],
  ["number", "N"],
  ["decimalnumber", "Nd"],
  ["punctuation", "P"],
  ["symbol", "S"],
  ["separator", "Z"],
]);
const OTHER_ENGINE = "hf:";
const LAST_ASCII = 0x7f;
const ALPHANUMERIC = /^[0-9A-Za-z]$/;
// White space as Python sees it, which differs from that of JavaScript.
const WHITE =
  "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const IGNORED = new RegExp(`[${WHITE}_-]`, "g");
const OUTER = new RegExp(`^[${WHITE}]+|[${WHITE}]+$`, "g");

/** Read what follows a backslash: a code point, or a set for a class escape. */
export function readEscape(cursor: Cursor, inClass: boolean): number | CharSet {
  const letter = cursor.nextChar();
  const control = CONTROLS.get(letter);
  if (control !== undefined) return control;
  if (SHORTHANDS.has(asciiLower(letter))) return shorthand(letter, inClass);
  if (letter === "p" || letter === "P") return readProperty(cursor, letter === "P");
  if (letter === "x" || letter === "u") return readHex(cursor, letter);
  if (ALPHANUMERIC.test(letter)) cursor.refuse(`the escape \\${letter}`);
  return letter.codePointAt(0)!;
}

/** Return the set with this name, as the engine of patterns sees it. */
export function namedSet(cursor: Cursor, name: string): CharSet {
  const isOther = name.startsWith(OTHER_ENGINE);
  const engine: Engine = isOther ? "hf" : "onig";
  const plain = isOther ? name.slice(OTHER_ENGINE.length) : name;
  const known = namesByKey(engine).get(key(plain));
  if (known === undefined) cursor.refuse(`the unknown property ${reprText(plain)}`);
  return codePoints(engine, known);
}

/** Whether \letter is a set that (?i) cannot change: white space and digits have no case. */
export function isCaseless(letter: string): boolean {
  return ["s", "S", "d", "D", ""].includes(letter);
}

function shorthand(letter: string, inClass: boolean): CharSet {
  const name = SHORTHANDS.get(asciiLower(letter))!;
  // Oniguruma's \w takes superscripts of Latin-1 for word characters, its [\w] does not.
  const chars = codePoints("onig", inClass && name === "Word" ? "WordInClass" : name);
  return letter === letter.toLowerCase() ? chars : complement(chars);
}

function readProperty(cursor: Cursor, isNegated: boolean): CharSet {
  let negated = isNegated;
  if (!cursor.take("{")) cursor.refuse("a property without braces");
  let name = cursor.until("}").replace(OUTER, "");
  if (name.startsWith("^")) {
    name = name.slice(1);
    negated = !negated;
  }
  const chars = namedSet(cursor, name);
  return negated ? complement(chars) : chars;
}

function readHex(cursor: Cursor, letter: "x" | "u"): number {
  let digits: string;
  if (cursor.take("{")) {
    digits = cursor.until("}");
    if (letter === "u") cursor.refuse("\\u with braces");
  } else {
    const width = letter === "x" ? 2 : 4;
    digits = cursor.ahead(width);
    if (Array.from(digits).length < width) cursor.refuse("a short hexadecimal escape");
    cursor.offset += width;
  }
  if (!/^[0-9a-fA-F]{1,6}$/.test(digits)) {
    cursor.refuse(`the hexadecimal escape ${reprText(digits)}`);
  }
  const value = parseInt(digits, 16);
  // Oniguruma reads \xHH as one byte of UTF-8, and a surrogate is not a character at all.
  const isByte = letter === "x" && digits.length === 2 && value > LAST_ASCII;
  if (isByte || (value >= 0xd800 && value < 0xe000) || value > 0x10ffff) {
    cursor.refuse(`the hexadecimal escape ${reprText(digits)}`);
  }
  return value;
}

const tables = new Map<Engine, Map<string, string>>();

function namesByKey(engine: Engine): Map<string, string> {
  let table = tables.get(engine);
  if (table === undefined) {
    const known = names(engine);
    const hidden = engine === "hf" ? [] : [...SHORTHANDS.values(), "WordInClass", "Dot"];
    table = new Map(known.filter((n) => !hidden.includes(n)).map((name) => [key(name), name]));
    for (const [long, name] of LONG_NAMES) {
      if (known.includes(name)) table.set(long, name);
    }
    tables.set(engine, table);
  }
  return table;
}

/** Spell a name the way engines compare them: without case, blanks, `_` and `-`. */
function key(name: string): string {
  return name.replace(IGNORED, "").toLowerCase();
}

/** Lower case as far as it leads from or to ASCII: no other letter is a shorthand. */
function asciiLower(letter: string): string {
  return letter.toLowerCase();
}
