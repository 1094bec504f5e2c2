// The module's memory: what grows, what fails and what is forgotten.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { Tokenizer, compile, moduleMemory } from "../dist/index.js";
import { loadNative } from "../dist/module.js";
import { bytes, smallJson } from "./small.mjs";

const PAGE = 1 << 16;
const native = await loadNative();

/** Run with another version of a member of the module. */
async function replacing(name, value, work) {
  const [own, before] = [Object.hasOwn(native, name), native[name]];
  native[name] = value;
  try {
    return await work();
  } finally {
    delete native[name];
    if (own) native[name] = before;
  }
}

// A model whose compiler needs the core's normalizer.
function accented() {
  const data = JSON.parse(smallJson());
  const accent = { ...data.added_tokens[0], content: "x\u0301", normalized: true, id: 267 };
  data.added_tokens.push(accent);
  data.normalizer = { type: "NFKC" };
  return compile(bytes(JSON.stringify(data)));
}

// What a program sees of a tokenizer.
async function answers() {
  const mill = await compile(bytes(smallJson()));
  const tokenizer = await Tokenizer.load(mill);
  const text = "hello \u{1f600} world</s> ".repeat(3);
  const ids = tokenizer.encode(text);
  const stream = tokenizer.decodeStream();
  const found = [
    [...(await accented())], [...mill], [...ids], tokenizer.encodeWithOffsets(text), tokenizer.count(text),
    tokenizer.decode(ids), Array.from(ids, (id) => stream.push(id)).join("") + stream.finish(),
    [...tokenizer.specialTokens], tokenizer.idToToken(3), tokenizer.tokenToId("hello"),
    [...tokenizer.idToBytes(3)], tokenizer.target, tokenizer.vocabSize,
    [...tokenizer.encode("\u4e00".repeat(400_000))].length,
  ];
  tokenizer.free();
  return found;
}

test("memory that grows in every call moves nothing that is in use", async () => {
  const { call } = native;
  const growing = new Proxy({}, {
    get: (_, name) => typeof call[name] !== "function" ? call[name] : (...numbers) => {
      const result = call[name](...numbers);
      call.memory.grow(1);
      return result;
    },
  });
  const expected = await answers();
  const before = moduleMemory();
  assert.deepEqual(await replacing("call", growing, answers), expected);
  assert.ok(native.call.memory.buffer.byteLength > before + 60 * PAGE);
});

test("what fails in JavaScript after a call gives back what the call made", async () => {
  const tokenizer = await Tokenizer.load(bytes(smallJson()));
  const fail = () => {
    throw new RangeError("Array buffer allocation failed");
  };
  const text = "a".repeat(300_000);
  const round = () =>
    replacing("numbers", fail, () => assert.throws(() => tokenizer.encodeWithOffsets(text), RangeError));
  for (let i = 0; i < 5; i++) await round(); // the module takes what the call needs, at most
  const before = moduleMemory();
  for (let i = 0; i < 50; i++) await round();
  assert.equal(moduleMemory(), before);
  tokenizer.free();
});

test("the memory for a long text is given back when the call fails", async () => {
  const tokenizer = await Tokenizer.load(bytes(smallJson()));
  const text = "a</s>".repeat(1 << 20);
  const live = new Set();
  const { call } = native;
  const counting = {
    ...call,
    tokenmill_take: (size) => {
      const at = call.tokenmill_take(size);
      live.add(at);
      return at;
    },
    tokenmill_give_back: (at) => {
      live.delete(at);
      call.tokenmill_give_back(at);
    },
  };
  for (const name of ["encode", "encodeWithOffsets", "count"]) {
    tokenizer[name]("", { specialInText: "raise" }); // the shelf keeps these options
    await replacing("call", counting, () =>
      assert.throws(() => tokenizer[name](text, { specialInText: "raise" }), { code: "SpecialInText" }));
    assert.deepEqual([...live], [], name);
  }
  tokenizer.free();
});

test("more than the module can address is out of memory, not a few bytes", () => {
  for (const size of [2 ** 32 - 1, 2 ** 32, 2 ** 32 + 64, 2 ** 40]) {
    assert.throws(() => native.take(size), { code: "OutOfMemory", message: `no room for ${size} bytes` });
  }
});

test("a failure to make what tokenizers share frees nothing twice", async () => {
  const mill = await compile(bytes(smallJson()));
  const fresh = await import("../dist/module.js?fresh");
  assert.notEqual(await fresh.loadNative(), native);
  const live = new Set();
  const twice = [];
  const take = (size) => {
    const at = Object.getPrototypeOf(native).take.call(native, size);
    live.add(at);
    return at;
  };
  const giveBack = (at) => {
    if (!live.delete(at)) twice.push(at);
    native.call.tokenmill_give_back(at);
  };
  await replacing("take", take, () => replacing("giveBack", giveBack, async () => {
    (await Tokenizer.load(mill)).free();
    await assert.rejects(Tokenizer.load(mill.subarray(0, 5000)), { code: "CorruptModel" });
    await assert.rejects(Tokenizer.load(bytes("{}")), { code: "LoadError" });
    assert.deepEqual([[...live], twice], [[], []]);
  }));
});

test("tokenizers and streams that are forgotten are freed by the garbage collector", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc");
  const mill = await compile(bytes(smallJson()));
  const use = async () => {
    for (let i = 0; i < 8; i++) (await Tokenizer.load(mill)).decodeStream().push(1);
  };
  const rest = async () => {
    for (let i = 0; i < 3; i++) {
      collect();
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  let freed = 0;
  const { call } = native;
  const counting = { ...call, tokenmill_free: (at) => (freed++, call.tokenmill_free(at)) };
  await replacing("call", counting, async () => {
    await use();
    await rest();
  });
  assert.ok(freed >= 7, `${freed} of 8 are freed`);
});
