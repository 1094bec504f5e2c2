// One tokenizer against the answers that Python wrote; runs in Node and in a page.

/** Compare everything. `assert` has equal(got, expected, message). */
export function compareAll(tokenizer, texts, answers, numbers, assert) {
  let at = 0;
  const take = (size) => numbers.subarray(at, (at += size));
  assert.equal(tokenizer.vocabSize, answers.vocabSize);
  assert.equal(JSON.stringify([...tokenizer.specialTokens]), JSON.stringify(Object.entries(answers.special)));
  for (const [id, name] of Object.entries(answers.names)) {
    assert.equal(tokenizer.idToToken(Number(id)), name);
    const found = tokenizer.tokenToId(name);
    assert.equal(found === null || tokenizer.idToToken(found) === name, true, name);
  }
  for (const [key, wanted] of Object.entries(answers.texts)) {
    compareText(tokenizer, key, texts[key], wanted, wanted.sizes.map(take), assert);
  }
}

function compareText(tokenizer, key, text, wanted, [ids, places, special], assert) {
  const same = (got, expected, what) =>
    assert.equal(firstDifference(got, expected), -1, `${key}: ${what}`);
  same(tokenizer.encode(text), ids, "ids");
  same(tokenizer.encode(text, { addSpecialTokens: true }), special, "ids with special tokens");
  assert.equal(tokenizer.count(text), ids.length, `${key}: count`);
  const encoding = tokenizer.encodeWithOffsets(text);
  same(encoding.ids, ids, "ids with offsets");
  same(encoding.offsets, places, "offsets");
  assert.equal(tokenizer.decode(special), wanted.decoded, `${key}: decoded`);
  assert.equal(tokenizer.decode(special, { skipSpecialTokens: true }), wanted.skipped, `${key}: skipped`);
  assert.equal(tokenizer.decode(ids, { cleanUp: true }), wanted.cleaned, `${key}: cleaned`);
  const stream = tokenizer.decodeStream();
  const pieces = wanted.streamed.map((id) => stream.push(id));
  assert.equal(pieces.join("") + stream.finish(), wanted.streamedText, `${key}: streamed`);
  stream.free();
}

function firstDifference(got, expected) {
  if (got.length !== expected.length) return Math.min(got.length, expected.length);
  for (let i = 0; i < got.length; i++) if (got[i] !== expected[i]) return i;
  return -1;
}
