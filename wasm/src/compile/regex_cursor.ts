// Reading position in a pattern, with the errors that point at it; twin of
// src/tokenmill/_compile/regex_cursor.py. Patterns are in the dialect of Oniguruma, which is the
// only one that a tokenizer.json has.
import { PatternError } from "../load/errors.js";
import { reprText } from "../load/python.js";
import { NotRegular } from "./regex_ast.js";

/** A pattern and how far it has been read, in characters. */
export class Cursor {
  offset = 0;
  private readonly characters: readonly string[];

  constructor(readonly pattern: string) {
    this.characters = Array.from(pattern);
  }

  atEnd(): boolean {
    return this.offset >= this.characters.length;
  }

  /** Whether `text`, which is ASCII, comes next. */
  sees(text: string): boolean {
    for (let i = 0; i < text.length; i += 1) {
      if (this.characters[this.offset + i] !== text[i]) return false;
    }
    return true;
  }

  /** Step over `text` if it comes next. */
  take(text: string): boolean {
    const found = this.sees(text);
    if (found) this.offset += text.length;
    return found;
  }

  /** Step over one character and return it. */
  nextChar(): string {
    if (this.atEnd()) this.fail("the pattern ends in the middle of something");
    this.offset += 1;
    return this.characters[this.offset - 1]!;
  }

  /** The character at `distance` from here; empty beyond the end. */
  peek(distance = 0): string {
    return this.characters[this.offset + distance] ?? "";
  }

  /** The next characters, fewer at the end. */
  ahead(count: number): string {
    return this.characters.slice(this.offset, this.offset + count).join("");
  }

  /** Step over everything up to and including `stop`; return what came before it. */
  until(stop: string): string {
    const begin = this.offset;
    while (!this.sees(stop)) {
      if (this.atEnd()) {
        this.offset = begin;
        this.fail(`expected ${reprText(stop)}, got the end of the pattern`);
      }
      this.offset += 1;
    }
    const text = this.characters.slice(begin, this.offset).join("");
    this.offset += stop.length;
    return text;
  }

  /** Whether `character` comes later than the next one. */
  hasLater(character: string): boolean {
    return this.characters.indexOf(character, this.offset + 1) >= 0;
  }

  /** Throw: the pattern is wrong here. */
  fail(problem: string): never {
    throw new PatternError(problem, this.pattern, this.offset);
  }

  /** Throw: the pattern may be right, but no table can hold it. */
  refuse(what: string): never {
    throw new NotRegular(`${what} at character ${this.offset} of ${reprText(this.pattern)}`);
  }
}
