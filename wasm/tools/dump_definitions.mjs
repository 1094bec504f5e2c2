// Write what the package makes of files, for tests/wasm/definitions.py to compare with Python's.
//
//     node wasm/tools/dump_definitions.mjs wasm/dist FOLDER
//
// In the folder, `jobs` names the files and has the answers of the core's normalizer, and
// <number>.json becomes <number>.fields. With tokenmill.wasm in wasm/dist, the compiled model is a
// field as well, without the header of its file.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { deflateSync } from "node:zlib";

const PAGE = 4096; // bytes of the header of a .mill file
const [, , dist, folder] = process.argv;
const load = (...path) => import(pathToFileURL(resolve(dist, ...path)).href);
const { definitionOf } = await load("compile", "index.js");
const compileModel = existsSync(join(dist, "tokenmill.wasm")) ? await compiler() : undefined;
const { names, normalized } = JSON.parse(readFileSync(join(folder, "jobs"), "utf8"));
const options = {
  normalize(program, text) {
    const key = `${Buffer.from(program).toString("hex")}:${Buffer.from(text).toString("hex")}`;
    if (!(key in normalized)) throw new Error(`Python did not ask for ${key}`);
    return new Uint8Array(Buffer.from(normalized[key], "hex"));
  },
  pack: (source) => deflateSync(source, { level: 1 }),
};

names.forEach((name, number) => {
  const source = readFileSync(join(folder, `${number}.json`));
  writeFileSync(join(folder, `${number}.fields`), written(fieldsOf(source, name)));
});

async function compiler() {
  const { compileDefinition } = await load("compile", "native.js");
  const { loadNative } = await load("module.js");
  const native = await loadNative();
  return (definition) => native.copyOut(compileDefinition(native, definition)).subarray(PAGE);
}

function fieldsOf(source, name) {
  try {
    const definition = definitionOf(source, name, options);
    const fields = definitionFields(definition, source);
    if (compileModel === undefined) return fields;
    const meta = definition.meta.subarray(0, definition.meta.indexOf(0));
    return [...fields, ["model", compileModel({ ...definition, meta })]];
  } catch (error) {
    if (error.code === undefined) throw new Error(`${name}: ${error.stack}`);
    return errorFields(error);
  }
}

function errorFields(error) {
  const fields = [
    ["error", error.code],
    ["problem", error.problem],
  ];
  if (error.code === "UnsupportedTokenizer") fields.push(["reasons", error.reasons.join("\n")]);
  else if (error.code === "PatternError") fields.push(["place", String(error.offset)]);
  else fields.push(["place", `${error.line ?? "None"} ${error.offset ?? "None"}`]);
  return fields;
}

function definitionFields(definition, source) {
  const fields = [];
  for (const [name, value] of Object.entries(definition)) {
    if (name === "vocab") addAll(fields, "vocab", value);
    else if (name === "rule" && value !== null) addAll(fields, "rule", value);
    else if (name === "stages" || name === "addedTokens") {
      fields.push([snake(name), String(value.length)]);
      value.forEach((item, i) => addAll(fields, `${snake(name)}[${i}]`, item));
    } else if (name === "meta") {
      fields.push(["meta", value.subarray(0, value.indexOf(0))]);
      fields.push(["source", unpacked(value, source)]);
    } else fields.push([snake(name), plain(value)]);
  }
  return fields;
}

/** The source if the packed one is what packing gives; Python's packing has other bytes. */
function unpacked(meta, source) {
  const packed = Buffer.from(meta.subarray(meta.indexOf(0) + 1));
  return packed.equals(options.pack(source)) ? source : packed;
}

function addAll(fields, prefix, value) {
  for (const [name, item] of Object.entries(value)) {
    fields.push([`${prefix}.${snake(name)}`, plain(item)]);
  }
}

function snake(name) {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** A value as Python's str() writes it, arrays as their bytes. */
function plain(value) {
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return value.length === 0 ? "()" : `[${value.join(", ")}]`;
  return String(value);
}

function written(fields) {
  const parts = fields.flatMap(([name, value]) => {
    const bytes = typeof value === "string" ? Buffer.from(value) : Buffer.from(value);
    const size = Buffer.alloc(8);
    size.writeBigUInt64LE(BigInt(bytes.length));
    return [Buffer.from(`${name}\0`), size, bytes];
  });
  return Buffer.concat(parts);
}
