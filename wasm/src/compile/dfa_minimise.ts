// Transition table -> the one smallest table that finds the same matches; twin of
// src/tokenmill/_compile/dfa_minimise.py.
//
// Only the last flag of a scan counts. A flag that is always followed by a later one is dropped, so
// that tables with the same matches become equal up to the numbers of their states.
import { DEAD, MATCH_BIT, START, STATE_BITS } from "./dfa_build.js";
import type { Table } from "./dfa_build.js";
import { NotRegular } from "./regex_ast.js";

/** Merge equivalent states; the dead state stays 0 and the start 1. */
export function minimise(full: Table): Table {
  const table = dropFutileFlags(full);
  const blocks = blocksOf(table);
  if (blocks[START] === blocks[DEAD]) throw new NotRegular("the pattern matches nothing");
  // Numbered in the order of their first states, of which the dead one and the start lead.
  const renumber = new Map<number, number>();
  const order: number[] = [];
  blocks.forEach((block, state) => {
    if (!renumber.has(block)) {
      renumber.set(block, order.length);
      order.push(state);
    }
  });
  const { nColumns, cells } = table;
  const small = new Uint16Array(order.length * nColumns);
  order.forEach((state, row) => {
    for (let column = 0; column < nColumns; column += 1) {
      const cell = cells[state * nColumns + column]!;
      const next = renumber.get(blocks[cell & STATE_BITS]!)!;
      small[row * nColumns + column] = next | (cell & MATCH_BIT);
    }
  });
  return { nStates: order.length, nColumns, cells: small };
}

/** Merge classes with equal columns; return the table and the new number of each class. */
export function mergeColumns(table: Table): [Table, number[]] {
  const { nStates, nColumns, cells } = table;
  const numbers = new Map<string, number>();
  const kept: number[] = [];
  const renumber: number[] = [];
  const column = new Uint16Array(nStates);
  for (let symbol = 0; symbol + 1 < nColumns; symbol += 1) {
    for (let state = 0; state < nStates; state += 1) column[state] = cells[state * nColumns + symbol]!;
    const key = keyOfCells(column);
    let number = numbers.get(key);
    if (number === undefined) {
      number = kept.length;
      numbers.set(key, number);
      kept.push(symbol);
    }
    renumber.push(number);
  }
  const columns = [...kept, nColumns - 1];
  const merged = new Uint16Array(nStates * columns.length);
  for (let state = 0; state < nStates; state += 1) {
    columns.forEach((symbol, place) => {
      merged[state * columns.length + place] = cells[state * nColumns + symbol]!;
    });
  }
  return [{ nStates, nColumns: columns.length, cells: merged }, renumber];
}

/** For every state whether a flag is certain to come, whatever the rest of the text is. */
export function surelyMatches({ nStates, nColumns, cells }: Table): Uint8Array {
  let sure = new Uint8Array(nStates).fill(1);
  sure[DEAD] = 0;
  for (;;) {
    const again = new Uint8Array(nStates).fill(1);
    let isStable = true;
    for (let state = 0; state < nStates; state += 1) {
      for (let column = 0; column < nColumns; column += 1) {
        const cell = cells[state * nColumns + column]!;
        if ((cell & MATCH_BIT) === 0 && sure[cell & STATE_BITS] === 0) again[state] = 0;
      }
      if (again[state] !== sure[state]) isStable = false;
    }
    if (isStable) return sure;
    sure = again;
  }
}

function dropFutileFlags(table: Table): Table {
  const sure = surelyMatches(table);
  const cells = table.cells.map((cell) => {
    const state = cell & STATE_BITS;
    return sure[state] === 1 ? state : cell;
  });
  return { ...table, cells };
}

/** Give equal states the same number: refine by flags and successors until stable. */
function blocksOf({ nStates, nColumns, cells }: Table): Uint16Array {
  let blocks = new Uint16Array(nStates);
  let count = 1;
  const signature = new Uint16Array(nColumns + 1);
  for (;;) {
    const numbers = new Map<string, number>();
    const refined = new Uint16Array(nStates);
    for (let state = 0; state < nStates; state += 1) {
      signature[nColumns] = blocks[state]!;
      for (let column = 0; column < nColumns; column += 1) {
        const cell = cells[state * nColumns + column]!;
        signature[column] = (cell & MATCH_BIT) | blocks[cell & STATE_BITS]!;
      }
      const key = keyOfCells(signature);
      const number = numbers.get(key) ?? numbers.size;
      numbers.set(key, number);
      refined[state] = number;
    }
    blocks = refined;
    if (numbers.size === count) return blocks;
    count = numbers.size;
  }
}

function keyOfCells(cells: Uint16Array): string {
  let key = "";
  for (let i = 0; i < cells.length; i += 4096) {
    key += String.fromCharCode(...cells.subarray(i, i + 4096));
  }
  return key;
}
