// The WordLevel "model" section of a tokenizer.json -> WordLevelModel; twin of
// src/tokenmill/_load/wordlevel.py.
import { member } from "./fields.js";
import type { JsonObject } from "./json.js";
import { reprText } from "./python.js";
import { idReasons, opaque, utf8Table } from "./vocabulary.js";
import type { ReadModel, Vocab } from "./vocabulary.js";

/** Read a WordLevel model; without an unknown token, an unknown word is an error. */
export function readWordLevel(section: JsonObject, vocab: Vocab): ReadModel {
  const unknown = member(section, "unk_token", "str", "model");
  const reasons = idReasons(vocab);
  const unkId = vocab.get(unknown);
  if (unkId === undefined) {
    reasons.push(`model.unk_token ${reprText(unknown)} is not in the vocabulary`);
  }
  if (reasons.length > 0 || unkId === undefined) return opaque(reasons);
  const model = { type: "WordLevelModel", tokens: utf8Table(vocab), unkId: Number(unkId) } as const;
  return { model, reasons: [] };
}
