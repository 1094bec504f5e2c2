// One stage of a split: pattern and behaviour -> tables; twin of src/tokenmill/_compile/split.py.
import type { Behavior } from "../load/spec.js";
import { complement } from "./char_sets.js";
import { buildTables } from "./dfa_tables.js";
import type { StageTables } from "./dfa_tables.js";
import { NotRegular, charOf, choiceOf, repeatOf, sequenceOf, singleSet } from "./regex_ast.js";
import type { Node } from "./regex_ast.js";
import { parsePattern } from "./regex_parse.js";

/**
 * Compile one stage: compileStage("\\s+", "removed", false).
 *
 * Behaviours are those of Hugging Face's Split. Throws `NotRegular` where no table gives exactly the
 * words of the reference, and `PatternError` where the pattern is wrong.
 */
export function compileStage(
  pattern: string,
  behavior: Behavior,
  invert: boolean,
): StageTables {
  const isRemoved = behavior === "removed";
  const node = joined(parsePattern(pattern), behavior, invert);
  return buildTables(node, !isRemoved || invert, !isRemoved || !invert);
}

function joined(node: Node, behavior: Behavior, invert: boolean): Node {
  switch (behavior) {
    case "contiguous":
      return runOf(node);
    case "merged_with_previous":
      return withGap(node, !invert);
    case "merged_with_next":
      return withGap(node, invert);
    default:
      return node;
  }
}

/** Join neighbouring matches: they become one word only if they are runs of one set. */
function runOf(node: Node): Node {
  const part = node.type === "repeat" && node.least === 1 ? node.part : node;
  const chars = singleSet(part);
  if (chars === null) {
    throw new NotRegular("contiguous matches of more than a set of characters");
  }
  return repeatOf(charOf(chars), 1, null, "greedy");
}

/**
 * Join a match with the gap before or after it; the rest of each gap is a word too.
 *
 * Of neighbouring matches only the one at the gap takes it. Inverted, gaps are joined with the
 * match on the other side, which has the same result.
 */
function withGap(node: Node, gapFirst: boolean): Node {
  const isRun =
    node.type === "repeat" && node.least === 1 && node.most === null && node.mode === "greedy";
  const chars = singleSet(isRun ? node.part : node);
  if (chars === null) throw new NotRegular("merged matches of more than a set of characters");
  const gap = charOf(complement(chars));
  const maybe = repeatOf(gap, 0, null, "greedy");
  const parts = sequenceOf(gapFirst ? [maybe, node] : [node, maybe]);
  return choiceOf([parts, repeatOf(gap, 1, null, "greedy")]);
}
