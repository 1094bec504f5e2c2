import assert from "node:assert/strict";
import { test } from "node:test";

import { definitionOf } from "../../dist/compile/index.js";
import { vanishes } from "../../dist/compile/vanishing.js";
import { normalizerStep } from "../../dist/load/spec.js";

const bytes = (data) => new TextEncoder().encode(JSON.stringify(data));
const WORDS = { type: "WordLevel", vocab: { "[UNK]": 0, a: 1, "2": 2 }, unk_token: "[UNK]" };

function tokenizer(sections = {}) {
  return bytes({ model: WORDS, pre_tokenizer: { type: "WhitespaceSplit" }, ...sections });
}

test("a small tokenizer becomes a definition", () => {
  const definition = definitionOf(tokenizer(), "small");
  assert.equal(definition.vocab.kind, "wordlevel");
  assert.equal(new TextDecoder().decode(definition.vocab.tokenBytes), "[UNK]a2");
  assert.deepEqual([...definition.vocab.tokenOffsets], [0, 5, 6, 7]);
  assert.equal(definition.vocab.unkId, 0);
  assert.equal(definition.stages.length, 1);
  const [head, added] = new TextDecoder().decode(definition.meta).split("\n");
  assert.equal(JSON.parse(head).name, "small");
  assert.equal(added, "{}");
});

test("what the engine cannot do exactly is an error with its reasons and what to do", () => {
  const normalizer = { type: "Unheard" };
  assert.throws(
    () => definitionOf(tokenizer({ normalizer }), "strange"),
    (error) => {
      assert.equal(error.code, "UnsupportedTokenizer");
      assert.deepEqual(error.reasons, ["normalizer Unheard"]);
      assert.match(error.message, /^strange: the native engine cannot run it: normalizer Unheard; /);
      assert.match(error.message, /this package has no other engine.*Python package/);
      return true;
    },
  );
});

test("a pattern that is no automaton is refused, and a wrong one is an error with its place", () => {
  const split = (Regex) =>
    tokenizer({ pre_tokenizer: { type: "Split", pattern: { Regex }, behavior: "Isolated" } });
  assert.throws(() => definitionOf(split("(a)\\1"), "x"), { code: "UnsupportedTokenizer" });
  assert.throws(() => definitionOf(split("\u{1f600}(a"), "x"), { code: "PatternError", offset: 3 });
});

test("another kind of file is an error that says what to do", () => {
  for (const text of ["", "IQ== 0\n", "[]", '{"config": {}}']) {
    assert.throws(() => definitionOf(new TextEncoder().encode(text), "x"), { code: "LoadError" });
  }
});

test("the packed file goes behind a NUL", () => {
  const source = tokenizer();
  const { meta } = definitionOf(source, "x", { pack: (file) => file.subarray(0, 3) });
  const place = meta.indexOf(0);
  assert.deepEqual([...meta.subarray(place + 1)], [...source.subarray(0, 3)]);
});

test("whether a token is normalized to nothing is proved or left open, never guessed", () => {
  const gone = normalizerStep("replace", { a: "ab", b: "" });
  const strip = normalizerStep("strip", { left: true, right: true });
  assert.equal(vanishes("ab", [normalizerStep("nfkc")]), false);
  assert.equal(vanishes("abab", [gone]), true);
  assert.equal(vanishes("aabb", [gone]), false);
  assert.equal(vanishes("  ", [strip]), true);
  assert.equal(vanishes(" \u2581 ", [strip]), false);
  assert.equal(vanishes(" \u2581 ", [normalizerStep("nmt"), strip]), null);
  assert.equal(vanishes("\u3000", [strip]), null);
  assert.equal(vanishes("\u0301", [normalizerStep("strip_accents")]), null);
});

test("the core is asked about a token that cannot be judged without it", () => {
  const token = { id: 3, content: "\u0301", single_word: false, lstrip: false, rstrip: false };
  const source = tokenizer({
    normalizer: { type: "StripAccents" },
    added_tokens: [{ ...token, normalized: true, special: false }],
  });
  assert.throws(() => definitionOf(source, "x"), /whose normalized form is not known here/);
  const asked = [];
  const normalize = (program, text) => {
    asked.push([...program, ...text]);
    return new Uint8Array(0);
  };
  assert.throws(() => definitionOf(source, "x", { normalize }), /which is normalized to nothing/);
  assert.deepEqual(asked, [[6, 0xcc, 0x81]]);
});

test("an added token with a large id or a forged vocabulary does not claim memory", () => {
  const model = { ...WORDS, vocab: { "[UNK]": 0, a: 4_000_000_000 } };
  assert.throws(() => definitionOf(tokenizer({ model }), "x"), /ids up to 4000000000 for 2 tokens/);
});

/** Words of letters, each one letter longer than another: a vocabulary and its merges. */
function largeBpe(size) {
  const vocab = Object.fromEntries(Array.from("abcdefghij", (letter, id) => [letter, id]));
  const words = Object.keys(vocab);
  const merges = [];
  for (let at = 0; words.length < size; at += 1) {
    for (const letter of "abcdefghij") {
      merges.push([words[at], letter]);
      vocab[words[at] + letter] = words.length;
      words.push(words[at] + letter);
    }
  }
  const added = { single_word: false, lstrip: false, rstrip: false, normalized: false };
  const added_tokens = Array.from({ length: size / 10 }, (_, i) => ({
    ...added,
    id: size + i,
    content: `<${i}>`,
    special: true,
  }));
  const pre_tokenizer = { type: "WhitespaceSplit" };
  return bytes({ model: { type: "BPE", vocab, merges }, pre_tokenizer, added_tokens });
}

test("four times the tokens take about four times the time", () => {
  const seconds = (source) => {
    const begin = process.cpuUsage();
    definitionOf(source, "large");
    const { user } = process.cpuUsage(begin);
    return user;
  };
  const best = (source) => Math.min(...Array.from({ length: 3 }, () => seconds(source)));
  const [small, large] = [largeBpe(15_000), largeBpe(60_000)];
  best(small); // so that both run compiled code
  assert.ok(best(large) < 10 * best(small), "quadratic would be 16 times");
});
