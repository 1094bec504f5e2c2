"""Split patterns in use, as stages (pattern, dialect, behavior, invert)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenmill._compile.rules import Stage

SUFFIX = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
R50K = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
_REST = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = SUFFIX + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*" + _REST
QWEN2 = LLAMA3.replace("{1,3}", "")
QWEN35 = SUFFIX + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*" + _REST
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_CASED = "|".join(
    rf"[^\r\n\p{{L}}\p{{N}}]?{letters}SUFFIX"
    for letters in (f"{_UPPER}*{_LOWER}+", f"{_UPPER}+{_LOWER}*")
)
O200K = _CASED.replace("SUFFIX", SUFFIX + "?") + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*" + _REST
TEKKEN = _CASED.replace("SUFFIX", "") + r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*" + _REST
KIMI = r"[\p{Han}]+|" + O200K.replace(r"\p{M}]", r"\p{M}&&[^\p{Han}]]").replace("/", "")

DIGITS: Stage = (r"\p{hf:Numeric}", "onig", "isolated", False)
DEEPSEEK: tuple[Stage, ...] = (
    (r"\p{N}{1,3}", "onig", "isolated", False),
    ("[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+", "onig", "isolated", False),
    (
        r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^" + "\r\n"
        r"\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[" + "\r\n"
        r"]*|\s*[" + "\r\n"
        r"]+|\s+(?!\S)|\s+",
        "onig",
        "isolated",
        False,
    ),
)


def onig(pattern: str) -> tuple[Stage, ...]:
    return ((pattern, "onig", "isolated", False),)


def fancy(pattern: str) -> tuple[Stage, ...]:
    return ((pattern, "fancy", "isolated", False),)


CHAINS: dict[str, tuple[Stage, ...]] = {
    "gpt2": onig(GPT2),
    "r50k": fancy(R50K),
    "cl100k": fancy(CL100K),
    "llama3": onig(LLAMA3),
    "qwen2": onig(QWEN2),
    "qwen3.5": onig(QWEN35),
    "o200k": fancy(O200K),
    "o200k-removed": ((O200K, "onig", "removed", True),),
    "tekken": onig(TEKKEN),
    "kimi": fancy(KIMI),
    "smollm": (DIGITS, *onig(GPT2)),
    "deepseek": DEEPSEEK,
    "words": ((r"\w+|[^\w\s]+", "onig", "removed", True),),
    "bert": (
        (r"\p{hf:Whitespace}", "onig", "removed", False),
        (r"\p{hf:Punctuation}", "onig", "isolated", False),
    ),
    "punctuation-runs": ((r"\p{hf:Punctuation}", "onig", "contiguous", False),),
}
