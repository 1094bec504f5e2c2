// The split of a tokenizer -> stages and rule for the core, and a description of it; twin of
// src/tokenmill/_compile/split_plan.py.
import { ALPHABET } from "../load/byte_level.js";
import { ONLY_IN_PYTHON, UnsupportedTokenizer } from "../load/errors.js";
import { repr, reprText } from "../load/python.js";
import type { SplitStep, TokenizerSpec } from "../load/spec.js";
import { codePoints } from "../unicode/index.js";
import type { Spelled } from "./blanks.js";
import { LIMIT } from "./char_sets.js";
import type { SplitRule, SplitStage } from "./definition.js";
import { classAt } from "./dfa_compare.js";
import type { StageTables } from "./dfa_tables.js";
import { NotRegular } from "./regex_ast.js";
import { recognise, ruleClasses } from "./rules.js";
import type { NativeRule } from "./rules.js";
import { compileStage } from "./split.js";

// Classes of bytes, as the core numbers them.
const [LETTER, DIGIT, BLANK, NEWLINE, CONTROL, OTHER, WIDE] = [0, 1, 2, 3, 4, 5, 6];
const ALL = 0x7f;
const N_CLASSES = 7;
const BERT_STEPS = [
  ["\\s", "removed"],
  ["\\p{hf:Punctuation}", "isolated"],
];
const BLIND_TO_BLANKS = new Set(["nfd", "strip_nonspacing", "lowercase"]);

/** What the core takes, and lines that describe it. */
export interface SplitPlan {
  readonly lines: readonly string[];
  readonly stages: readonly SplitStage[];
  readonly rule: SplitRule | null;
  readonly cutByTokens: boolean;
  /** White space that is to be dropped comes as words. */
  readonly keepsWhite: boolean;
  readonly isNative: boolean;
}

const NO_PLAN: Omit<SplitPlan, "lines"> = {
  stages: [],
  rule: null,
  cutByTokens: false,
  keepsWhite: false,
  isNative: true,
};

/** Choose the fastest exact way; UnsupportedTokenizer if a pattern is not regular. */
export function compileSplit(spelled: Spelled): SplitPlan {
  const { spec } = spelled;
  if (spelled.wordsAtBlanks) {
    const joins = new Array<number>(N_CLASSES).fill(ALL);
    joins[BLANK!] = 0;
    return { ...NO_PLAN, lines: ["words begin at blanks"], rule: adjacent(joins) };
  }
  if (spec.split.length === 0) return planWhole(spelled);
  if (isBert(spec)) {
    const alone = spelled.ideographsAlone ? "punctuation and ideographs" : "punctuation";
    const lines = [`built-in rule: white space dropped, ${alone} alone`];
    return { ...NO_PLAN, lines, rule: bert(spelled.ideographsAlone), keepsWhite: true };
  }
  const stages = spec.split.map(compileStep);
  const isPlain = !spec.split.some((step) => step.onBytes);
  const rule = isPlain ? recognise(spec.split) : null;
  return {
    ...NO_PLAN,
    lines: rule === null ? stageLines(spec.split, stages) : ruleLines(rule),
    stages: stages.map((stage, i) => splitStage(stage, spec.split[i]!.onBytes)),
    rule: rule === null ? null : splitRule(rule),
    isNative: rule !== null,
  };
}

function planWhole(spelled: Spelled): SplitPlan {
  const { model } = spelled.spec;
  if (model.type !== "BpeModel" || model.symbols !== "characters") {
    return { ...NO_PLAN, lines: ["none"] };
  }
  const lines = ["none; words end where no token reaches over"];
  const joins = new Array<number>(N_CLASSES).fill(0);
  return { ...NO_PLAN, lines, rule: adjacent(joins), cutByTokens: true };
}

/**
 * Tell whether it is the split that drops white space and isolates punctuation.
 *
 * The rule takes ASCII controls for punctuation, so the text must have none; and white space is
 * dropped by the model, which must be one of those that look words up.
 */
function isBert(spec: TokenizerSpec): boolean {
  const isSplit =
    spec.split.length === BERT_STEPS.length &&
    spec.split.every(
      (step, i) =>
        step.pattern === BERT_STEPS[i]![0] && step.behavior === BERT_STEPS[i]![1] && !step.invert,
    );
  const isClean = spec.normalizer.some((step) => step.kind === "clean");
  const looksUp = spec.model.type === "WordPieceModel" || spec.model.type === "WordLevelModel";
  return isSplit && isClean && looksUp;
}

/**
 * Leave it to the split to make words of ideographs, so that no blanks are put around them.
 *
 * That is the same unless somebody sees the blanks: a later step of the normalizer, or an added
 * token that is looked for after it.
 */
