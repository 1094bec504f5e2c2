"""From words to ids: the kernels on the host give the engine's ids, whatever the tables hold."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests import vocabularies
from tests.cuda.sanitized import run_sanitized
from tests.cuda.words import Result, Setting, WordKernels, batch_of, mark, split, whole
from tests.models import (
    AS_TEXT,
    Way,
    assert_same,
    compile_payload,
    make_model,
    pair_model,
    ranked_model,
    run_batch,
    spec_of,
)

from tokenmill import _core
from tokenmill._cuda.layout import BatchOption
from tokenmill._cuda.steps import LONGEST_WORD, WordCapacity
from tokenmill._cuda.tables import exact_tokens
from tokenmill._spec import BpeModel

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.cuda.words import Marks
    from tests.models import Batch, Engine

LONG_WORD, OVERFLOW = 8, 32
SAMPLES = (
    "The quick brown fox doesn't jump over 12345 lazy dogs; it's asleep.\n\n",
    "def merge(left: int, right: int) -> int:\n    return self._table[left, right] or -1\n",
    "\u5b66\u800c\u65f6\u4e60\u4e4b\uff0c\u4e0d\u4ea6\u8bf4\u4e4e\uff1f",
    "\ub098\ub294 \ud559\uad50\uc5d0 \uac04\ub2e4. ",
    "\u0417\u0434\u0440\u0430\u0432\u0441\u0442\u0432\u0443\u0439\u0442\u0435! ",
    "internationalization antidisestablishmentarianism Donaudampfschifffahrtsgesellschaft ",
    "\U0001f600\U0001f680 caf\u00e9 na\u00efve \u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22",
    "=" * 70 + "\n" + " " * 40 + "x" + "0" * 20 + "\t\t\r\n",
    "zq" * 30 + " ",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the host libraries are, those of other modules too."""
    path = tmp_path_factory.getbasetemp() / "kernels"
    path.mkdir(exist_ok=True)
    return path


@cache
def model(name: str) -> Engine:
    return make_model(vocabularies.payload(name), Way(_core.targets()[0]))


@cache
def unsplit(name: str) -> Engine:
    """The vocabulary without its split: every document is one word."""
    spec = replace(vocabularies.spec(name), split=(), normalizer=())
    return make_model(compile_payload(spec), Way(_core.targets()[0]))


def device_tables(engine: Engine) -> dict[str, Any]:
    tables: dict[str, Any] = engine.device_tables()  # type: ignore[attr-defined]
    return tables


def expected(engine: Engine, texts: Sequence[bytes]) -> Batch:
    return run_batch(engine, list(texts), 1, AS_TEXT)


def check(result: Result, engine: Engine, texts: Sequence[bytes], what: object) -> None:
    assert not result.flags.any()
    assert_same(batch_of(result), expected(engine, texts), texts, what)


def some_texts(seed: int, count: int = 60) -> list[str]:
    """Documents made of the samples, some of them empty or of one byte."""
    choose = random.Random(seed)  # noqa: S311
    texts = ["", "a"]
    for _ in range(count):
        parts = choose.choices(SAMPLES, k=choose.randrange(12))
        texts.append("".join(part[choose.randrange(len(part)) :] for part in parts))
    return [*texts, "\n", ""]


def texts_of(name: str, seed: int) -> tuple[list[bytes], Marks]:
    texts = some_texts(seed)
    return [text.encode() for text in texts], split(vocabularies.spec(name).split[0].pattern, texts)


@pytest.mark.parametrize("name", ["gpt2", "llama3", "o200k"])
def test_words_of_texts_have_the_engines_ids_cold_and_warm(name: str, folder: Path) -> None:
    texts, marks = texts_of(name, 1)
    kernels = WordKernels(folder, device_tables(model(name)), Setting())
    cold = kernels.run(marks)
    assert cold.counters[0] > 0, "nothing was missing"
    assert cold.counters[10] > 0, "nothing was learnt"
    check(cold, model(name), texts, (name, "cold"))
    for time in range(2):
        warm = kernels.run(marks)
        assert warm.counters[0] < cold.counters[0] / 4
        check(warm, model(name), texts, (name, "warm", time))


def test_ids_of_two_bytes_are_the_same(folder: Path) -> None:
    texts, marks = texts_of("gpt2", 2)
    kernels = WordKernels(folder, device_tables(model("gpt2")), Setting())
    check(kernels.run(marks, bits=16), model("gpt2"), texts, "16 bits")


