"""Texts that look for trouble: classes of characters, short and long, hostile, and at random."""

from __future__ import annotations

import base64
import random
from itertools import product
from typing import TYPE_CHECKING

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterable

# One or two characters of every class that a split tells apart.
ALPHABET = (
    "'sStlrevdm\r\n \t\u0085\u00a0\u3000\u017f1\u0663aA\u01c5\u00df\u02b0\u00aa\u0301\u0903"
    "\u4e2d\u3007\u3042\u30a2\ud55c\u0e01\u05d0\u00b2\u2167\U0001f600\U00020000\U0001d400/.<_\x00"
)
# Enough of them for longer strings.
CORE_ALPHABET = "'sSlra\r\n \t\u30001A\u02b0\u0301\u4e2d\U0001f600/."


def short_texts(alphabet: str, longest: int) -> list[str]:
    """All strings of up to `longest` characters."""
    return ["".join(t) for n in range(1, longest + 1) for t in product(alphabet, repeat=n)]


def class_strings(seed: int, count: int, length: int, alphabet: str = ALPHABET) -> list[str]:
    """Long random strings in which runs of a class and single characters take turns."""
    choose = random.Random(seed)  # noqa: S311
    texts = []
    for _ in range(count):
        few = choose.sample(alphabet, choose.randrange(2, len(alphabet)))
        parts: list[str] = []
        while len(parts) < length:
            run = choose.choice((1, 1, 1, 1, 2, 2, 3, 7, 20, 70))
            parts += choose.choice(few) * run
        texts.append("".join(parts[:length]))
    return texts


def in_context(code_points: Iterable[int]) -> list[str]:
    """Each code point where letters, blanks, digits, contractions and itself meet it."""
    lines = [f"a{c}b {c}{c}'s 1{c}" for c in map(chr, code_points)]
    return ["\n".join(lines[i : i + 50]) for i in range(0, len(lines), 50)]


def shifted(texts: list[str], prefixes: range, fill: str = "x") -> list[str]:
    """Every text after a growing prefix, so that each part of it meets a 64-byte edge."""
    return [fill * n + text for text in texts for n in prefixes]


EXAMPLES = [
    "",
    " ",
    "Hello, world! It's 2024; they'll say: DON'T  panic...\n\n\tindented\r\n",
    "camelCase XMLHttpRequest snake_case_name SCREAMING_CASE x1y2z3 0x1F600 3.14159e-10",
    "def f(x):\n    return x**2  # comment\n\n\nclass A:\n\tpass\n",
    "https://example.org/a/b/c?d=e&f=g#h //// ///\n/// /",
    "\u4e2d\u6587\u5206\u8bcd\u662f\u4e00\u4e2a\u95ee\u9898\u3002\u65e5\u672c\u8a9e\u306e\u30c6\u30ad"
    "\u30b9\u30c8\u3067\u3059\u3002\ud55c\uad6d\uc5b4 \ubb38\uc7a5\uc785\ub2c8\ub2e4.",
    "\u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22\u0e44\u0e21\u0e48\u0e21\u0e35\u0e0a\u0e48\u0e2d"
    "\u0e07\u0e27\u0e48\u0e32\u0e07 \u0939\u093f\u0928\u094d\u0926\u0940 \u0627\u0644\u0639"
    "\u0631\u0628\u064a\u0629 \u0420\u0443\u0441\u0441\u043a\u0438\u0439 \u0395\u03bb\u03bb",
    "na\u00efve caf\u00e9 e\u0301\u0301\u0301 \u1e9b\u0323 Stra\u00dfe \u01c5 \u0130stanbul",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
    " \U0001f1e9\U0001f1ea \U0001f44d\U0001f3fd",
    "<|endoftext|> <s> </s> [INST] <|im_start|>user\n<|begin_of_text|><\uff5cbegin\u2581of\u2581",
    "a\x00b\x00\x00 \x00\x00\x00\x00\x00\x00\x00\x00\x00c\x7f\x1b[0m\ufeff\u200b\u2028\u2029",
]


def hostile_texts(size: int) -> dict[str, str]:
    """One text of about `size` characters of each kind that has broken a tokenizer."""
    choose = random.Random(5)  # noqa: S311
    letters = "abcdefghijklmnopqrstuvwxyz"
    return {
        "one letter": "a" * size,
        "spaces": " " * size,
        "newlines": "\n" * size,
        "digits": "0123456789" * (size // 10),
        "nul bytes": "\0" * size,
        "one han": "\u4e2d" * (size // 3),
        "crlf": "\r\n" * (size // 2),
        "mixed newlines": "\n \n" * (size // 3),
        "tabs and spaces": "\t \n\t" * (size // 4),
        "wide blanks": "\u3000\u00a0\n\u3000" * (size // 8),
        "punctuation": "".join(choose.choices("!?.,;:-_=+*/\\()[]{}<>|", k=size)),
        "apostrophes": "".join(choose.choices("''stmdlrve ", k=size)),
        "base64": base64.b64encode(choose.randbytes(size * 3 // 4)).decode(),
        "random letters": "".join(choose.choices(letters, k=size)),
        "random words": " ".join("".join(choose.choices(letters, k=9)) for _ in range(size // 10)),
        "two letters": "".join(choose.choices("ab", k=size)),
        "emoji": "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466" * (size // 25),
        "marks": "e" + "\u0301\u0323" * (size // 4),
        "thai": "\u0e44\u0e17\u0e22" * (size // 9),
        "random han": "".join(chr(choose.randrange(0x4E00, 0x9FA6)) for _ in range(size // 3)),
        "random bmp": "".join(chr(choose.randrange(0x20, 0xD800)) for _ in range(size // 3)),
        "cased": "".join(choose.choices("aB\u02b0\u4e2d\u0301'sS", k=size // 2)),
        "nul words": "".join(choose.choices("a\0 b", k=size)),
    }


TEXTS = st.text(
    st.one_of(
        st.sampled_from(ALPHABET),
        st.characters(codec="utf-8"),
        st.characters(codec="utf-8", max_codepoint=0x250),
    ),
    max_size=200,
)
