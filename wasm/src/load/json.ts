// JSON as Python reads it: whole numbers and fractions apart, keys in their order, NaN allowed.
//
// JSON.parse moves keys that look like numbers to the front, rounds large numbers and does not
// tell 1 from 1.0; a tokenizer needs all of that.
import { LoadError } from "./errors.js";

/** A number with a fraction or an exponent, as it is spelled in the file. */
export class JsonFloat {
  constructor(readonly literal: string) {}

  get value(): number {
    return Number(this.literal);
  }
}

/** A whole number; bigint only beyond 2^53. "-0" is -0, which has its own spelling. */
export type JsonInt = number | bigint;
export type JsonValue =
  | null
  | boolean
  | string
  | JsonInt
  | JsonFloat
  | JsonValue[]
  | JsonObject;
export type JsonObject = Map<string, JsonValue>;

const MOST_DEPTH = 900;
// Python converts no longer ones.
const MOST_DIGITS = 4300;
const SAFE_DIGITS = 15;
const HEX = /^[0-9a-fA-F]{4}$/;
const ESCAPES = new Map<number, string>([
  [0x22, '"'],
  [0x2f, "/"],
  [0x5c, "\\"],
  [0x62, "\b"],
  [0x66, "\f"],
  [0x6e, "\n"],
  [0x72, "\r"],
  [0x74, "\t"],
]);
const WORDS: readonly (readonly [string, () => JsonValue])[] = [
  ["null", () => null],
  ["true", () => true],
  ["false", () => false],
  ["NaN", () => new JsonFloat("NaN")],
  ["Infinity", () => new JsonFloat("Infinity")],
  ["-Infinity", () => new JsonFloat("-Infinity")],
];

/** Parse a text; a LoadError names the line and column of a mistake. */
export function parse(text: string): JsonValue {
  const reader = new Reader(text);
  return reader.readAll();
}

class Reader {
  private at = 0;

  constructor(private readonly text: string) {}

  readAll(): JsonValue {
    if (this.text.startsWith("\ufeff")) {
      this.fail("Unexpected UTF-8 BOM (decode using utf-8-sig)", 0);
    }
    this.skipBlanks();
    const value = this.readValue(0);
    this.skipBlanks();
    if (this.at < this.text.length) this.fail("Extra data", this.at);
    return value;
  }

  private readValue(depth: number): JsonValue {
    const code = this.text.charCodeAt(this.at);
    if (code === 0x22) return this.readString();
    if (code === 0x7b || code === 0x5b) {
      if (depth >= MOST_DEPTH) {
        throw new LoadError("expected a tokenizer, got JSON nested too deeply to be one");
      }
      return code === 0x7b ? this.readObject(depth + 1) : this.readArray(depth + 1);
    }
    if (isDigit(code) || (code === 0x2d && isDigit(this.text.charCodeAt(this.at + 1)))) {
      return this.readNumber();
    }
    return this.readWord();
  }

  private readObject(depth: number): JsonObject {
    const object: JsonObject = new Map();
    this.at += 1;
    this.skipBlanks();
    if (this.take(0x7d)) return object;
    for (;;) {
      if (this.text.charCodeAt(this.at) !== 0x22) {
        this.fail("Expecting property name enclosed in double quotes", this.at);
      }
      const key = this.readString();
      this.skipBlanks();
      if (!this.take(0x3a)) this.fail("Expecting ':' delimiter", this.at);
      this.skipBlanks();
      object.set(key, this.readValue(depth));
      this.skipBlanks();
      if (this.take(0x7d)) return object;
      if (!this.take(0x2c)) this.fail("Expecting ',' delimiter", this.at);
      this.skipBlanks();
    }
  }

  private readArray(depth: number): JsonValue[] {
    const items: JsonValue[] = [];
    this.at += 1;
    this.skipBlanks();
    if (this.take(0x5d)) return items;
    for (;;) {
      items.push(this.readValue(depth));
      this.skipBlanks();
      if (this.take(0x5d)) return items;
      if (!this.take(0x2c)) this.fail("Expecting ',' delimiter", this.at);
      this.skipBlanks();
    }
  }

