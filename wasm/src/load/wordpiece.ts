// The WordPiece "model" section of a tokenizer.json -> WordPieceModel; twin of
// src/tokenmill/_load/wordpiece.py.
import { utf8 } from "./byte_string.js";
import { LoadError } from "./errors.js";
import { member } from "./fields.js";
import type { JsonObject } from "./json.js";
import { reprText } from "./python.js";
import { idReasons, opaque, utf8Table } from "./vocabulary.js";
import type { ReadModel, Vocab } from "./vocabulary.js";

/** Read a WordPiece model; all members are required, as in the library. */
export function readWordPiece(section: JsonObject, vocab: Vocab): ReadModel {
  const unknown = member(section, "unk_token", "str", "model");
  const prefix = member(section, "continuing_subword_prefix", "str", "model");
  const maxCharacters = member(section, "max_input_chars_per_word", "int", "model");
  if (maxCharacters < 0) {
    const place = "model.max_input_chars_per_word";
    throw new LoadError(`${place}: expected a whole number from 0 on, got ${maxCharacters}`);
  }
  const reasons = idReasons(vocab);
  const unkId = vocab.get(unknown);
  if (unkId === undefined) {
    reasons.push(`model.unk_token ${reprText(unknown)} is not in the vocabulary`);
  }
  if (reasons.length > 0 || unkId === undefined) return opaque(reasons);
  const model = {
    type: "WordPieceModel",
    tokens: utf8Table(vocab),
    unkId: Number(unkId),
    prefix: utf8(prefix),
    maxCharacters,
  } as const;
  return { model, reasons: [] };
}