@pytest.mark.parametrize(
    "words",
    [WordCapacity(64, 64, 256), WordCapacity(1 << 10, 16, 64), WordCapacity(1 << 18, 2, 4)],
    ids=["tiny", "few long words", "hardly any long word"],
)
def test_tables_that_are_too_small_change_nothing(words: WordCapacity, folder: Path) -> None:
    kernels = WordKernels(folder, device_tables(model("gpt2")), Setting(words=words))
    for seed in (3, 4, 3):
        texts, marks = texts_of("gpt2", seed)
        check(kernels.run(marks), model("gpt2"), texts, (words, seed))
    filled = np.count_nonzero(kernels.table("words").reshape(-1, 8)[:, 3])
    assert filled <= words.entries // 2
    assert np.count_nonzero(kernels.table("long_slots").reshape(-1, 4)[:, 0]) <= max(
        words.long_slots // 2, 1
    )


def test_a_full_table_is_not_counted_up_for_ever(folder: Path) -> None:
    setting = Setting(words=WordCapacity(64, 64, 256), seeded=False)
    kernels = WordKernels(folder, device_tables(model("gpt2")), setting)
    _, marks = texts_of("gpt2", 5)
    counts = []
    for _ in range(4):
        kernels.run(marks)
        counts.append(kernels.learnt)
    assert counts[1] == counts[3]


def test_without_seeds_and_without_learning_all_words_are_merged(folder: Path) -> None:
    texts, marks = texts_of("gpt2", 6)
    kernels = WordKernels(folder, device_tables(model("gpt2")), Setting(seeded=False))
    for options in (0, BatchOption.KEEP_REPEATS):
        result = kernels.run(marks, options)
        assert result.counters[0] == len(marks.starts)
        check(result, model("gpt2"), texts, options)
    assert result.counters[2:8].sum() == len(marks.starts), "repeats were left out"
    assert kernels.learnt == [0, 0, 0, 0]


def test_repeats_that_are_kept_and_learnt_change_nothing(folder: Path) -> None:
    texts, marks = texts_of("gpt2", 7)
    kernels = WordKernels(folder, device_tables(model("gpt2")), Setting(seeded=False))
    for _ in range(2):
        check(
            kernels.run(marks, BatchOption.KEEP_REPEATS | BatchOption.LEARN),
            model("gpt2"),
            texts,
            "repeats",
        )


def test_repeats_are_merged_once(folder: Path) -> None:
    texts = [b"unbelievably odd "] * 50
    marks = mark([[[b"unbelievably"], [b" odd"], [b" "]] for _ in texts])
    kernels = WordKernels(folder, device_tables(model("gpt2")), Setting(seeded=False))
    result = kernels.run(marks)
    assert result.counters[0] == 150
    assert result.counters[2:8].tolist() == [3, 0, 0, 0, 0, 0]
    check(result, model("gpt2"), texts, "repeats")


def test_small_tiles_and_blocks_in_any_order_change_nothing(folder: Path) -> None:
    texts, marks = texts_of("gpt2", 8)
    for shuffle in range(3):
        setting = Setting(tile=64, shuffle=shuffle)
        kernels = WordKernels(folder, device_tables(model("gpt2")), setting)
        for time in range(2):
            check(kernels.run(marks), model("gpt2"), texts, (shuffle, time))


@pytest.mark.parametrize("texts", [[b""], [], [b"", b"", b"a", b"", b""], [b"a"] * 100])
def test_documents_of_no_or_one_byte(texts: list[bytes], folder: Path) -> None:
    kernels = WordKernels(folder, device_tables(unsplit("gpt2")), Setting(seeded=False))
    check(kernels.run(whole(texts)), unsplit("gpt2"), texts, "few bytes")


def test_tiles_with_more_words_than_a_round(folder: Path) -> None:
    """A round has 2048 words, a tile up to 8192: short ones, some of which have many ids."""
    choose = random.Random(15)  # noqa: S311
    parts = [b"a", b"b", b" c", b"", b"zq", b"xyzzyq", b"ab" * 40]
    texts = choose.choices(parts, weights=[9, 9, 5, 1, 3, 1, 0.02], k=30000)
    for tile, seeded in ((8192, True), (8192, False), (1024, False)):
        setting = Setting(tile=tile, shuffle=2, seeded=seeded)
        kernels = WordKernels(folder, device_tables(unsplit("gpt2")), setting)
        for bits in (32, 16):
            result = kernels.run(whole(texts), bits=bits, misses=len(texts))
            check(result, unsplit("gpt2"), texts, (tile, seeded, bits))