  private readString(): string {
    const { text } = this;
    const quote = this.at;
    let begin = quote + 1;
    let result = "";
    for (let i = begin; ; i += 1) {
      const code = text.charCodeAt(i);
      if (code === 0x22) {
        this.at = i + 1;
        return result === "" ? text.slice(begin, i) : result + text.slice(begin, i);
      }
      if (code === 0x5c) {
        result += text.slice(begin, i);
        this.at = i + 1;
        result += this.readEscape(quote);
        begin = this.at;
        i = begin - 1;
      } else if (code < 0x20) {
        this.fail("Invalid control character at", i);
      } else if (i >= text.length) {
        this.fail("Unterminated string starting at", quote);
      }
    }
  }

  private readEscape(quote: number): string {
    if (this.at >= this.text.length) this.fail("Unterminated string starting at", quote);
    const code = this.text.charCodeAt(this.at);
    this.at += 1;
    if (code !== 0x75) {
      const plain = ESCAPES.get(code);
      if (plain === undefined) this.fail("Invalid \\escape", this.at - 2);
      return plain;
    }
    const digits = this.text.slice(this.at, this.at + 4);
    // At the very end it is this error, and not that of a string without an end.
    if (!HEX.test(digits) || this.at + 4 >= this.text.length) {
      this.fail("Invalid \\uXXXX escape", this.at - 1);
    }
    this.at += 4;
    // Two halves of a pair, one after the other, are one character in a string of UTF-16.
    return String.fromCharCode(parseInt(digits, 16));
  }

  private readNumber(): JsonInt | JsonFloat {
    const { text } = this;
    const begin = this.at;
    let i = begin + (text.charCodeAt(begin) === 0x2d ? 1 : 0);
    const first = i;
    if (text.charCodeAt(i) === 0x30) i += 1;
    else i = this.endOfDigits(i);
    const endOfWhole = i;
    if (text.charCodeAt(i) === 0x2e && isDigit(text.charCodeAt(i + 1))) {
      i = this.endOfDigits(i + 1);
    }
    i = this.endOfExponent(i);
    this.at = i;
    const literal = text.slice(begin, i);
    if (i > endOfWhole) return new JsonFloat(literal);
    if (endOfWhole - first > MOST_DIGITS) {
      throw new LoadError("expected a tokenizer, got a number of thousands of digits");
    }
    return wholeNumber(literal);
  }

  private endOfDigits(from: number): number {
    let i = from;
    while (isDigit(this.text.charCodeAt(i))) i += 1;
    return i;
  }

  private endOfExponent(from: number): number {
    const code = this.text.charCodeAt(from);
    if (code !== 0x65 && code !== 0x45) return from;
    const sign = this.text.charCodeAt(from + 1);
    const digits = from + (sign === 0x2b || sign === 0x2d ? 2 : 1);
    return isDigit(this.text.charCodeAt(digits)) ? this.endOfDigits(digits) : from;
  }

  private readWord(): JsonValue {
    for (const [word, value] of WORDS) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return value();
      }
    }
    return this.fail("Expecting value", this.at);
  }

  private skipBlanks(): void {
    const { text } = this;
    for (;;) {
      const code = text.charCodeAt(this.at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x09 && code !== 0x0d) return;
      this.at += 1;
    }
  }

  private take(code: number): boolean {
    if (this.text.charCodeAt(this.at) !== code) return false;
    this.at += 1;
    return true;
  }

  private fail(message: string, place: number): never {
    let line = 1;
    let column = 1; // in characters, so the second half of a pair does not count
    for (let i = 0; i < place; i += 1) {
      const code = this.text.charCodeAt(i);
      if (code === 0x0a) {
        line += 1;
        column = 1;
      } else if (code < 0xdc00 || code > 0xdfff) column += 1;
    }
    throw new LoadError(`expected JSON, got ${message} at column ${column}`, {
      line,
      hint: "the file is damaged or incomplete, fetch it again",
    });
  }
}

function wholeNumber(literal: string): JsonInt {
  const number = Number(literal);
  if (literal.length <= SAFE_DIGITS || Number.isSafeInteger(number)) return number;
  return BigInt(literal);
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}
