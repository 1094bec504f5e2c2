import assert from "node:assert/strict";
import { test } from "node:test";

import { TokenmillError } from "../dist/index.js";

test("an error carries its code and message", () => {
  const error = new TokenmillError("CorruptModel", "the file is damaged");
  assert.equal(error.code, "CorruptModel");
  assert.equal(error.message, "the file is damaged");
  assert.ok(error instanceof Error);
});
