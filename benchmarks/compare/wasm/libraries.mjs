// Each library behind one function: (encoding, files) -> text -> ids, without special tokens; null
// if the library does not have the encoding.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const RANKS = ["o200k", "cl100k"];
const JSON_FILES = { o200k: "gpt4o-o200k-hf", llama3: "llama3" };

const jsonOf = (encoding, files) => {
  const name = JSON_FILES[encoding];
  return name ? JSON.parse(readFileSync(join(files, name, "tokenizer.json"), "utf8")) : null;
};

export const LIBRARIES = {
  async tokenmill(encoding, files) {
    const entry = pathToFileURL(resolve(process.env.TOKENMILL_DIST, "index.js"));
    const { Tokenizer } = await import(entry.href);
    const tokenizer = await Tokenizer.load(join(files, `${encoding}.mill`));
    return (text) => tokenizer.encode(text);
  },
  async "gpt-tokenizer"(encoding) {
    if (!RANKS.includes(encoding)) return null;
    const { encode } = await import(`gpt-tokenizer/encoding/${encoding}_base`);
    return (text) => encode(text);
  },
  async tiktoken(encoding) {
    if (!RANKS.includes(encoding)) return null;
    const { get_encoding } = createRequire(import.meta.url)("tiktoken");
    const tokenizer = get_encoding(`${encoding}_base`);
    return (text) => tokenizer.encode_ordinary(text);
  },
  async "js-tiktoken"(encoding) {
    if (!RANKS.includes(encoding)) return null;
    const { Tiktoken } = await import("js-tiktoken/lite");
    const { default: ranks } = await import(`js-tiktoken/ranks/${encoding}_base`);
    const tokenizer = new Tiktoken(ranks);
    return (text) => tokenizer.encode(text);
  },
  async "@huggingface/tokenizers"(encoding, files) {
    const json = jsonOf(encoding, files);
    if (json === null) return null;
    const { Tokenizer } = await import("@huggingface/tokenizers");
    const tokenizer = new Tokenizer(json, {});
    return (text) => tokenizer.encode(text, { add_special_tokens: false }).ids;
  },
  async "@huggingface/transformers"(encoding, files) {
    const json = jsonOf(encoding, files);
    if (json === null) return null;
    const { PreTrainedTokenizer } = await import("@huggingface/transformers");
    const tokenizer = new PreTrainedTokenizer(json, {});
    return (text) => tokenizer.encode(text, { add_special_tokens: false });
  },
};
