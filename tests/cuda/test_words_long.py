"""From words to ids: every token, random words of every size, and very long ones."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.cuda.word_models import (
    check,
    device_tables,
    expected,
    unsplit,
)
from tests.cuda.words import Setting, WordKernels, batch_of, whole
from tests.models import (
    Way,
    assert_same,
    compile_payload,
    make_model,
    spec_of,
)

from tokenmill import _core
from tokenmill._cuda.layout import BatchCounter, DocumentFlag
from tokenmill._cuda.steps import LONGEST_WORD
from tokenmill._spec import BpeModel

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.models import Engine


def tokens_of(engine: Engine) -> list[bytes]:
    """The tokens that are text: the engine takes nothing else."""
    tables = device_tables(engine)
    offsets, data = tables["token_offsets"].tolist(), tables["token_bytes"].tobytes()
    tokens = [data[begin:end] for begin, end in pairwise(offsets) if begin < end]
    return [token for token in tokens if token == text_of(token)]


def text_of(data: bytes) -> bytes:
    """Leave out what is not UTF-8."""
    return data.decode(errors="ignore").encode()


@pytest.mark.parametrize(
    "name",
    [
        "gpt2",
        "llama3",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("cl100k", "o200k", "tekken")),
    ],
)
@pytest.mark.parametrize("seeded", [False, True])
def test_every_token_as_a_word_with_and_without_a_blank(
    name: str, seeded: bool, folder: Path
) -> None:
    engine = unsplit(name)
    tokens = tokens_of(engine)
    texts = [*tokens, *(b" " + token for token in tokens)]
    kernels = WordKernels(folder, device_tables(engine), Setting(seeded=seeded))
    check(kernels.run(whole(texts), 0), engine, texts, (name, seeded))


def random_words(pieces: Sequence[bytes], seed: int, sizes: Sequence[int]) -> list[bytes]:
    """Words of about these sizes, made of pieces."""
    choose = random.Random(seed)  # noqa: S311
    words = []
    for size in sizes:
        word = b"".join(choose.choices(pieces, k=size))
        words.append(text_of(word[:size]))
    return words


SIZES = [*range(1, 40), 63, 64, 65, 127, 128, 129, 130, 200, 511, 512, 513, 1000, 3000, 8192]


@pytest.mark.parametrize(
    "name",
    ["gpt2", "llama3", *(pytest.param(n, marks=pytest.mark.slow) for n in ("cl100k", "o200k"))],
)
def test_random_words_of_every_size(name: str, folder: Path) -> None:
    engine = unsplit(name)
    tokens = tokens_of(engine)
    choose = random.Random(9)  # noqa: S311
    kernels = WordKernels(folder, device_tables(engine), Setting(seeded=False))
    for seed in range(6):
        some = [*choose.sample(tokens, 2 if seed == 0 else 40), b"a", b" ", b"\xe4\xb8\xad"]
        texts = random_words(some, seed, SIZES)
        check(kernels.run(whole(texts), 0), engine, texts, (name, seed))


def test_long_words_with_merges_out_of_order(folder: Path) -> None:
    """(ab, a) comes before (a, b): in "abab" the first merge makes room for it, and "aba" is made.

    Merging both "ab" at once would be wrong.
    """
    table = [*(bytes([byte]) for byte in range(256)), b"ab", b"aba", b"cab", b"bb"]
    merges = np.array([[256, 97], [97, 98], [99, 256], [98, 98]], dtype=np.uint32)
    bpe = BpeModel(tuple(table), tuple(table), merges, None, False)
    engine = make_model(compile_payload(spec_of(bpe)), Way(_core.targets()[0]))
    kernels = WordKernels(folder, device_tables(engine), Setting(seeded=False))
    texts = random_words([b"ab", b"a", b"b", b"c"], 10, [4, 16, 60, 150, 300, 1000] * 6)
    texts.append(b"ab" * 100)
    check(kernels.run(whole(texts), 0), engine, texts, "out of order")


@pytest.mark.parametrize("word", [b"a", b"ab", b"aab", b" ", b"=-", b"\xe4\xb8\xad"])
def test_long_runs(word: bytes, folder: Path) -> None:
    texts = [text_of((word * size)[:size]) for size in (129, 131, 132, 512, 1000, 4097, 8192)]
    kernels = WordKernels(folder, device_tables(unsplit("gpt2")), Setting(seeded=False))
    check(kernels.run(whole(texts), 0), unsplit("gpt2"), texts, word)


def test_a_word_that_is_too_long_is_left_to_the_cpu(folder: Path) -> None:
    engine = unsplit("gpt2")
    texts = [b"before", b"ab" * LONGEST_WORD, b"", b"after", b"x" * (LONGEST_WORD + 1), b"end"]
    result = WordKernels(folder, device_tables(engine), Setting()).run(whole(texts))
    assert result.flags[:6].tolist() == [0, DocumentFlag.LONG_WORD, 0, 0, DocumentFlag.LONG_WORD, 0]
    assert result.counters[BatchCounter.FLAGGED] == 2
    kept = [text if len(text) <= LONGEST_WORD else b"" for text in texts]
    assert_same(batch_of(result), expected(engine, kept), texts, "long words")
