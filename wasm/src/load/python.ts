// Values as Python writes them: repr(), truth, and the order of sorted().
//
// Messages, the hash of a tokenizer and the lines that describe a model use Python's spelling.
import { isPrintable } from "../unicode/index.js";
import type { ByteString } from "./byte_string.js";
import { JsonFloat } from "./json.js";
import type { JsonValue } from "./json.js";

const PLAIN = /^[ !#-&(-[\]-~]*$/;
const LONGEST_PLAIN_POWER = 16;
const SMALLEST_PLAIN_POWER = -4;

/** What repr() makes of a value from JSON. */
export function repr(value: JsonValue): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "string") return reprText(value);
  if (value instanceof JsonFloat) return reprFloat(value.value);
  if (Array.isArray(value)) return `[${value.map(repr).join(", ")}]`;
  if (value instanceof Map) {
    const members = Array.from(value, ([key, item]) => `${reprText(key)}: ${repr(item)}`);
    return `{${members.join(", ")}}`;
  }
  return String(value);
}

/** repr() of a string: reprText("it's") is "it's" in double quotes. */
export function reprText(text: string): string {
  if (PLAIN.test(text)) return `'${text}'`;
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  let out = quote;
  for (const character of text) out += reprCharacter(character, quote);
  return out + quote;
}

/** repr() of bytes: b'\xff'. */
export function reprBytes(bytes: ByteString): string {
  const quote = bytes.includes("'") && !bytes.includes('"') ? '"' : "'";
  let out = `b${quote}`;
  for (let i = 0; i < bytes.length; i += 1) {
    const code = bytes.charCodeAt(i);
    out += code < 0x7f ? reprCharacter(bytes[i]!, quote) : `\\x${code.toString(16)}`;
  }
  return out + quote;
}

/** repr() of a tuple whose entries are written already. */
export function reprTuple(entries: readonly string[]): string {
  return entries.length === 1 ? `(${entries[0]},)` : `(${entries.join(", ")})`;
}

/** repr() of a list of strings. */
export function reprList(texts: readonly string[]): string {
  return `[${texts.map(reprText).join(", ")}]`;
}

/** Whether bool() is true. */
export function isTrue(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null) return false;
  if (value instanceof JsonFloat) return value.value !== 0;
  if (Array.isArray(value)) return value.length > 0;
  if (value instanceof Map) return value.size > 0;
  return typeof value === "number" ? value !== 0 : Boolean(value);
}

/** Strings in order of their code points, which is not that of UTF-16. */
export function sorted(texts: Iterable<string>): string[] {
  return Array.from(texts).sort(byCodePoints);
}

/** How many characters a text has. */
export function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

function reprCharacter(character: string, quote: string): string {
  if (character === quote || character === "\\") return `\\${character}`;
  const code = character.codePointAt(0)!;
  if (code >= 0x20 && code < 0x7f) return character;
  if (character === "\t") return "\\t";
  if (character === "\n") return "\\n";
  if (character === "\r") return "\\r";
  if (code >= 0x80 && isPrintable(code)) return character;
  if (code <= 0xff) return `\\x${code.toString(16).padStart(2, "0")}`;
  if (code <= 0xffff) return `\\u${code.toString(16).padStart(4, "0")}`;
  return `\\U${code.toString(16).padStart(8, "0")}`;
}

/** Both languages write the fewest digits that are exact; they differ in the form. */
function reprFloat(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (value === 0) return Object.is(value, -0) ? "-0.0" : "0.0";
  const [mantissa = "", power = "0"] = value.toExponential().split("e");
  const exponent = Number(power);
  if (exponent >= SMALLEST_PLAIN_POWER && exponent < LONGEST_PLAIN_POWER) {
    return plainFloat(mantissa, exponent);
  }
  const sign = exponent < 0 ? "-" : "+";
  return `${mantissa}e${sign}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

function plainFloat(mantissa: string, exponent: number): string {
  const sign = mantissa.startsWith("-") ? "-" : "";
  const digits = mantissa.replace("-", "").replace(".", "");
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  return `${sign}${whole}.${digits.slice(exponent + 1) || "0"}`;
}

function byCodePoints(left: string, right: string): number {
  const a = Array.from(left, (c) => c.codePointAt(0)!);
  const b = Array.from(right, (c) => c.codePointAt(0)!);
  for (let i = 0; i < Math.min(a.length, b.length); i += 1) {
    if (a[i] !== b[i]) return a[i]! - b[i]!;
  }
  return a.length - b.length;
}