export function spellIdeographs(spelled: Spelled): Spelled {
  const { spec } = spelled;
  const place = spec.normalizer.findIndex((step) => step.kind === "space_ideographs");
  if (place < 0 || !isBert(spec)) return spelled;
  const isSeen = spec.addedTokens.some((token) => token.normalized);
  const isBlind = spec.normalizer.slice(place + 1).every((step) => BLIND_TO_BLANKS.has(step.kind));
  if (isSeen || !isBlind) return spelled;
  const normalizer = spec.normalizer.filter((_, i) => i !== place);
  return { ...spelled, spec: { ...spec, normalizer }, ideographsAlone: true };
}

function bert(ideographsAlone: boolean): SplitRule {
  const word = (1 << LETTER!) | (1 << DIGIT!) | (1 << WIDE!);
  const white = (1 << BLANK!) | (1 << NEWLINE!) | (1 << CONTROL!);
  const rows = [...rowsOf("Punctuation", OTHER!), ...rowsOf("Whitespace", BLANK!)];
  if (ideographsAlone) rows.push(...rowsOf("Spaced", OTHER!));
  rows.sort((a, b) => a[0]! - b[0]! || a[1]! - b[1]! || a[2]! - b[2]!);
  const wide = Uint32Array.from([0, LIMIT, WIDE!, ...rows.flat()]);
  return { ...adjacent([word, word, white, white, white, 0, word]), classes: wide, wideClasses: true };
}

function rowsOf(name: string, number: number): number[][] {
  const ranges = codePoints("hf", name);
  const rows: number[][] = [];
  for (let i = 0; i < ranges.length; i += 2) rows.push([ranges[i]!, ranges[i + 1]!, number]);
  return rows;
}

/** Write the rule "a word begins where neighbours are not joined". */
function adjacent(joins: readonly number[]): SplitRule {
  return {
    family: "adjacent",
    classes: Uint32Array.of(0, LIMIT, WIDE!),
    contraction: "none",
    digits: 0,
    tail: "",
    endRun: false,
    isolateDigits: "none",
    isolateHan: false,
    wideClasses: false,
    joins,
  };
}

function compileStep(step: SplitStep): StageTables {
  try {
    return compileStage(step.pattern, step.behavior, step.invert);
  } catch (error) {
    if (!(error instanceof NotRegular)) throw error;
    const reason = `the pattern ${reprText(step.pattern)}: ${error.reason}`;
    const facts = { where: "split", hint: ONLY_IN_PYTHON };
    throw new UnsupportedTokenizer(reason, [reason], facts);
  }
}

function splitStage(stage: StageTables, onBytes: boolean): SplitStage {
  return {
    ranges: onBytes ? byteClasses(stage) : stage.ranges,
    nClasses: stage.nClasses,
    next: stage.table.cells,
    sync: stage.sync,
    separates: stage.separates,
    keepMatch: stage.keepMatch,
    keepGap: stage.keepGap,
    onBytes,
  };
}

/** Give every byte the class of its stand-in: the pattern was written for those. */
function byteClasses(stage: StageTables): Uint32Array {
  return Uint32Array.from(
    ALPHABET.flatMap((character, byte) => [
      byte,
      byte + 1,
      classAt(stage, character.codePointAt(0)!),
    ]),
  );
}

function splitRule(rule: NativeRule): SplitRule {
  const { family, contraction, digits, tail, endRun, isolateDigits, isolateHan } = rule;
  const classes = ruleClasses(rule);
  const known = { family, contraction, digits, tail, endRun, isolateDigits, isolateHan };
  return { ...known, classes, wideClasses: false, joins: [] };
}

function ruleLines(rule: NativeRule): string[] {
  const parameters = [
    `family ${reprText(rule.family)}`,
    `contraction ${reprText(rule.contraction)}`,
    `digits ${rule.digits}`,
    `letters_with_marks ${repr(rule.lettersWithMarks)}`,
    `tail ${reprText(rule.tail)}`,
    `end_run ${repr(rule.endRun)}`,
    `isolate_digits ${reprText(rule.isolateDigits)}`,
    `isolate_han ${repr(rule.isolateHan)}`,
  ];
  return [`built-in rule: ${parameters.join(", ")}`];
}

function stageLines(steps: readonly SplitStep[], stages: readonly StageTables[]): string[] {
  return stages.map((stage, i) => {
    const { behavior, invert, pattern } = steps[i]!;
    const size = `automaton of ${stage.table.nStates} states and ${stage.nClasses} classes`;
    return `${size}, ${behavior}${invert ? " (inverted)" : ""}: ${pattern}`;
  });
}
