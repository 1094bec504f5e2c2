import assert from "node:assert/strict";
import { test } from "node:test";

import { Blake2b } from "../../dist/load/blake2b.js";
import { JsonFloat } from "../../dist/load/json.js";
import { repr, reprBytes, reprText, reprTuple, sorted } from "../../dist/load/python.js";

test("text is written as Python's repr() writes it", () => {
  assert.equal(reprText("it's"), `"it's"`);
  assert.equal(reprText(`'"`), `'\\'"'`);
  assert.equal(reprText("\\\t\n\r\x00\x7f\x85\xa0\xad"), `'\\\\\\t\\n\\r\\x00\\x7f\\x85\\xa0\\xad'`);
  assert.equal(reprText("\u00e9\u2581\u{1f600}"), "'\u00e9\u2581\u{1f600}'");
  assert.equal(reprText("\u200b\ue000\u{e0001}"), "'\\u200b\\ue000\\U000e0001'");
});

test("numbers are written as Python's repr() writes them", () => {
  const cases = {
    "1e16": "1e+16",
    "123456789012345680.0": "1.2345678901234568e+17",
    "9999999999999998.0": "9999999999999998.0",
    "0.0001": "0.0001",
    "0.00001": "1e-05",
    "-1.5e-7": "-1.5e-07",
    "1e400": "inf",
    "-0.0": "-0.0",
    "100.0": "100.0",
    NaN: "nan",
  };
  for (const [literal, written] of Object.entries(cases)) {
    assert.equal(repr(new JsonFloat(literal)), written);
  }
  assert.equal(repr(1n << 70n), "1180591620717411303424");
});

test("other values are written as Python's repr() writes them", () => {
  assert.equal(repr([null, true, new Map([["a", [1]]])]), "[None, True, {'a': [1]}]");
  assert.equal(reprBytes("a'\xff\n"), `b"a'\\xff\\n"`);
  assert.equal(reprTuple(["1"]), "(1,)");
});

test("texts are sorted by code points", () => {
  assert.deepEqual(sorted(["\u{1f600}", "\uff5c", "a", ""]), ["", "a", "\uff5c", "\u{1f600}"]);
});

test("BLAKE2b gives the digests of RFC 7693 and of hashlib", () => {
  const digest = (size, bytes) => {
    const hash = new Blake2b(size);
    hash.update(bytes);
    return hash.hexDigest();
  };
  assert.equal(
    digest(64, new TextEncoder().encode("abc")),
    "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1" +
      "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923",
  );
  const lengths = {
    0: "3345524abf6bbe1809449224b5972c41790b6cf2",
    1: "082ad992fb76871c33a1b9993a082952feaca5e6",
    127: "535975c8d8c5dd9ed14a9204757b06783dd7b1fb",
    128: "e6992372ab022447b34f6d6032fbab707a11adef",
    129: "a7bf25f1599102ab631e3052e8303a2c097d1a7e",
    1000: "fc9a2426db78846a07219bc181a52bae9a62eacc",
  };
  for (const [length, expected] of Object.entries(lengths)) {
    const bytes = Uint8Array.from({ length: Number(length) }, (_, i) => i % 251);
    assert.equal(digest(20, bytes), expected);
  }
});

test("BLAKE2b does not depend on how the bytes are cut", () => {
  const bytes = Uint8Array.from({ length: 700 }, (_, i) => (i * 7) % 256);
  const whole = new Blake2b(20);
  whole.update(bytes);
  const cut = new Blake2b(20);
  for (let at = 0, size = 0; at < bytes.length; at += size, size += 1) {
    cut.update(bytes.subarray(at, at + size));
  }
  assert.equal(cut.hexDigest(), whole.hexDigest());
});
