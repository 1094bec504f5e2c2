"""The "pre_tokenizer" section of a tokenizer.json -> SplitStep."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tokenmill._errors import LoadError
from tokenmill._load.fields import expect, member, optional, shown, type_of
from tokenmill._load.normalizer import read_pattern
from tokenmill._spec import Metaspace, SplitStep

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenmill._spec import Behavior, PrependScheme

# What ByteLevel splits by when its "use_regex" is true.
BYTE_LEVEL_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

_BEHAVIORS: dict[str, Behavior] = {
    "Removed": "removed",
    "Isolated": "isolated",
    "MergedWithPrevious": "merged_with_previous",
    "MergedWithNext": "merged_with_next",
    "Contiguous": "contiguous",
}
_SPECIAL_CHARACTERS = frozenset(r"\.+*?()|[]{}^$#&-~")
_PREPEND_SCHEMES: tuple[PrependScheme, ...] = ("always", "first", "never")
# How many scripts the library distinguishes; `Script0` holds characters that fit any script.
N_SCRIPTS = 136


@dataclass
class Splitting:
    """A pre-tokenizer as read; with `byte_level`, words become bytes."""

    steps: list[SplitStep] = field(default_factory=list)
    add_prefix_space: bool = False
    byte_level: bool = False
    metaspace: Metaspace | None = None
    reasons: list[str] = field(default_factory=list)


def read_pre_tokenizer(section: object) -> Splitting:
    """Read the section, which may be null."""
    result = Splitting()
    if section is not None:
        _read(section, "pre_tokenizer", result)
    return result


def _read(section: object, where: str, result: Splitting) -> None:
    kind, fields = type_of(section, where)
    if kind == "Sequence":
        for index, child in enumerate(member(fields, "pretokenizers", list, where)):
            _read(child, f"{where}.pretokenizers[{index}]", result)
    elif kind == "ByteLevel":
        _read_byte_level(fields, where, result)
    elif kind == "Metaspace":
        _read_metaspace(fields, where, result)
    elif kind in _READERS:
        for pattern, behavior, invert in _READERS[kind](fields, where):
            _add(result, pattern, behavior, invert)
    else:
        result.reasons.append(f"pre-tokenizer {kind}")


def _read_byte_level(fields: dict[str, Any], where: str, result: Splitting) -> None:
    if result.byte_level:
        result.reasons.append("pre-tokenizer ByteLevel twice")
        return
    if result.metaspace is not None:
        result.reasons.append("pre-tokenizer ByteLevel after Metaspace")
    if optional(fields, "add_prefix_space", True, where):
        # ByteLevel puts a space before every word it gets, so after another split it would
        # not be once for each range but once for each word.
        is_first = not result.steps and result.metaspace is None
        result.add_prefix_space = is_first
        if not is_first:
            result.reasons.append("ByteLevel with add_prefix_space after another pre-tokenizer")
    if optional(fields, "use_regex", True, where):
        result.steps.append(SplitStep(BYTE_LEVEL_PATTERN, "onig", "isolated", invert=False))
    result.byte_level = True


def _read_metaspace(fields: dict[str, Any], where: str, result: Splitting) -> None:
    replacement = _character(fields, "replacement", where)
    scheme = expect(fields.get("prepend_scheme", "always"), str, f"{where}.prepend_scheme")
    prepend = next((known for known in _PREPEND_SCHEMES if known == scheme), None)
    if prepend is None:
        problem = f"expected one of {list(_PREPEND_SCHEMES)}, got {scheme!r}"
        raise LoadError(f"{where}.prepend_scheme: {problem}")
    if not optional(fields, "add_prefix_space", True, where) and prepend != "never":
        problem = f"expected what fits prepend_scheme {scheme!r}, got false"
        raise LoadError(f"{where}.add_prefix_space: {problem}")
    if result.metaspace is not None or result.byte_level:
        earlier = "ByteLevel" if result.byte_level else "another Metaspace"
        result.reasons.append(f"pre-tokenizer Metaspace after {earlier}")
        return
    split = optional(fields, "split", True, where)
    result.metaspace = Metaspace(replacement, prepend, split, after=len(result.steps))


def _character(fields: dict[str, Any], key: str, where: str) -> str:
    value = member(fields, key, str, where)
    if len(value) != 1:
        raise LoadError(f"{where}.{key}: expected one character, got {shown(value)}")
    return value


_Cut = tuple[str, str, bool]


def _split(fields: dict[str, Any], where: str) -> list[_Cut]:
    engine, pattern = read_pattern(fields, where)
    return [
        (
            pattern if engine == "Regex" else escape(pattern),
            member(fields, "behavior", str, where),
            optional(fields, "invert", False, where),
        )
    ]


def _digits(fields: dict[str, Any], where: str) -> list[_Cut]:
    individual = optional(fields, "individual_digits", False, where)
    return [(r"\p{hf:Numeric}", "Isolated" if individual else "Contiguous", False)]


def _punctuation(fields: dict[str, Any], where: str) -> list[_Cut]:
    return [(r"\p{hf:Punctuation}", optional(fields, "behavior", "Isolated", where), False)]


def _delimiter(fields: dict[str, Any], where: str) -> list[_Cut]:
    return [(escape(_character(fields, "delimiter", where)), "Removed", False)]


def _fixed_length(fields: dict[str, Any], where: str) -> list[_Cut]:
    length = optional(fields, "length", 5, where)
    if length < 1:
        raise LoadError(f"{where}.length: expected at least 1, got {length}")
    return [(rf"[\s\S]{{1,{length}}}", "Isolated", False)]


def _scripts(_fields: dict[str, Any], _where: str) -> list[_Cut]:
    """Cut into runs of one script plus characters that fit any; drop those before the first."""
    sets = [rf"\p{{hf:Script{number}}}" for number in range(N_SCRIPTS)]
    return [("|".join(f"{one}[{one}{sets[0]}]*" for one in sets[1:]), "Removed", True)]


# In these dialects \s is exactly Unicode's White_Space, which is what the library tests.
_BLANKS: _Cut = (r"\s", "Removed", False)
_READERS: dict[str, Callable[[dict[str, Any], str], list[_Cut]]] = {
    "Split": _split,
    "Digits": _digits,
    "Punctuation": _punctuation,
    "CharDelimiterSplit": _delimiter,
    "FixedLength": _fixed_length,
    "UnicodeScripts": _scripts,
    "WhitespaceSplit": lambda _fields, _where: [_BLANKS],
    "Whitespace": lambda _fields, _where: [(r"\p{hf:Word}+|[^\p{hf:Word}\s]+", "Removed", True)],
    "BertPreTokenizer": lambda _fields, _where: [
        _BLANKS,
        (r"\p{hf:Punctuation}", "Isolated", False),
    ],
}


def _add(result: Splitting, pattern: str, behavior: str, invert: bool) -> None:
    if behavior not in _BEHAVIORS:
        problem = f"pre_tokenizer: expected a behavior of {sorted(_BEHAVIORS)}, got {behavior!r}"
        raise LoadError(problem)
    if not pattern:
        result.reasons.append("pre-tokenizer Split with an empty pattern")
        return
    step = SplitStep(pattern, "onig", _BEHAVIORS[behavior], invert, on_bytes=result.byte_level)
    result.steps.append(step)


def escape(text: str) -> str:
    r"""Write a literal as a pattern: "a.b" -> "a\.b"."""
    return "".join(f"\\{c}" if c in _SPECIAL_CHARACTERS else c for c in text)
