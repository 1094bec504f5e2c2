// A small tokenizer.json: all bytes, a few merges, two special tokens.

const printable = (byte) =>
  (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte < 0xad) || byte > 0xad;

/** The 256 bytes as byte-level vocabularies write them. */
export function alphabet() {
  let spare = 0x100;
  return Array.from({ length: 256 }, (_, byte) =>
    String.fromCharCode(printable(byte) ? byte : spare++),
  );
}

const MERGES = ["h e", "l l", "he ll", "hell o", "\u0120 w", "\u0120w o", "r l", "rl d", "\u0120wo rld"];

/** Its text; `changes` are put over it. */
export function smallJson(changes = {}) {
  const tokens = [...alphabet(), ...MERGES.map((pair) => pair.replace(" ", ""))];
  const added = ["<s>", "</s>"].map((content, i) => ({
    id: tokens.length + i, content, single_word: false, lstrip: false, rstrip: false,
    normalized: false, special: true,
  }));
  const byteLevel = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true };
  return JSON.stringify({
    version: "1.0", truncation: null, padding: null, added_tokens: added, normalizer: null,
    pre_tokenizer: byteLevel,
    post_processor: {
      type: "TemplateProcessing",
      single: [{ SpecialToken: { id: "<s>", type_id: 0 } }, { Sequence: { id: "A", type_id: 0 } }],
      pair: [{ Sequence: { id: "A", type_id: 0 } }, { Sequence: { id: "B", type_id: 1 } }],
      special_tokens: { "<s>": { id: "<s>", ids: [tokens.length], tokens: ["<s>"] } },
    },
    decoder: byteLevel,
    model: {
      type: "BPE", dropout: null, unk_token: null, continuing_subword_prefix: null,
      end_of_word_suffix: null, fuse_unk: false, byte_fallback: false, ignore_merges: false,
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])), merges: MERGES,
    },
    ...changes,
  });
}

export const bytes = (text) => new TextEncoder().encode(text);
