// Pattern text -> syntax tree; twin of src/tokenmill/_compile/regex_parse.py.
//
// What a table cannot hold or what the engine treats in odd ways is NotRegular; it is never
// approximated.
import { EVERY, NOTHING, complement, union } from "./char_sets.js";
import { aheadOf, charOf, choiceOf, repeatOf, sequenceOf } from "./regex_ast.js";
import type { Ahead, Mode, Node } from "./regex_ast.js";
import { fold, readClass } from "./regex_classes.js";
import { Cursor } from "./regex_cursor.js";
import { isCaseless, readEscape } from "./regex_escapes.js";

type Bounds = readonly [number, number | null];

const NEWLINE = [10, 11];
const MOST_REPEATS = 1000;
const MOST_DEPTH = 100;
const OPENINGS = [":", "i:", "-i:", ">", "=", "!"];
const END = aheadOf(NOTHING, true);

/** Parse a whole pattern: "a+" is one or more of the set [97, 98]. */
export function parsePattern(pattern: string): Node {
  const cursor = new Cursor(pattern);
  const ignoreCase = cursor.take("(?i)");
  const node = readChoice(cursor, ignoreCase, 0);
  if (!cursor.atEnd()) cursor.fail("unmatched ')'");
  return node;
}

function readChoice(cursor: Cursor, ignoreCase: boolean, depth: number): Node {
  if (depth > MOST_DEPTH) cursor.refuse(`more than ${MOST_DEPTH} nested groups`);
  const options = [readSequence(cursor, ignoreCase, depth)];
  while (cursor.take("|")) options.push(readSequence(cursor, ignoreCase, depth));
  return options.length === 1 ? options[0]! : choiceOf(options);
}

function readSequence(cursor: Cursor, ignoreCase: boolean, depth: number): Node {
  const parts: Node[] = [];
  while (!cursor.atEnd() && !cursor.sees("|") && !cursor.sees(")")) {
    const atom = readAtom(cursor, ignoreCase, depth);
    parts.push(readQuantifier(cursor, atom));
  }
  return parts.length === 1 ? parts[0]! : sequenceOf(parts);
}

function readAtom(cursor: Cursor, ignoreCase: boolean, depth: number): Node {
  const letter = cursor.nextChar();
  switch (letter) {
    case "(":
      return readGroup(cursor, ignoreCase, depth);
    case "[": {
      const folded = readClass(cursor, ignoreCase);
      return charOf(folded.chars, folded.letters);
    }
    case ".":
      return charOf(complement(NEWLINE));
    case "$":
      return aheadOf(NEWLINE, true);
    case "\\":
      return readEscaped(cursor, ignoreCase);
    case "*":
    case "+":
    case "?":
      return cursor.fail(`nothing to repeat before '${letter}'`);
    case "^":
    case "{":
      return cursor.refuse(`an unescaped '${letter}'`);
    default:
      return literal(cursor, letter.codePointAt(0)!, ignoreCase);
  }
}

function readEscaped(cursor: Cursor, ignoreCase: boolean): Node {
  if (cursor.take("z")) return END;
  const kind = cursor.peek();
  const item = readEscape(cursor, false);
  if (typeof item === "number") return literal(cursor, item, ignoreCase);
  if (ignoreCase && !isCaseless(kind)) cursor.refuse(`the set \\${kind} that ignores case`);
  return charOf(item);
}

function literal(cursor: Cursor, codePoint: number, ignoreCase: boolean): Node {
  if (!ignoreCase) return charOf([codePoint, codePoint + 1]);
  const folded = fold(cursor, codePoint);
  return charOf(folded.chars, folded.letters);
}

function readGroup(cursor: Cursor, ignoreCase: boolean, depth: number): Node {
  const opening = readOpening(cursor);
  const ignores = opening.endsWith("i:") ? opening === "i:" : ignoreCase;
  const node = readChoice(cursor, ignores, depth + 1);
  if (!cursor.take(")")) cursor.fail("expected ')', got the end of the pattern");
  if (opening === ">") return { type: "atomic", part: node };
  return opening === "=" || opening === "!" ? look(cursor, node, opening === "!") : node;
}

