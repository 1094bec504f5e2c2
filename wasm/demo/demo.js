// The page: a tokenizer, a text, and what the one makes of the other.
import { Tokenizer } from "../dist/index.js";

const SHOWN = 4000; // tokens; more would slow the page down, not the tokenizer
const KINDS = 5;
const SAMPLE = `Tokens are pieces of words, and sometimes of characters.
Unwahrscheinlich, aber wahr: 3.14159, caf\u00e9, \u4f60\u597d\uff0c\u4e16\u754c, \u{1f469}\u200d\u{1f680}.
for (let i = 0; i < 10; i++) console.log(i ** 2);`;

const at = (id) => document.getElementById(id);
const counted = new Intl.NumberFormat("en");
let tokenizer;
let waiting = false;

at("text").value = SAMPLE;
at("text").addEventListener("input", showSoon);
at("special").addEventListener("change", showSoon);
at("file").addEventListener("change", () => openFile(at("file").files[0]));
listenForDrops(document.body);
await open(new URL("builtin.mill", import.meta.url), "Built-in tokenizer");

async function openFile(file) {
  if (file === undefined) return;
  await open(new Uint8Array(await file.arrayBuffer()), file.name);
  at("file").value = "";
}

async function open(source, name) {
  at("problem").hidden = true;
  const begin = performance.now();
  try {
    const loaded = await Tokenizer.load(source, { name });
    tokenizer?.free();
    tokenizer = loaded;
    const time = Math.round(performance.now() - begin);
    at("name").textContent = name;
    at("facts").textContent = `${counted.format(tokenizer.vocabSize)} ids, loaded in ${time} ms`;
  } catch (error) {
    at("problem").textContent = `${name}: ${error.message}`;
    at("problem").hidden = false;
    if (tokenizer === undefined) at("name").textContent = "No tokenizer";
  }
  show();
}

function listenForDrops(target) {
  const mark = (isOver) => at("drop").classList.toggle("over", isOver);
  target.addEventListener("dragover", (event) => {
    event.preventDefault();
    mark(true);
  });
  target.addEventListener("dragleave", (event) => mark(event.relatedTarget !== null));
  target.addEventListener("drop", (event) => {
    event.preventDefault();
    mark(false);
    openFile(event.dataTransfer.files[0]);
  });
}

// At most once for each picture of the screen.
function showSoon() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    show();
  });
}

function show() {
  if (tokenizer === undefined) return;
  const text = wellFormed(at("text").value);
  const begin = performance.now();
  const addSpecialTokens = at("special").checked;
  const { ids, offsets } = tokenizer.encodeWithOffsets(text, { addSpecialTokens });
  at("time").textContent = (performance.now() - begin).toFixed(1);
  at("tokens").textContent = counted.format(ids.length);
  at("characters").textContent = counted.format([...text].length);
  at("bytes").textContent = counted.format(new TextEncoder().encode(text).length);
  at("colours").replaceChildren(...coloured(text, ids, offsets));
  at("ids").textContent = ids.subarray(0, SHOWN).join(" ");
  at("more").hidden = ids.length <= SHOWN;
  at("more").textContent = `The first ${counted.format(SHOWN)} tokens are shown.`;
}

// A field of text may hold half of a pair while a person types.
function wellFormed(text) {
  return text.toWellFormed?.() ?? text.replace(/\p{Surrogate}/gu, "\ufffd");
}

// Tokens that share characters are one piece: they are bytes of the same character.
function coloured(text, ids, offsets) {
  const pieces = [];
  let shown = 0;
  for (let i = 0; i < Math.min(ids.length, SHOWN); ) {
    let next = i + 1;
    let end = offsets[2 * i + 1];
    while (next < ids.length && offsets[2 * next] < end && offsets[2 * next + 1] > shown) {
      end = Math.max(end, offsets[2 * next + 1]);
      next++;
    }
    const begin = offsets[2 * i];
    const isSpecial = begin === end;
    if (!isSpecial && begin > shown) pieces.push(text.slice(shown, begin));
    const label = isSpecial ? tokenizer.idToToken(ids[i]) : text.slice(begin, end);
    pieces.push(piece(label, ids.subarray(i, next), pieces.length % KINDS));
    shown = isSpecial ? shown : end;
    i = next;
  }
  return pieces;
}

function piece(label, ids, kind) {
  const span = document.createElement("span");
  span.className = `token kind-${kind}`;
  span.title = ids.length === 1 ? `id ${ids[0]}` : `ids ${ids.join(", ")}`;
  for (const part of label.split(/(\n)/)) {
    if (part === "\n") {
      const mark = document.createElement("span");
      mark.className = "mark";
      mark.textContent = "\u21b5";
      span.append(mark);
    }
    span.append(part);
  }
  return span;
}