def test_ids_that_begin_anywhere_in_memory(folder: Path) -> None:
    """Ids are written in fours, whose place depends on where the ids before have ended."""
    kernels = WordKernels(folder, device_tables(unsplit("gpt2")), Setting(tile=64))
    for count in range(1, 12):
        texts = [b"a"] * count + [b"zqzqzq" * 20, b"", b"b"]
        for bits in (32, 16):
            check(kernels.run(whole(texts), bits=bits), unsplit("gpt2"), texts, (count, bits))


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
    assert result.flags[:6].tolist() == [0, LONG_WORD, 0, 0, LONG_WORD, 0]
    assert result.counters[8] == 2
    kept = [text if len(text) <= LONGEST_WORD else b"" for text in texts]
    assert_same(batch_of(result), expected(engine, kept), texts, "long words")


def test_documents_whose_misses_find_no_room_are_flagged(folder: Path) -> None:
    texts, marks = texts_of("gpt2", 11)
    kernels = WordKernels(folder, device_tables(model("gpt2")), Setting(tile=64, shuffle=1))
    result = kernels.run(marks, misses=40)
    flagged = result.flags[: len(texts)] == OVERFLOW
    assert result.counters[0] > 40
    assert 0 < flagged.sum() == result.counters[8] < len(texts)
    ids, offsets = expected(model("gpt2"), texts)
    for i in np.flatnonzero(~flagged):
        got = result.ids[result.offsets[i] : result.offsets[i + 1]]
        assert np.array_equal(got, ids[offsets[i] : offsets[i + 1]]), texts[i]


def test_documents_whose_ids_find_no_room_are_flagged(folder: Path) -> None:
    texts, marks = texts_of("gpt2", 12)
    ids, offsets = expected(model("gpt2"), texts)
    room = int(offsets[len(texts) // 2]) + 1
    kernels = WordKernels(folder, device_tables(model("gpt2")), Setting())
    result = kernels.run(marks, ids=room)
    assert result.counters[12] == offsets[-1]
    assert np.array_equal(result.offsets, offsets)
    assert np.array_equal(result.flags[: len(texts)] == OVERFLOW, offsets[1:] > room)
    assert np.array_equal(result.ids[:room], ids[:room])


def characters(choose: random.Random, size: int) -> str:
    return "".join(chr(0x4E00 + choose.randrange(40)) for _ in range(size))


def cut(tokens: Sequence[bytes], word: bytes) -> list[bytes]:
    """Cut a word of 3-byte characters wherever no token could lie across."""
    spans = [
        (at, at + len(token))
        for token in set(tokens)
        for at in range(len(word) - len(token) + 1)
        if len(token) > 1 and word.startswith(token, at)
    ]
    places = [
        at for at in range(3, len(word), 3) if not any(begin < at < end for begin, end in spans)
    ]
    bounds = [0, *places, len(word)]
    return [word[i:j] for i, j in pairwise(bounds)]


def test_a_piece_is_merged_where_an_equal_word_is_a_token(folder: Path) -> None:
    choose = random.Random(13)  # noqa: S311
    tokens = sorted({characters(choose, choose.choice([1, 2, 3])).encode() for _ in range(60)})
    choose.shuffle(tokens)
    engine = make_model(
        compile_payload(spec_of(ranked_model(tokens, ignore_merges=True))),
        Way(_core.targets()[0]),
    )
    tables = device_tables(engine)
    assert exact_tokens(tables).size, "every token can be merged"
    texts = [characters(choose, choose.randrange(1, 30)).encode() for _ in range(2000)] + tokens
    marks = mark([[cut(tokens, text)] for text in texts])
    assert set(marks.cuts), "nothing was cut"
    for seeded in (False, True):
        kernels = WordKernels(folder, tables, Setting(seeded=seeded))
        for time in range(2):
            check(kernels.run(marks), engine, texts, (seeded, time))


def test_a_vocabulary_of_pairs_and_random_bytes(folder: Path) -> None:
    engine = make_model(compile_payload(spec_of(pair_model(0.4))), Way(_core.targets()[0]))
    choose = random.Random(14)  # noqa: S311
    texts = [choose.randbytes(choose.randrange(200)) for _ in range(300)]
    texts = [text.decode("latin-1").encode() for text in texts]
    kernels = WordKernels(folder, device_tables(engine), Setting())
    for time in range(2):
        check(kernels.run(whole(texts)), engine, texts, time)


def test_kernels_under_sanitizers(folder: Path) -> None:
    run = run_sanitized(folder)
    assert run.stdout.endswith("clean\n"), run.stdout + run.stderr
