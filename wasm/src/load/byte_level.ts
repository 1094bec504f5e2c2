// The byte-level alphabet: 256 printable characters, one for each byte; twin of
// src/tokenmill/_load/byte_level.py.
//
// Vocabularies in JSON spell tokens in it. A byte that is printable in Latin-1 is spelled as
// itself; the others use the characters from U+0100 on, in order of their value.
import { asBytes, utf8 } from "./byte_string.js";
import type { ByteString } from "./byte_string.js";

export const ALPHABET: readonly string[] = alphabet();
// Valid UTF-8 never holds C0, C1 or F5 to FF.
export const UTF8_BYTES: readonly number[] = Array.from({ length: 0xf5 }, (_, byte) => byte).filter(
  (byte) => byte !== 0xc0 && byte !== 0xc1,
);

const NOT_A_BYTE = 256;
const BYTE_OF = bytesByCharacter();
// Printable ASCII stands for itself.
const SAME = /^[!-~]*$/;

/** Spell a token as bytes; null where a character is outside the alphabet. */
export function bytesOfToken(token: string): ByteString | null {
  if (SAME.test(token)) return asBytes(token);
  let spelled = "";
  for (let i = 0; i < token.length; i += 1) {
    const code = token.charCodeAt(i);
    const byte = code < BYTE_OF.length ? BYTE_OF[code]! : NOT_A_BYTE;
    if (byte === NOT_A_BYTE) return null;
    spelled += String.fromCharCode(byte);
  }
  return asBytes(spelled);
}

/** Return what the byte-level decoder writes for a token: its bytes, else its own UTF-8. */
export function decodedBytes(content: string): ByteString {
  return bytesOfToken(content) ?? utf8(content);
}

function alphabet(): string[] {
  let spare = 0x100;
  return Array.from({ length: 256 }, (_, byte) => {
    const isPrintable =
      (byte >= 0x21 && byte < 0x7f) || (byte >= 0xa1 && byte < 0x100 && byte !== 0xad);
    if (isPrintable) return String.fromCharCode(byte);
    spare += 1;
    return String.fromCharCode(spare - 1);
  });
}

/** The byte of each code point up to the last of the alphabet. */
function bytesByCharacter(): Uint16Array {
  const last = Math.max(...ALPHABET.map((character) => character.charCodeAt(0)));
  const table = new Uint16Array(last + 1).fill(NOT_A_BYTE);
  ALPHABET.forEach((character, byte) => {
    table[character.charCodeAt(0)] = byte;
  });
  return table;
}
