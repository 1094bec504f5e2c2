// The package and the demo page in chromium: the same answers as in Node, and a page that works.
import assert from "node:assert/strict";
import { createReadStream, existsSync, mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { extname, join, normalize, resolve } from "node:path";
import { after, before, test } from "node:test";

import { bytes, smallJson } from "./small.mjs";
import { Tokenizer } from "../dist/index.js";

const root = resolve(import.meta.dirname ?? new URL(".", import.meta.url).pathname, "..");
const expected = process.env.TOKENMILL_EXPECTED;
const pictures = process.env.TOKENMILL_PICTURES; // a folder for screenshots
const chromium = process.env.CHROMIUM ?? "/usr/bin/chromium";
const hasDemo = existsSync(join(root, "demo", "builtin.mill"));
const skip = !existsSync(chromium)
  ? "chromium is missing; hint: apt-get install chromium, or set CHROMIUM"
  : !hasDemo && "the page has no tokenizer; hint: make wasm";
const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
];
const TYPES = {
  ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css",
  ".wasm": "application/wasm", ".json": "application/json",
};

let server;
let browser;
let address;

before(async () => {
  if (skip) return;
  server = createServer(answer);
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  address = `http://127.0.0.1:${server.address().port}`;
  const { chromium: driver } = await import("playwright-core");
  browser = await driver.launch({ executablePath: chromium, headless: true, args: FLAGS });
});
after(async () => {
  await browser?.close();
  server?.close();
});

// The package, and the expected answers under /expected/.
function answer(request, response) {
  const path = normalize(decodeURIComponent(new URL(request.url, "http://x").pathname));
  const isExpected = path.startsWith("/expected/");
  const file = isExpected ? join(expected ?? "/none", path.slice(10)) : join(root, path);
  if (!existsSync(file) || !statSync(file).isFile()) {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" });
  createReadStream(file).pipe(response);
}

async function newPage(options = {}) {
  const page = await browser.newPage(options);
  const problems = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  return { page, problems };
}

async function demo(options) {
  const { page, problems } = await newPage(options);
  await page.goto(`${address}/demo/index.html`);
  await page.waitForFunction(() => document.getElementById("tokens").textContent !== "0");
  return { page, problems };
}

const idsOf = (page) => page.locator("#ids").textContent();

test("chromium gives the answers of Python", { skip: skip || (!expected && "set TOKENMILL_EXPECTED") }, async () => {
  const { page, problems } = await newPage();
  await page.goto(`${address}/demo/index.html`);
  const names = JSON.parse(readFileSync(join(expected, "names.json"), "utf8"));
  for (const name of names) {
    const suffixes = existsSync(join(expected, `${name}.json`)) ? [".mill", ".json"] : [".mill"];
    for (const suffix of suffixes) {
      const done = await page.evaluate(compareInPage, { name, suffix });
      assert.ok(done > 10, `${name}${suffix}`);
    }
  }
  assert.deepEqual(problems, []);
  await page.close();
});

// Runs in the page; returns the number of comparisons, or throws at the first difference.
async function compareInPage({ name, suffix }) {
  const { Tokenizer } = await import("/dist/index.js");
  const { compareAll } = await import("/tests/compare.mjs");
  const get = async (path) => (await fetch(`/expected/${path}`)).arrayBuffer();
  const json = async (path) => JSON.parse(new TextDecoder("utf-8", { ignoreBOM: true }).decode(await get(path)));
  let done = 0;
  const equal = (got, wanted, message) => {
    done++;
    if (got !== wanted) throw new Error(`${name}${suffix}: ${message}: ${got} is not ${wanted}`);
  };
  const tokenizer = await Tokenizer.load(`/expected/${name}${suffix}`);
  const numbers = new Uint32Array(await get(`${name}.numbers`));
  compareAll(tokenizer, await json("texts.json"), await json(`${name}.answers.json`), numbers, { equal });
  tokenizer.free();
  return done;
}

test("the page shows the ids of what is typed", { skip }, async () => {
  const { page, problems } = await demo({ viewport: { width: 1280, height: 900 } });
  const tokenizer = await Tokenizer.load(join(root, "demo", "builtin.mill"));
  for (const text of ["Hello, world!", "", "\u4f60\u597d \u{1f469}\u200d\u{1f680}", "a\n\n  b\tc"]) {
    await page.locator("#text").fill(text);
    const ids = [...tokenizer.encode(text)].join(" ");
    await page.waitForFunction((wanted) => document.getElementById("ids").textContent === wanted, ids);
    assert.equal(await page.locator("#tokens").textContent(), String(tokenizer.count(text)));
    assert.equal(await page.locator("#bytes").textContent(), String(bytes(text).length));
    assert.equal(await page.locator("#characters").textContent(), String([...text].length));
    const shown = await page.locator("#colours").textContent();
    assert.equal(shown.replaceAll("\u21b5", ""), text);
  }
  tokenizer.free();
  assert.deepEqual(problems, []);
  await page.close();
});

test("the page opens files by picker and by drop, and says what is wrong with one", { skip }, async () => {
  const { page, problems } = await demo();
  const folder = mkdtempSync(join(tmpdir(), "tokenmill-"));
  const good = join(folder, "small.json");
  const bad = join(folder, "bad.json");
  writeFileSync(good, smallJson());
  writeFileSync(bad, "{");
  await page.locator("#text").fill("hello world");
  await page.locator("#file").setInputFiles(good);
  await page.waitForFunction(() => document.getElementById("ids").textContent === "259 264");
  assert.match(await page.locator("#facts").textContent(), /^267 ids, loaded in \d+ ms$/);
  await page.locator("#special").check();
  await page.waitForFunction(() => document.getElementById("ids").textContent === "265 259 264");
  await page.locator("#file").setInputFiles(bad);
  await page.locator("#problem").waitFor();
  assert.match(await page.locator("#problem").textContent(), /^bad\.json: /);
  assert.equal(await idsOf(page), "265 259 264");
  await page.evaluate((text) => {
    const data = new DataTransfer();
    data.items.add(new File([text], "dropped.json"));
    document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true }));
  }, smallJson());
  await page.waitForFunction(() => document.getElementById("name").textContent === "dropped.json");
  assert.deepEqual(problems, []);
  await page.close();
});

