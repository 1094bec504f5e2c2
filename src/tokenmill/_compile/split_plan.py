"""The split of a tokenizer -> stages and rule for the core, and a description of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from tokenmill._compile.definition import SplitRule, SplitStage
from tokenmill._compile.regex_ast import NotRegular
from tokenmill._compile.rules import recognise, rule_classes
from tokenmill._compile.split import compile_stage
from tokenmill._errors import UnsupportedTokenizer
from tokenmill._load.byte_level import ALPHABET
from tokenmill._spec import BpeModel, UnigramModel, WordLevelModel, WordPieceModel
from tokenmill._unicode import code_points

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokenmill._compile.blanks import Spelled
    from tokenmill._compile.dfa_tables import StageTables
    from tokenmill._compile.rules import NativeRule
    from tokenmill._spec import Dialect, SplitStep, TokenizerSpec

# Classes of bytes, as the core numbers them.
LETTER, DIGIT, BLANK, NEWLINE, CONTROL, OTHER, WIDE = range(7)
_ALL = 0x7F
_END = 0x110000
_BERT_STEPS = [(r"\s", "removed", False), (r"\p{hf:Punctuation}", "isolated", False)]
_BLIND_TO_BLANKS = {"nfd", "strip_nonspacing", "lowercase"}


@dataclass(frozen=True)
class SplitPlan:
    """What the core takes, and lines that describe it."""

    lines: list[str]
    stages: list[SplitStage] = field(default_factory=list)
    rule: SplitRule | None = None
    cut_by_tokens: bool = False
    keeps_white: bool = False  # white space that is to be dropped comes as words
    is_native: bool = True


def compile_split(spelled: Spelled) -> SplitPlan:
    """Choose the fastest exact way; UnsupportedTokenizer if a pattern is not regular."""
    spec = spelled.spec
    if spelled.words_at_blanks:
        joins = [_ALL] * 7
        joins[BLANK] = 0
        return SplitPlan(["words begin at blanks"], rule=_adjacent(joins))
    if not spec.split:
        return _plan_whole(spelled)
    if is_bert(spec):
        alone = "punctuation and ideographs" if spelled.ideographs_alone else "punctuation"
        lines = [f"built-in rule: white space dropped, {alone} alone"]
        return SplitPlan(lines, rule=_bert(spelled.ideographs_alone), keeps_white=True)
    stages = [_compile_step(step) for step in spec.split]
    steps = tuple((s.pattern, s.dialect, s.behavior, s.invert) for s in spec.split)
    is_plain = not any(step.on_bytes for step in spec.split)
    rule = recognise(steps) if is_plain else None
    return SplitPlan(
        _rule_lines(rule) if rule else _stage_lines(spec.split, stages),
        [_split_stage(t, step.on_bytes) for t, step in zip(stages, spec.split, strict=True)],
        None if rule is None else _split_rule(rule, spec.split[-1].dialect),
        is_native=rule is not None,
    )


def _plan_whole(spelled: Spelled) -> SplitPlan:
    model = spelled.spec.model
    if isinstance(model, BpeModel) and model.symbols == "characters":
        lines = ["none; words end where no token reaches over"]
        return SplitPlan(lines, rule=_adjacent([0] * 7), cut_by_tokens=True)
    if isinstance(model, UnigramModel) and model.whole_text:
        return SplitPlan(["none; one sum of scores over a whole text"])
    return SplitPlan(["none"])


def is_bert(spec: TokenizerSpec) -> bool:
    """Tell whether it is the split that drops white space and isolates punctuation.

    The rule takes ASCII controls for punctuation, so the text must have none; and white space is
    dropped by the model, which must be one of those that look words up.
    """
    steps = [(step.pattern, step.behavior, step.invert) for step in spec.split]
    is_clean = any(step.kind == "clean" for step in spec.normalizer)
    looks_up = isinstance(spec.model, (WordPieceModel, WordLevelModel))
    return steps == _BERT_STEPS and is_clean and looks_up


def spell_ideographs(spelled: Spelled) -> Spelled:
    """Leave it to the split to make words of ideographs, so that no blanks are put around them.

    That is the same unless somebody sees the blanks: a later step of the normalizer, or an added
    token that is looked for after it.
    """
    spec = spelled.spec
    kinds = [step.kind for step in spec.normalizer]
    if "space_ideographs" not in kinds or not is_bert(spec):
        return spelled
    place = kinds.index("space_ideographs")
    is_seen = any(token.normalized for token in spec.added_tokens)
    if is_seen or not _BLIND_TO_BLANKS.issuperset(kinds[place + 1 :]):
        return spelled
    steps = spec.normalizer[:place] + spec.normalizer[place + 1 :]
    return replace(spelled, spec=replace(spec, normalizer=steps), ideographs_alone=True)


def _bert(ideographs_alone: bool) -> SplitRule:
    word = 1 << LETTER | 1 << DIGIT | 1 << WIDE
    white = 1 << BLANK | 1 << NEWLINE | 1 << CONTROL
    joins = [word, word, white, white, white, 0, word]
    ranges = [(begin, end, OTHER) for begin, end in code_points("hf", "Punctuation")]
    ranges += [(begin, end, BLANK) for begin, end in code_points("hf", "Whitespace")]
    if ideographs_alone:
        ranges += [(begin, end, OTHER) for begin, end in code_points("hf", "Spaced")]
    return _adjacent(joins, np.array([(0, _END, WIDE), *sorted(ranges)], dtype=np.uint32))


def _adjacent(joins: list[int], wide: NDArray[np.uint32] | None = None) -> SplitRule:
    """Write the rule "a word begins where neighbours are not joined"."""
    classes = np.array([[0, _END, WIDE]], dtype=np.uint32) if wide is None else wide
    return SplitRule(
        family="adjacent",
        classes=np.ascontiguousarray(classes),
        wide_classes=wide is not None,
        joins=joins,
    )


def _compile_step(step: SplitStep) -> StageTables:
    try:
        return compile_stage(step.pattern, step.dialect, step.behavior, step.invert)
    except NotRegular as error:
        reason = f"the pattern {step.pattern!r}: {error.reason}"
        raise UnsupportedTokenizer(reason, where="split", reasons=(reason,)) from error


def _split_stage(stage: StageTables, on_bytes: bool) -> SplitStage:
    ranges = _byte_classes(stage) if on_bytes else stage.ranges
    return SplitStage(
        ranges=np.ascontiguousarray(ranges, dtype=np.uint32),
        n_classes=stage.n_classes,
        next=np.ascontiguousarray(stage.next, dtype=np.uint16),
        sync=np.ascontiguousarray(stage.sync, dtype=np.uint8),
        separates=np.ascontiguousarray(stage.separates, dtype=np.uint8),
        keep_match=stage.keep_match,
        keep_gap=stage.keep_gap,
        on_bytes=on_bytes,
    )


def _byte_classes(stage: StageTables) -> NDArray[np.uint32]:
    """Give every byte the class of its stand-in: the pattern was written for those."""
    stand_ins = np.array([ord(character) for character in ALPHABET], dtype=np.uint32)
    rows = np.searchsorted(stage.ranges[:, 0], stand_ins, side="right") - 1
    numbers = np.arange(256, dtype=np.uint32)
    return np.stack([numbers, numbers + 1, stage.ranges[rows, 2]], axis=1)


def _split_rule(rule: NativeRule, dialect: Dialect) -> SplitRule:
    classes = np.ascontiguousarray(rule_classes(rule, dialect), dtype=np.uint32)
    return SplitRule(
        family=rule.family,
        classes=classes,
        contraction=rule.contraction,
        digits=rule.digits,
        tail=rule.tail,
        end_run=rule.end_run,
        isolate_digits=rule.isolate_digits,
        isolate_han=rule.isolate_han,
    )


def _rule_lines(rule: NativeRule) -> list[str]:
    parameters = ", ".join(f"{key} {value!r}" for key, value in asdict(rule).items())
    return [f"built-in rule: {parameters}"]


def _stage_lines(steps: tuple[SplitStep, ...], stages: list[StageTables]) -> list[str]:
    return [
        f"automaton of {len(stage.next)} states and {stage.n_classes} classes, {step.behavior}"
        f"{' (inverted)' if step.invert else ''}: {step.pattern}"
        for step, stage in zip(steps, stages, strict=True)
    ]
