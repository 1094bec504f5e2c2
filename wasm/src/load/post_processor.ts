// The "post_processor" section of a tokenizer.json -> the tokens around one text and around two;
// twin of src/tokenmill/_load/post_processor.py.
import { LoadError } from "./errors.js";
import { expect, isInt, member, shown, typeOf } from "./fields.js";
import type { JsonInt, JsonObject, JsonValue } from "./json.js";
import { reprText } from "./python.js";
import { templatePart } from "./spec.js";
import type { TemplatePart } from "./spec.js";

type Parts = readonly TemplatePart[];

const MAX_U32 = 0xffff_ffff;
const A = templatePart("A");
const B = templatePart("B", [], 1, 1);

/** How one text and two are framed; `reasons`: why ids in front and behind cannot express it. */
export interface PostProcessor {
  readonly single: Parts | null;
  readonly pair: Parts | null;
  readonly prefixIds: readonly number[];
  readonly suffixIds: readonly number[];
  readonly trimOffsets: readonly boolean[];
  readonly reasons: readonly string[];
}

/** One processor: the parts it produces, if any, and whether it trims offsets. */
interface Processor {
  readonly parts?: readonly [Parts, Parts];
  readonly trimOffsets?: readonly boolean[];
  readonly reason?: string;
}

/** Read the section, which may be null. */
export function readPostProcessor(section: JsonValue): PostProcessor {
  const processors = section === null ? [] : processorsOf(section, "post_processor");
  const trims = processors.flatMap((processor) => processor.trimOffsets ?? []);
  const reasons = processors.flatMap((processor) => processor.reason ?? []);
  const framing = processors.flatMap((processor) => (processor.parts ? [processor.parts] : []));
  // The library then frames each part of the processor before it.
  if (framing.length > 1) reasons.push("more than one post-processor that adds tokens");
  if (reasons.length > 0) return unknown(trims, reasons);
  const [frame] = framing;
  return frame === undefined
    ? { single: [A], pair: [A, B], prefixIds: [], suffixIds: [], trimOffsets: trims, reasons }
    : framed(frame[0], frame[1], trims);
}

function framed(single: Parts, pair: Parts, trims: readonly boolean[]): PostProcessor {
  const places = single.flatMap((part, index) => (part.text ? [index] : []));
  const [place] = places;
  if (places.length !== 1 || place === undefined || single[place]!.text !== "A") {
    return unknown(trims, [`a post-processor template with the text ${places.length} times`]);
  }
  return {
    single,
    pair,
    prefixIds: idsOf(single.slice(0, place)),
    suffixIds: idsOf(single.slice(place + 1)),
    trimOffsets: trims,
    reasons: [],
  };
}

function unknown(trimOffsets: readonly boolean[], reasons: readonly string[]): PostProcessor {
  return { single: null, pair: null, prefixIds: [], suffixIds: [], trimOffsets, reasons };
}

function idsOf(parts: Parts): number[] {
  return parts.flatMap((part) => part.ids);
}

function processorsOf(section: JsonValue, where: string): Processor[] {
  const [kind, fields] = typeOf(section, where);
  if (kind === "Sequence") {
    const children = member(fields, "processors", "list", where);
    return children.flatMap((child, index) =>
      processorsOf(child, `${where}.processors[${index}]`),
    );
  }
  if (kind === "ByteLevel") return [{ trimOffsets: trimsOf(fields, where) }];
  if (kind === "BertProcessing") return [{ parts: bert(fields, where) }];
  if (kind === "RobertaProcessing") {
    const parts = roberta(fields, where);
    return [{ parts, trimOffsets: trimsOf(fields, where) }];
  }
  if (kind === "TemplateProcessing") return [{ parts: template(fields, where) }];
  return [{ reason: `post-processor ${kind}` }];
}

function trimsOf(fields: JsonObject, where: string): readonly boolean[] {
  const trims = flag(fields, "trim_offsets", where);
  const prefix = flag(fields, "add_prefix_space", where);
  return trims ? [prefix] : [];
}

/** True where it is absent; null is an error. */
function flag(fields: JsonObject, key: string, where: string): boolean {
  return !fields.has(key) || expect(fields.get(key), "bool", `${where}.${key}`);
}

function bert(fields: JsonObject, where: string): [Parts, Parts] {
  const before = pairId(fields, "cls", where);
  const after = pairId(fields, "sep", where);
  const single = [templatePart("", [before]), A, templatePart("", [after])];
  return [single, [...single, B, templatePart("", [after], 1)]];
}

/** Everything has type 0, and an end token also comes before the second text. */
function roberta(fields: JsonObject, where: string): [Parts, Parts] {
  const before = pairId(fields, "cls", where);
  const end = templatePart("", [pairId(fields, "sep", where)]);
  const single = [templatePart("", [before]), A, end];
  return [single, [...single, end, templatePart("B"), end]];
}

function pairId(fields: JsonObject, key: string, where: string): number {
  const pair = member(fields, key, "list", where);
  if (pair.length !== 2 || typeof pair[0] !== "string" || !isInt(pair[1])) {
    throw new LoadError(`${where}.${key}: expected [token, id], got ${shown(pair)}`);
  }
  return u32(pair[1], `${where}.${key}`);
}

function template(fields: JsonObject, where: string): [Parts, Parts] {
  const ids = templateIds(fields, where);
  return [piecesOf(fields, "single", ids, where), piecesOf(fields, "pair", ids, where)];
}

function piecesOf(
  fields: JsonObject,
  key: "single" | "pair",
  ids: ReadonlyMap<string, number[]>,
  where: string,
): Parts {
  const pieces = member(fields, key, "list", where);
  return pieces.map((piece, n) => partOf(piece, ids, `${where}.${key}[${n}]`));
}

function partOf(
  piece: JsonValue,
  ids: ReadonlyMap<string, number[]>,
  where: string,
): TemplatePart {
  const item = expect(piece, "dict", where);
  const isText = item.has("Sequence");
  const fields = member(item, isText ? "Sequence" : "SpecialToken", "dict", where);
  const name = member(fields, "id", "str", where);
  const known = ids.get(name);
  if (!isText && known === undefined) {
    throw new LoadError(`${where}: expected a token of special_tokens, got ${reprText(name)}`);
  }
  const typeId = u32(member(fields, "type_id", "int", where), `${where}.type_id`);
  if (!isText && known !== undefined) return templatePart("", known, typeId);
  // Windows after the first keep the type that the text had before the template.
  if (name === "A") return templatePart("A", [], typeId, 0);
  if (name === "B") return templatePart("B", [], typeId, 1);
  throw new LoadError(`${where}: expected the text A or B, got ${reprText(name)}`);
}

function templateIds(fields: JsonObject, where: string): Map<string, number[]> {
  const result = new Map<string, number[]>();
  for (const [name, entry] of member(fields, "special_tokens", "dict", where)) {
    const place = `${where}.special_tokens.${name}`;
    const ids = member(expect(entry, "dict", place), "ids", "list", place);
    result.set(
      name,
      ids.map((id) => u32(id, `${place}.ids`)),
    );
  }
  return result;
}

function u32(value: JsonInt | JsonValue, where: string): number {
  const number = expect(value, "int", where);
  if (number < 0 || number > MAX_U32) {
    throw new LoadError(`${where}: expected a number from 0 to ${MAX_U32}, got ${number}`);
  }
  return Number(number);
}
