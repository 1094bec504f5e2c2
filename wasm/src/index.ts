// The public names of @tokenmill/tokenizer.
export { TokenmillError } from "./errors.js";
export { moduleMemory, useWasm } from "./module.js";
export type { WasmSource } from "./module.js";
export type { DecodeOptions, EncodeOptions } from "./options.js";
export { DecodeStream } from "./stream.js";
export { Tokenizer, compile } from "./tokenizer.js";
export type { EncodingWithOffsets, LoadOptions, TokenizerSource } from "./tokenizer.js";
