// Bytes as strings whose characters are bytes: they join, compare and sit in sets like text.

/** Bytes, one character from U+0000 to U+00FF for each; never text. */
export type ByteString = string & { readonly isBytes: true };

const ENCODER = new TextEncoder();
const ASCII = /^[\x00-\x7f]*$/;

/** Take a string whose characters are bytes already. */
export function asBytes(characters: string): ByteString {
  return characters as ByteString;
}

/** The UTF-8 of text: utf8("\u00e9") === "\xc3\xa9". */
export function utf8(text: string): ByteString {
  return asBytes(ASCII.test(text) ? text : fromArray(ENCODER.encode(text)));
}

/** The text of UTF-8 that is known to be well-formed. */
export function textOf(bytes: ByteString): string {
  return ASCII.test(bytes) ? bytes : new TextDecoder().decode(toArray(bytes));
}

export function fromArray(bytes: Uint8Array): ByteString {
  let text = "";
  for (let i = 0; i < bytes.length; i += 4096) {
    text += String.fromCharCode(...bytes.subarray(i, i + 4096));
  }
  return asBytes(text);
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
