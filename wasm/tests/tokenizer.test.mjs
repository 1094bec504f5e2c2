// The public class: options, results, hostile input, errors, memory.
import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";

import { Tokenizer, TokenmillError, compile, moduleMemory } from "../dist/index.js";
import { bytes, smallJson } from "./small.mjs";

const folder = mkdtempSync(join(tmpdir(), "tokenmill-"));
const path = join(folder, "tokenizer.json");
let tokenizer;
let mill;

before(async () => {
  writeFileSync(path, smallJson());
  tokenizer = await Tokenizer.load(bytes(smallJson()));
  mill = await compile(bytes(smallJson()));
  writeFileSync(join(folder, "small.mill"), mill);
});
after(() => tokenizer.free());

const codeIs = (code, message = /./) => (error) =>
  error instanceof TokenmillError && error.code === code && message.test(error.message);

test("ids are merged words, special tokens and bytes", () => {
  const word = tokenizer.tokenToId("hello");
  const world = tokenizer.tokenToId("\u0120world");
  assert.deepEqual([...tokenizer.encode("hello world")], [word, world]);
  const [begin, end] = tokenizer.specialTokens.values();
  assert.deepEqual([...tokenizer.encode("</s>", { addSpecialTokens: true })], [begin, end]);
  assert.equal(tokenizer.encode("\u00e9").length, 2);
  assert.equal(tokenizer.encode("").length, 0);
  assert.equal(tokenizer.decode(tokenizer.encode("hello world</s>")), "hello world</s>");
  assert.equal(tokenizer.decode([begin, word, end], { skipSpecialTokens: true }), "hello");
  assert.equal(tokenizer.vocabSize, end + 1);
  assert.equal(tokenizer.target, "simd128");
});

