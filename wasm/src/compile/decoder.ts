// What a compiled model keeps for decoding: the table of the core, and the steps as plain data; twin
// of src/tokenmill/_compile/decoder.py.
import { utf8 } from "../load/byte_string.js";
import type { ByteString } from "../load/byte_string.js";
import { PatternError } from "../load/errors.js";
import { reprText } from "../load/python.js";
import { vocabSize } from "../load/spec.js";
import type { DecoderStep, TokenTable, TokenizerSpec } from "../load/spec.js";
import type { Plain, PlainObject } from "./meta.js";
import { NotRegular } from "./regex_ast.js";
import { compileStage } from "./split.js";

/** Return the core's entry for every id: decoded bytes, or UTF-8 if decoders work on texts. */
export function decodeTable(spec: TokenizerSpec): TokenTable {
  if (spec.texts.length === 0) {
    return spec.model.type === "BpeModel" ? spec.model.decodeBytes : [];
  }
  const table = new Array<ByteString | null>(vocabSize(spec)).fill(null);
  spec.texts.forEach((text, id) => {
    table[id] = text === null ? null : utf8(text);
  });
  return table;
}

/** Describe decoding for the meta data of a model. */
export function decodingOf(spec: TokenizerSpec): { reasons: string[]; data: PlainObject } {
  const reasons = [...spec.unsupportedDecode, ...hardPatterns(spec)];
  const empty = spec.texts.flatMap((text, id) => (text === "" ? [id] : []));
  const data = new Map<string, Plain>([
    ["reasons", reasons],
    ["on_texts", spec.texts.length > 0],
    ["pieces", null],
    ["steps", spec.decoder === null ? null : spec.decoder.map(plainStep)],
    ["empty", empty],
  ]);
  return { reasons, data };
}

function plainStep(step: DecoderStep): PlainObject {
  return new Map<string, Plain>([
    ["kind", step.kind],
    ["a", step.a],
    ["b", step.b],
    ["left", step.left],
    ["right", step.right],
    ["flag", step.flag],
  ]);
}

/** Report patterns that no automaton can run exactly. */
function hardPatterns(spec: TokenizerSpec): string[] {
  const reasons: string[] = [];
  for (const step of spec.decoder ?? []) {
    if (step.kind !== "replace_regex") continue;
    try {
      compileStage(step.a, "isolated", false);
    } catch (error) {
      const pattern = `the decoder's pattern ${reprText(step.a)}`;
      if (error instanceof NotRegular) reasons.push(`${pattern}: ${error.reason}`);
      else if (error instanceof PatternError) reasons.push(`${pattern}: ${error.message}`);
      else throw error;
    }
  }
  return reasons;
}