/** Read what makes a group special, after its bracket. */
function readOpening(cursor: Cursor): string {
  if (!cursor.take("?")) return "";
  const found = OPENINGS.find((opening) => cursor.take(opening));
  return found ?? cursor.refuse("a group of an unknown kind");
}

function look(cursor: Cursor, node: Node, negated: boolean): Ahead {
  const ahead = nextSymbols(node) ?? cursor.refuse("a look-ahead of more than one character");
  return negated ? aheadOf(complement(ahead.chars), !ahead.atEnd) : ahead;
}

/** Return what the next character must be for the node to match, if that decides it. */
function nextSymbols(node: Node): Ahead | null {
  switch (node.type) {
    case "char":
      return aheadOf(node.chars, false);
    case "ahead":
      return node;
    case "choice":
      return anyOf(node.options.map(nextSymbols));
    case "sequence":
      if (node.parts.length === 0) return aheadOf(EVERY, true);
      return node.parts.length === 1 ? nextSymbols(node.parts[0]!) : null;
    case "atomic":
      return nextSymbols(node.part);
    case "repeat":
      return node.least === 1 && node.mode !== "possessive" ? nextSymbols(node.part) : null;
  }
}

function anyOf(options: readonly (Ahead | null)[]): Ahead | null {
  const known = options.filter((option) => option !== null);
  if (known.length < options.length) return null;
  return aheadOf(
    union(...known.map((one) => one.chars)),
    known.some((one) => one.atEnd),
  );
}

function readQuantifier(cursor: Cursor, atom: Node): Node {
  const [bounds, isInterval] = readBounds(cursor);
  if (bounds === null) return atom;
  if (atom.type === "ahead") cursor.refuse("a repeated look-ahead or anchor");
  const [least, most] = bounds;
  let node: Node;
  if (isInterval && cursor.take("+")) {
    // Ruby syntax: an interval has no possessive form, the plus repeats it as a whole.
    node = repeatOf(repeatOf(atom, least, most, "greedy"), 1, null, "greedy");
  } else {
    if (isInterval && least === most && cursor.sees("?")) {
      cursor.refuse("a reluctant fixed count");
    }
    node = repeatOf(atom, least, most, readMode(cursor));
  }
  if (["*", "+", "?"].some((sign) => cursor.sees(sign)) || intervalAt(cursor) !== null) {
    cursor.refuse("a repeated quantifier");
  }
  return node;
}

function readMode(cursor: Cursor): Mode {
  if (cursor.take("?")) return "lazy";
  return cursor.take("+") ? "possessive" : "greedy";
}

/** Read a quantifier's counts, and whether it was spelled as an interval. */
function readBounds(cursor: Cursor): [Bounds | null, boolean] {
  if (cursor.take("?")) return [[0, 1], false];
  if (cursor.take("*")) return [[0, null], false];
  if (cursor.take("+")) return [[1, null], false];
  const found = intervalAt(cursor);
  if (found === null) return [null, false];
  const least = Number(found[1]);
  const most = found[2] === undefined ? least : found[3] ? Number(found[3]) : null;
  if (Math.max(least, most ?? 0) > MOST_REPEATS || (most !== null && most < least)) {
    cursor.refuse(`the repeat count ${found[0]}`);
  }
  cursor.offset += found[0].length;
  return [[least, most], true];
}

function intervalAt(cursor: Cursor): RegExpExecArray | null {
  if (!cursor.sees("{")) return null;
  let length = 1;
  while (/^[0-9,]$/.test(cursor.peek(length))) length += 1;
  return /^\{([0-9]+)(?:(,)([0-9]*))?\}$/.exec(cursor.ahead(length + 1));
}