test("a tokenizer loads from a path, a URL, an address, a response and bytes", async () => {
  const server = createServer((request, response) => {
    response.statusCode = request.url === "/small.mill" ? 200 : 404;
    response.end(request.url === "/small.mill" ? mill : "no");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${server.address().port}`;
  const whole = mill.buffer.slice(mill.byteOffset, mill.byteOffset + mill.length);
  try {
    for (const source of [
      path, join(folder, "small.mill"), pathToFileURL(path), pathToFileURL(path).href,
      `${address}/small.mill`, new URL(`${address}/small.mill`),
      await fetch(`${address}/small.mill`), whole, mill,
    ]) {
      const one = await Tokenizer.load(source, { tables: "tiny" });
      assert.deepEqual([...one.encode("hello")], [...tokenizer.encode("hello")]);
      one.free();
    }
    await assert.rejects(Tokenizer.load(`${address}/none`), codeIs("NoSuchFile", /404/));
    await assert.rejects(Tokenizer.load("http://127.0.0.1:1/x"), codeIs("NoSuchFile"));
  } finally {
    server.close();
  }
});

test("what cannot be loaded says why", async () => {
  await assert.rejects(Tokenizer.load(join(folder, "none.mill")), codeIs("NoSuchFile", /none\.mill/));
  await assert.rejects(Tokenizer.load(bytes("{")), codeIs("LoadError"));
  await assert.rejects(Tokenizer.load(new Uint8Array()), codeIs("LoadError"));
  await assert.rejects(Tokenizer.load(mill.subarray(0, 5000)), codeIs("CorruptModel", /cut short/));
  await assert.rejects(Tokenizer.load(mill, { tables: "huge" }), codeIs("BadArgument", /usual, small/));
  for (const place of [9, 20, 30, 33, 60, 3000, 5000, mill.length - 1]) {
    const damaged = mill.slice();
    damaged[place] ^= 1;
    await assert.rejects(Tokenizer.load(damaged), codeIs("CorruptModel"), `byte ${place}`);
  }
});

test("half of a surrogate pair is refused wherever it is", () => {
  for (const text of ["\ud800", "a\udc00", "\ud83d", "x".repeat(100_000) + "\ud83dx", "\udc00\ud800"]) {
    for (const call of ["encode", "count", "encodeWithOffsets"]) {
      assert.throws(() => tokenizer[call](text), codeIs("InvalidUtf16", /^position \d+: half of a/));
    }
  }
  assert.equal(tokenizer.decode(tokenizer.encode("\ufffd")), "\ufffd");
});

test("what is not text is refused", () => {
  for (const text of [undefined, null, 5, ["a"], {}]) {
    assert.throws(() => tokenizer.encode(text), codeIs("BadArgument", /^text: expected a string/));
  }
});

test("wrong ids are refused, and name themselves", () => {
  for (const id of [-1, 1.5, NaN, 2 ** 32, "x", tokenizer.vocabSize]) {
    assert.throws(() => tokenizer.decode([id]), codeIs("UnknownId"), String(id));
    assert.throws(() => tokenizer.decodeStream().push(id), codeIs("UnknownId"), String(id));
    assert.throws(() => tokenizer.idToToken(id), codeIs("UnknownId"), String(id));
  }
  assert.equal(tokenizer.tokenToId("no such token"), null);
});

test("options are checked", () => {
  assert.throws(() => tokenizer.encode("a", { specialInText: "no" }), codeIs("BadArgument", /encode, text/));
  assert.throws(() => tokenizer.encode("a", { addSpecialTokens: 1 }), codeIs("BadArgument"));
  assert.throws(() => tokenizer.count("a", { limit: -1 }), codeIs("BadArgument"));
  assert.throws(() => tokenizer.decode([1], { cleanUp: "yes" }), codeIs("BadArgument"));
  const refused = codeIs("SpecialInText", /<\/s>.*specialInText/);
  assert.throws(() => tokenizer.encode("a</s>", { specialInText: "raise" }), refused);
  assert.equal(tokenizer.encode("</s>", { specialInText: "text" }).length, 4);
  assert.equal(tokenizer.count("hello world", { limit: 1 }), 2);
  assert.equal(tokenizer.count("hello world", { limit: 2, addSpecialTokens: true }), 3);
});

test("offsets cut the string", () => {
  const text = "hello \u{1f600} world \u00e9\u4f60";
  const { ids, offsets } = tokenizer.encodeWithOffsets(text);
  assert.equal(offsets.length, 2 * ids.length);
  const parts = new Set(Array.from(ids, (_, i) => text.slice(offsets[2 * i], offsets[2 * i + 1])));
  assert.ok(parts.has("hello") && parts.has(" world") && parts.has("\u{1f600}") && parts.has("\u4f60"));
});

test("a stream gives whole characters, and may be used again", () => {
  const text = "hello \u{1f600}!";
  const stream = tokenizer.decodeStream();
  for (let round = 0; round < 2; round++) {
    const pieces = Array.from(tokenizer.encode(text), (id) => stream.push(id));
    assert.equal(pieces.join("") + stream.finish(), text);
    assert.ok(pieces.every((piece) => piece.isWellFormed?.() ?? true));
  }
  stream.push(tokenizer.encode("\u{1f600}")[0]);
  assert.equal(stream.finish(), "\ufffd");
  stream.free();
  stream.free();
  assert.throws(() => stream.push(1), codeIs("Freed"));
});

test("long texts of every kind have the ids of their parts", () => {
  for (const part of ["hello world ", "\u4f60\u597d\uff0c", "\u{1f600} \u00e9", "a\0b "]) {
    const text = part.repeat(60_000);
    assert.equal(tokenizer.decode(tokenizer.encode(text)), text);
    assert.equal(tokenizer.count(text), tokenizer.encode(text).length);
  }
  assert.equal(tokenizer.count("a".repeat(3_000_000)), 3_000_000);
});

test("a freed tokenizer says so, and frees its streams", async () => {
  const one = await Tokenizer.load(mill);
  const stream = one.decodeStream();
  one.free();
  one.free();
  for (const call of [() => one.encode("a"), () => one.vocabSize, () => stream.push(1), () => one.decode([])]) {
    assert.throws(call, codeIs("Freed", /load it again|was freed/));
  }
  stream.free();
  const other = await Tokenizer.load(mill);
  other[Symbol.dispose ?? Symbol.for("Symbol.dispose")]();
  assert.throws(() => other.encode("a"), codeIs("Freed"));
});

test("memory does not grow with loading, calls or errors", async () => {
  const round = async () => {
    const one = await Tokenizer.load(mill);
    one.encode("hello world ".repeat(20_000));
    one.encodeWithOffsets("hello world ".repeat(20_000));
    one.decodeStream().push(1);
    try { one.decode([99_999]); } catch { /* is wanted */ }
    one.free();
    await Tokenizer.load(mill.subarray(0, 9000)).catch(() => {});
  };
  for (let i = 0; i < 5; i++) await round();
  const before = moduleMemory();
  for (let i = 0; i < 60; i++) await round();
  assert.ok(before > 0);
  assert.equal(moduleMemory(), before);
});
