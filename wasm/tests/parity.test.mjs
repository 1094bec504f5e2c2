// Ids, places, texts and names are those that Python computed (tools/write_expected.py). The folder
// is in TOKENMILL_EXPECTED; without it these tests are left out, and say so.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { Tokenizer } from "../dist/index.js";
import { compareAll } from "./compare.mjs";

const folder = process.env.TOKENMILL_EXPECTED;
const skip = folder ? false : "run `make wasm-test`, or set TOKENMILL_EXPECTED";
const json = (name) => JSON.parse(readFileSync(join(folder, name), "utf8"));
const names = folder ? json("names.json") : ["any"];
const texts = folder ? json("texts.json") : {};

for (const name of names) {
  test(`${name}.mill is exact`, { skip }, async () => {
    const tokenizer = await Tokenizer.load(join(folder, `${name}.mill`));
    compareAll(tokenizer, texts, json(`${name}.answers.json`), numbersOf(name), assert);
    tokenizer.free();
  });
  if (!folder || !existsSync(join(folder, `${name}.json`))) continue;
  test(`${name}.json, compiled here, is exact`, { skip }, async () => {
    const tokenizer = await Tokenizer.load(join(folder, `${name}.json`));
    compareAll(tokenizer, texts, json(`${name}.answers.json`), numbersOf(name), assert);
    tokenizer.free();
  });
}

function numbersOf(name) {
  const bytes = readFileSync(join(folder, `${name}.numbers`));
  return new Uint32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}

