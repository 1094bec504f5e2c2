// Stage tables: what the core needs to run one stage of a split, and where a text may be cut; twin
// of src/tokenmill/_compile/dfa_tables.py.
import { Builder, DEAD, MATCH_BIT, START, STATE_BITS } from "./dfa_build.js";
import type { Table } from "./dfa_build.js";
import { mergeColumns, minimise, surelyMatches } from "./dfa_minimise.js";
import { NotRegular } from "./regex_ast.js";
import type { Node } from "./regex_ast.js";
import { buildProgram } from "./regex_program.js";

const MOST_CLASSES = 254;

/** One stage: `ranges` rows are (begin, end, class); the twin explains the rest. */
export interface StageTables {
  readonly ranges: Uint32Array;
  readonly nClasses: number;
  readonly table: Table;
  readonly sync: Uint8Array;
  readonly separates: Uint8Array;
  readonly keepMatch: boolean;
  readonly keepGap: boolean;
}

/** Compile a parsed pattern into the smallest table that finds its matches. */
export function buildTables(node: Node, keepMatch: boolean, keepGap: boolean): StageTables {
  const builder = new Builder(buildProgram(node));
  const full = builder.table();
  for (let column = 0; column < full.nColumns; column += 1) {
    if (full.cells[START * full.nColumns + column]! & MATCH_BIT) {
      throw new NotRegular("the pattern can match the empty text");
    }
  }
  const [table, renumber] = mergeColumns(minimise(full));
  const nClasses = table.nColumns - 1;
  if (nClasses > MOST_CLASSES) {
    throw new NotRegular(`the pattern needs ${nClasses} classes, more than ${MOST_CLASSES}`);
  }
  const separates = separatesOf(table);
  const crossed = keepGap ? gapMayCross(table) : null;
  return {
    ranges: builder.classes.ranges(renumber),
    nClasses,
    table,
    sync: crossed === null ? separates : separates.map((cell, i) => cell & ~crossed[i]!),
    separates,
    keepMatch,
    keepGap,
  };
}

/** Whether there are no gaps: every character starts a match, whatever follows it. */
export function alwaysMatches(stage: StageTables): boolean {
  return startsMatch(stage.table).every((starts) => starts === 1);
}

function separatesOf({ nStates, nColumns, cells }: Table): Uint8Array {
  const nClasses = nColumns - 1;
  const result = new Uint8Array(nClasses * nClasses).fill(1);
  for (let symbol = 0; symbol < nClasses; symbol += 1) {
    const reached = new Set<number>();
    for (let state = START; state < nStates; state += 1) {
      reached.add(cells[state * nColumns + symbol]! & STATE_BITS);
    }
    reached.delete(DEAD);
    for (const state of reached) {
      // Death by b must look like the end of the text: same flag, no state after it.
      const atEnd = cells[state * nColumns + nClasses];
      for (let b = 0; b < nClasses; b += 1) {
        if (cells[state * nColumns + b] !== atEnd) result[symbol * nClasses + b] = 0;
      }
    }
  }
  return result;
}

/** For every pair whether both characters may be gap characters, where nothing joins them. */
function gapMayCross(table: Table): Uint8Array {
  const { nColumns, cells } = table;
  const nClasses = nColumns - 1;
  const starts = startsMatch(table);
  const result = new Uint8Array(nClasses * nClasses);
  for (let a = 0; a < nClasses; a += 1) {
    const after = cells[START * nColumns + a]! & STATE_BITS;
    for (let b = 0; b < nClasses; b += 1) {
      const mayBeGap = (cells[after * nColumns + b]! & MATCH_BIT) === 0;
      if (mayBeGap && starts[b] === 0) result[a * nClasses + b] = 1;
    }
  }
  return result;
}

/** For every class whether a scan that starts with it finds a match for certain. */
function startsMatch(table: Table): Uint8Array {
  const sure = surelyMatches(table);
  const { nColumns, cells } = table;
  const first = cells.subarray(START * nColumns, (START + 1) * nColumns - 1);
  return Uint8Array.from(first, (cell) => sure[cell & STATE_BITS]!);
}
