// compile: the bytes of a tokenizer.json -> its Definition, or the reasons why there is none.
import { readTokenizerJson } from "../load/tokenizer_json.js";
import type { Definition } from "./definition.js";
import { defineSpec } from "./model.js";
import type { CompileOptions } from "./model.js";

export type { CompileOptions } from "./model.js";
export type { Normalize } from "./vanishing.js";
export type { Definition } from "./definition.js";

/**
 * Read a tokenizer.json and describe it to the core.
 *
 * `name` is for people. Throws LoadError for a file that cannot be read, UnsupportedTokenizer for
 * a tokenizer that the engine cannot run exactly, and PatternError for a wrong pattern in it.
 */
export function definitionOf(
  json: Uint8Array,
  name: string,
  options: CompileOptions = {},
): Definition {
  return defineSpec(readTokenizerJson(json, name), options);
}
