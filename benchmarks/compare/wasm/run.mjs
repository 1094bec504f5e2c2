// Megabytes a second of npm packages that tokenize, in one run: rounds in which every library takes
// its turn, each time in a fresh process; answers are compared before any time is printed.
//
//     node benchmarks/compare/wasm/run.mjs FILES CORPORA [--rounds 5] [--megabytes 6]
//
// FILES holds <encoding>.mill and folders of tokenizers, CORPORA en_prose.txt and zh.txt.
import { spawnSync } from "node:child_process";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { LIBRARIES } from "./libraries.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const option = (name, fallback) => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? fallback : Number(process.argv[at + 1]);
};
const [files, corpora] = process.argv.slice(2).map((path) => resolve(path));
const rounds = option("rounds", 5);
const megabytes = option("megabytes", 6);
const TEXTS = { English: "en_prose.txt", Chinese: "zh.txt" };
const environment = {
  ...process.env,
  TOKENMILL_DIST: process.env.TOKENMILL_DIST ?? resolve(here, "../../../wasm/dist"),
};

function measured(what, library, encoding, text) {
  const words = [what, library, encoding, files, join(corpora, TEXTS[text]), String(megabytes)];
  const done = spawnSync(process.execPath, [join(here, "measure.mjs"), ...words], {
    env: environment, encoding: "utf8",
  });
  if (done.status !== 0) throw new Error(`${words.join(" ")}: ${done.stderr}`);
  return JSON.parse(done.stdout.trim().split("\n").at(-1));
}

const median = (numbers) => [...numbers].sort((a, b) => a - b)[numbers.length >> 1];

for (const encoding of ["o200k", "cl100k", "llama3"]) {
  for (const text of Object.keys(TEXTS)) {
    const answers = new Map();
    for (const library of Object.keys(LIBRARIES)) {
      const answer = measured("answers", library, encoding, text);
      if (answer !== null) answers.set(library, answer);
    }
    const times = new Map([...answers.keys()].map((library) => [library, []]));
    for (let round = 0; round < rounds; round++) {
      for (const [library, list] of times) list.push(measured("time", library, encoding, text));
    }
    report(`${encoding}, ${text}`, answers, times);
  }
}

function report(title, answers, times) {
  const own = answers.get("tokenmill");
  const ownSpeed = speedOf(times.get("tokenmill"));
  console.log(`\n${title}: ${own.count} ids`);
  for (const [library, list] of times) {
    const { hash, count } = answers.get(library);
    const same = hash === own.hash && count === own.count ? "same ids" : `OTHER IDS (${count})`;
    const speed = speedOf(list);
    const ratio = library === "tokenmill" ? "" : `  x${(ownSpeed / speed).toFixed(1)}`;
    console.log(`  ${library.padEnd(28)} ${speed.toFixed(2).padStart(8)} MB/s  ${same}${ratio}`);
  }
}

// By CPU time of the process, its compiler and garbage collector included: other programs do not
// count.
function speedOf(results) {
  return median(results.map((one) => one.bytes / one.cpu / 1e6));
}
