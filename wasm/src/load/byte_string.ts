// Bytes as strings whose characters are bytes: they join, compare and sit in sets like text.

/** Bytes, one character from U+0000 to U+00FF for each; never text. */
export type ByteString = string & { readonly isBytes: true };

const ASCII = /^[\x00-\x7f]*$/;

/** Take a string whose characters are bytes already. */
export function asBytes(characters: string): ByteString {
  return characters as ByteString;
}

/** The UTF-8 of text: utf8("\u00e9") === "\xc3\xa9". */
export function utf8(text: string): ByteString {
  if (ASCII.test(text)) return asBytes(text);
  // Tokens are short: a TextEncoder for each would take several times as long.
  let bytes = "";
  for (let i = 0; i < text.length; i += 1) {
    const code = text.codePointAt(i)!;
    bytes += utf8OfCharacter(code);
    if (code > 0xffff) i += 1;
  }
  return asBytes(bytes);
}

function utf8OfCharacter(code: number): string {
  const last = 0x80 | (code & 0x3f);
  if (code < 0x80) return String.fromCharCode(code);
  if (code < 0x800) return String.fromCharCode(0xc0 | (code >> 6), last);
  const third = 0x80 | ((code >> 6) & 0x3f);
  if (code < 0x10000) return String.fromCharCode(0xe0 | (code >> 12), third, last);
  const second = 0x80 | ((code >> 12) & 0x3f);
  return String.fromCharCode(0xf0 | (code >> 18), second, third, last);
}

/** The text of UTF-8 that is known to be well-formed. */
export function textOf(bytes: ByteString): string {
  return ASCII.test(bytes) ? bytes : new TextDecoder().decode(toArray(bytes));
}

/** A few bytes; each becomes a character. */
export function fromArray(bytes: Uint8Array): ByteString {
  return asBytes(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

export function toArray(bytes: ByteString): Uint8Array {
  const out = new Uint8Array(bytes.length);
  write(bytes, out, 0);
  return out;
}

/** One array of all entries, one after the other; nothing for holes. */
export function joined(table: readonly (ByteString | null)[]): Uint8Array {
  let size = 0;
  for (const entry of table) size += entry === null ? 0 : entry.length;
  const out = new Uint8Array(size);
  let at = 0;
  for (const entry of table) {
    if (entry !== null) at = write(entry, out, at);
  }
  return out;
}

function write(bytes: ByteString, out: Uint8Array, at: number): number {
  for (let i = 0; i < bytes.length; i += 1) out[at + i] = bytes.charCodeAt(i);
  return at + bytes.length;
}
