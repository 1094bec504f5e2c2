"""Words of Unigram models that are cut inside: ties, unknown characters, long words."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from tests.encode.against_library import assert_ids_of_library
from tests.encode.test_other_models import tokenizer_of
from tests.encode.test_reference_models import BAR
from tests.load.sources import write_json
from tests.models import compile_payload

from tokenmill._load.source import load_source

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WIDE = [chr(code) for code in range(0x4E00, 0x4E00 + 2100)]  # enough of them to be cut between
RARE = ["\u9f99", "\u9f9a", "~", "\u00f8", "\U0001f600"]  # characters that no token has
LETTERS = f"abz{BAR}"
# How tokens may be scored: all alike, so that many ways are equal; sums that are never exact, so
# that equal ways differ in the last bit by what comes before them; or exact in any order.
SCORES: dict[str, Callable[[random.Random, str], float]] = {
    "alike": lambda _, token: -0.1 * len(token),
    "tenths": lambda generator, _: -generator.randint(11, 19) / 10,
    "thirds": lambda generator, token: -len(token) * generator.choice([1, 1, 2]) / 3,
    "exact": lambda generator, _: -generator.randint(1, 6) / 4,
}


def model_of(generator: random.Random, scores: str, has_bytes: bool) -> dict[str, Any]:
    """Tokens of letters, of marks and of wide characters, seldom of two kinds."""
    tokens = {"<unk>": None}
    for alphabet, longest, count in ((LETTERS, 5, 40), (".,!", 4, 14), ("".join(WIDE[:6]), 4, 40)):
        for letter in alphabet:
            if generator.random() < 0.9:
                tokens[letter] = None
        for _ in range(count):
            length = generator.randint(2, longest)
            tokens["".join(generator.choices(alphabet, k=length))] = None
    tokens |= dict.fromkeys(generator.choice(["<>unk", "<>", ""]))
    for mixed in (f"{BAR}a.", "a,", f"{WIDE[0]}.", f"b{WIDE[1]}", f".{WIDE[2]}", "~~"):
        if generator.random() < 0.3:
            tokens[mixed] = None
    tokens |= dict.fromkeys(WIDE[6:])
    if has_bytes:
        tokens |= dict.fromkeys(f"<0x{byte:02X}>" for byte in range(256))
    score = SCORES[scores]
    vocab = [[token, score(generator, token)] for token in tokens]
    unk_id = generator.choice([0, 0, 1])  # it may be a token like others
    return {"type": "Unigram", "unk_id": unk_id, "vocab": vocab, "byte_fallback": has_bytes}


def texts_of(generator: random.Random) -> list[str]:
    """Words that go from one alphabet to another, some of them very long."""
    parts = [*"abz.,!", "aaaa", "....", ",.", *WIDE[:8], WIDE[0] * 5, WIDE[1] * 3, *RARE, "<unk>"]

    def word(size: int) -> str:
        return "".join(generator.choices(parts, k=size))

    texts = [" ".join(word(generator.randint(1, 30)) for _ in range(20)) for _ in range(40)]
    texts += [word(size) + " ab" for size in (600, 4000, 9000)]
    texts += [WIDE[0] * 9000, "ab." * 7000, "a" * 20000 + "." + "b" * 20000 + WIDE[0], RARE[0] * 99]
    # Runs of characters that begin no token, alone and next to others, with one at every distance.
    runs = "".join(RARE[:2]) * 20
    texts += [runs[:size] + end for size in range(1, 40) for end in ("", "a", RARE[2], WIDE[0])]
    texts += [RARE[4] + runs, runs[:9] + RARE[3] + runs[:9], f"{runs} {runs}a {RARE[0]}"]
    return texts


@pytest.mark.parametrize("has_bytes", [False, True])
@pytest.mark.parametrize("scores", SCORES)
def test_cut_words_have_the_ids_of_whole_ones(tmp_path: Path, scores: str, has_bytes: bool) -> None:
    generator = random.Random(f"{scores} {has_bytes}")  # noqa: S311
    setting = "words" if scores == "alike" else "metaspace"
    file = write_json(tmp_path, tokenizer_of(model_of(generator, scores, has_bytes), setting))
    payload = compile_payload(load_source(file))
    cases = texts_of(generator)
    assert_ids_of_library(file, payload, cases)
