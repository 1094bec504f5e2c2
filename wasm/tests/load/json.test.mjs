import assert from "node:assert/strict";
import { test } from "node:test";

import { parseJson } from "../../dist/load/fields.js";
import { JsonFloat, parse } from "../../dist/load/json.js";

const bytes = (text) => new TextEncoder().encode(text);

test("keys keep their order, also those that look like numbers", () => {
  assert.deepEqual([...parse('{"b": 0, "2": 1, "1": 2, "__proto__": 3}').keys()], [
    "b",
    "2",
    "1",
    "__proto__",
  ]);
});

test("the last of equal keys wins, at the place of the first", () => {
  assert.deepEqual([...parse('{"a": 1, "b": 2, "a": 3}')], [
    ["a", 3],
    ["b", 2],
  ]);
});

test("whole numbers are exact beyond 2^53", () => {
  assert.equal(parse("9007199254740991"), 9007199254740991);
  assert.equal(parse("9007199254740993"), 9007199254740993n);
  assert.ok(Object.is(parse("-0"), -0));
});

test("a number with a fraction or an exponent is not a whole number", () => {
  for (const literal of ["1.0", "1e0", "-0.0", "1E+2"]) {
    const value = parse(literal);
    assert.ok(value instanceof JsonFloat);
    assert.equal(value.literal, literal);
  }
});

test("escapes are read, and pairs of them are one character", () => {
  assert.equal(parse('"\\u00e9\\n\\/\\ud83d\\ude00"'), "\u00e9\n/\u{1f600}");
});

test("a lone surrogate is refused, wherever it is", () => {
  for (const text of ['{"a": "\\ud800"}', '{"\\ude00": 1}', '{"a": [["\\ude00\\ud83d"]]}']) {
    assert.throws(() => parseJson(bytes(text)), /got a lone surrogate '\\u/);
  }
});

test("a mistake is named with its line and column in characters", () => {
  assert.throws(() => parse('{\n "\u{1f600}": 1,\n "\u{1f600}" 2}'), {
    code: "LoadError",
    line: 3,
    problem: "expected JSON, got Expecting ':' delimiter at column 6",
  });
});

test("bytes that are no UTF-8 are named with their place", () => {
  for (const bad of [[0xff], [0xed, 0xa0, 0x80], [0xc0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2]]) {
    const text = Uint8Array.of(...bytes('{"a": "\u00e9'), ...bad);
    assert.throws(() => parseJson(text), { code: "LoadError", offset: 9 });
  }
});

test("deep nesting is an error and not an overflow of the stack", () => {
  assert.throws(() => parse("[".repeat(1_000_000)), /nested too deeply/);
  assert.throws(() => parse('{"a":'.repeat(1_000_000)), /nested too deeply/);
});

test("a text of many escapes takes linear time", () => {
  const text = `"${"\\u00e9".repeat(1_000_000)}"`;
  assert.equal(parse(text).length, 1_000_000);
});

test("a mistake at the end of a long line is found in linear time", () => {
  const text = `[${"0,".repeat(5_000_000)}`;
  assert.throws(() => parse(text), { line: 1, problem: /Expecting value at column 10000002$/ });
});
