// Base64 as Python's b64decode(validate=True) reads it.
import { asBytes, toArray } from "./byte_string.js";

const WHOLE = /^[A-Za-z0-9+/]*={0,2}$/;

/** Return the bytes; null if the text is not base64. */
export function fromBase64(text: string): Uint8Array | null {
  if (!WHOLE.test(text) || text.length % 4 !== 0) return null;
  return toArray(asBytes(atob(text)));
}