for (const colorScheme of ["light", "dark"]) {
  for (const [shape, width] of [["wide", 1280], ["narrow", 360]]) {
    test(`the page fits: ${colorScheme}, ${shape}`, { skip }, async () => {
      const { page, problems } = await demo({ viewport: { width, height: 900 }, colorScheme });
      const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(over <= 0, `${over} pixels too wide`);
      const worst = await page.evaluate(lowestContrast);
      assert.ok(worst >= 4.5, `contrast ${worst}`);
      const unnamed = await page.evaluate(fieldsWithoutName);
      assert.deepEqual(unnamed, []);
      if (pictures) {
        await page.screenshot({ path: join(pictures, `${colorScheme}-${shape}.png`), fullPage: true });
      }
      assert.deepEqual(problems, []);
      await page.close();
    });
  }
}

// The lowest contrast between a token, a count or a paragraph and what is behind it.
function lowestContrast() {
  const channel = (value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  };
  const numbers = (color) => color.match(/[\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const color = numbers(getComputedStyle(one).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const contrast = (element) => {
    const pair = [numbers(getComputedStyle(element).color), behind(element)].map(luminance);
    return (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
  };
  return Math.min(...[...document.querySelectorAll(".token, p, dt, dd, .ids, .button, h1, h2")].map(contrast));
}

function fieldsWithoutName() {
  const fields = [...document.querySelectorAll("input, textarea")];
  return fields.filter((field) => field.labels.length === 0).map((field) => field.id);
}
