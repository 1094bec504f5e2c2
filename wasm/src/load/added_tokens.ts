// The "added_tokens" section of a tokenizer.json -> AddedToken, with the ids the library uses; twin
// of src/tokenmill/_load/added_tokens.py.
import { expect, member } from "./fields.js";
import type { JsonInt, JsonValue } from "./json.js";
import { reprText } from "./python.js";
import type { AddedToken, NormalizerKind, NormalizerStep } from "./spec.js";
import type { Vocab } from "./vocabulary.js";

const ASCII = /^[\x00-\x7f]*$/;
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;
// Patterns that are simple over ASCII text; the first is CLIP's.
const RUNS = new Map<string, RegExp>([
  ["\\s+", /[\t\n\v\f\r ]+/],
  ["\\s", /[\t\n\v\f\r ]/],
]);
const ASCII_STAYS = new Set<NormalizerKind>([
  "nfc",
  "nfd",
  "nfkc",
  "nfkd",
  "strip_accents",
  "strip_nonspacing",
  "space_ideographs",
]);
const PRINTABLE_STAYS = new Set<NormalizerKind>(["clean", "nmt"]);

/**
 * Return the tokens by id, and notes about wrong ids in the file.
 *
 * The library ignores the ids in the file: a token of the model's vocabulary keeps its id there,
 * any other gets the next number, counted from `nEntries`, the number of entries of the vocabulary
 * (not from its largest id). When two tokens share a content or an id, the later one wins, but a
 * content that was special once stays special.
 */
export function readAddedTokens(
  section: JsonValue,
  vocab: Vocab,
  nEntries: number,
): [readonly AddedToken[], string[]] {
  const ids = new Map<string, JsonInt>();
  const tokens = new Map<JsonInt, AddedToken>();
  const special = new Set<string>();
  const notes: string[] = [];
  let nextId = nEntries;
  const items = section === null ? [] : expect(section, "list", "added_tokens");
  for (const [index, item] of items.entries()) {
    const token = read(item, `added_tokens[${index}]`);
    if (token.content === "") continue;
    let id = ids.get(token.content);
    if (id === undefined) {
      id = vocab.get(token.content) ?? nextId;
      nextId += vocab.has(token.content) ? 0 : 1;
      ids.set(token.content, id);
    }
    if (token.special) special.add(token.content);
    if (id !== token.id) {
      const place = `added token ${reprText(token.content)} has id ${token.id} in the file`;
      notes.push(`${place}, but the library uses ${id}`);
    }
    tokens.set(id, { ...token, id, special: special.has(token.content) });
  }
  const byId = Array.from(tokens.values()).sort((a, b) => (a.id < b.id ? -1 : 1));
  return [byId, notes];
}

/**
 * Return what decoding writes for each added token, and reasons where that is unknown.
 *
 * The library writes the normalized content of a token that is looked for in normalized text.
 */
export function writtenContents(
  tokens: readonly AddedToken[],
  normalizer: readonly NormalizerStep[],
): [ReadonlyMap<JsonInt, string>, string[]] {
  const written = new Map<JsonInt, string>();
  const reasons: string[] = [];
  for (const token of tokens) {
    const content = token.normalized ? normalized(token.content, normalizer) : token.content;
    if (content === null) {
      reasons.push(`added token ${reprText(token.content)} is decoded in its normalized form`);
    }
    written.set(token.id, content ?? token.content);
  }
  return [written, reasons];
}

/** Normalize ASCII text; null if this needs the tables of Unicode. */
export function normalized(text: string, normalizer: readonly NormalizerStep[]): string | null {
  let content: string | null = text;
  for (const step of normalizer) {
    content = afterStep(content, step);
    if (content === null) return null;
  }
  return content;
}

function afterStep(content: string, step: NormalizerStep): string | null {
  if (step.kind === "replace") return content.split(step.a).join(step.b);
  if (step.kind === "prepend") return content ? step.a + content : content;
  if (!ASCII.test(content)) return null;
  if (step.kind === "lowercase") return content.toLowerCase();
  const run = step.kind === "replace_regex" ? RUNS.get(step.a) : undefined;
  if (run !== undefined) return content.split(run).join(step.b);
  if (step.kind === "strip") {
    const begun = step.left ? content.replace(/^[\t\n\v\f\r ]+/, "") : content;
    return step.right ? begun.replace(/[\t\n\v\f\r ]+$/, "") : begun;
  }
  const stays =
    ASCII_STAYS.has(step.kind) ||
    (PRINTABLE_STAYS.has(step.kind) && PRINTABLE_ASCII.test(content));
  return stays ? content : null;
}

function read(item: JsonValue, where: string): AddedToken {
  const fields = expect(item, "dict", where);
  return {
    content: member(fields, "content", "str", where),
    id: member(fields, "id", "int", where),
    special: member(fields, "special", "bool", where),
    normalized: member(fields, "normalized", "bool", where),
    lstrip: member(fields, "lstrip", "bool", where),
    rstrip: member(fields, "rstrip", "bool", where),
    singleWord: member(fields, "single_word", "bool", where),
  };
}
