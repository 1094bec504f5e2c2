// The meta data of a model as JSON, in the spelling of Python's json.dumps.

export type Plain =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly Plain[]
  | PlainObject;
/** Members in their order; an object of JavaScript would move those that look like numbers. */
export type PlainObject = ReadonlyMap<string, Plain>;

/** Write a value: no blanks, and only ASCII. */
export function dumps(value: Plain): string {
  if (value === null) return "null";
  if (typeof value === "string") return dumpText(value);
  if (typeof value !== "object") return String(value);
  if (value instanceof Map) {
    const members = Array.from(
      value as PlainObject,
      ([key, item]) => `${dumpText(key)}:${dumps(item)}`,
    );
    return `{${members.join(",")}}`;
  }
  return `[${(value as readonly Plain[]).map(dumps).join(",")}]`;
}

function dumpText(text: string): string {
  return JSON.stringify(text).replace(
    /[\x7f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
