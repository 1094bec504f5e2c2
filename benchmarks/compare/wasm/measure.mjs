// One library, one encoding, one text, in a process of its own.
//
//     node measure.mjs answers|time LIBRARY ENCODING FILES CORPUS MEGABYTES
//
// `answers`: a fingerprint of the ids of all documents. `time`: one pass over documents that the
// process has not seen, after it has encoded others until its code is compiled.
import { readFileSync } from "node:fs";

import { LIBRARIES } from "./libraries.mjs";

const [, , what, library, encoding, files, corpus, megabytes] = process.argv;
const DOCUMENT = 3000; // characters
const WARM_PASSES = 5;
const MOST_SECONDS = 3; // of a warm-up, and of a measurement

const encode = await LIBRARIES[library](encoding, files);
if (encode === null) {
  console.log("null");
  process.exit(0);
}
const documents = documentsOf(readFileSync(corpus, "utf8"));
const half = documents.length >> 1;
console.log(JSON.stringify(what === "answers" ? answers() : timed()));

function documentsOf(text) {
  const found = [];
  let size = 0;
  for (let at = 0; at < text.length && size < megabytes * 1e6; ) {
    const end = text.indexOf("\n", at + DOCUMENT) + 1 || text.length;
    found.push(text.slice(at, end));
    size += Buffer.byteLength(found.at(-1));
    at = end;
  }
  return found;
}

// FNV-1a over all ids.
function answers() {
  let hash = 0x811c9dc5;
  let count = 0;
  for (const document of documents) {
    const ids = encode(document);
    count += ids.length;
    for (const id of ids) hash = Math.imul(hash ^ id, 0x01000193) >>> 0;
  }
  return { count, hash };
}

// A library that is too slow for the whole text is timed on the first part of it.
function timed() {
  const start = performance.now();
  for (let pass = 0; pass < WARM_PASSES; pass++) run(documents.slice(0, half), start);
  const before = process.cpuUsage();
  const begin = performance.now();
  const bytes = run(documents.slice(half), begin);
  const wall = (performance.now() - begin) / 1e3;
  const used = process.cpuUsage(before);
  return { bytes, cpu: (used.user + used.system) / 1e6, wall };
}

function run(some, begin) {
  let done = 0;
  for (; done < some.length && performance.now() - begin < MOST_SECONDS * 1e3; done++) {
    encode(some[done]);
  }
  return some.slice(0, done).reduce((sum, document) => sum + Buffer.byteLength(document), 0);
}
