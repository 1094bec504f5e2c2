"""The counters of the core: words against slow tables, bytes, and times that add up."""

from __future__ import annotations

import random
import string
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import tokenizers
from tests.models import TINY, Way, compile_payload, make_model, ranked_model, spec_of
from tests.reference.split import onig_words
from tests.reference.word_counts import SlowTables
from tests.split.patterns import CHAINS, GPT2

from tokenmill import InvalidUtf8, _core
from tokenmill._core import BlockRules, CallCounts, TextBuffer
from tokenmill._load.source import load_source
from tokenmill._spec import AddedToken

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

TARGETS = _core.targets()
SIZES = (1, 2, 5, 7, 8, 11, 15, 20, 31, 40, 200)


@pytest.fixture(scope="module")
def payload() -> bytes:
    added = [AddedToken("<s>", 256, special=True)]
    return compile_payload(spec_of(ranked_model([], holes=1), CHAINS["gpt2"], added))


def distinct_words(count: int, seed: int = 1) -> list[str]:
    """Words with a blank in front, all different, of many sizes."""
    choose = random.Random(seed)  # noqa: S311 -- repeatable, not secret
    found = dict.fromkeys(" " + letter for letter in string.ascii_lowercase)
    while len(found) < count:
        size = choose.choice(SIZES)
        found[" " + "".join(choose.choices(string.ascii_lowercase, k=size))] = None
    return list(found)


def counted(
    model: Any, texts: Sequence[object], threads: int = 1, **options: Any
) -> dict[str, Any]:
    """Return what one call counts."""
    counts = CallCounts(options.pop("exact", True))
    model.encode_batch(texts, threads, 32, counts=counts, **options)
    return counts.as_dict()


def kinds(words: dict[str, Any]) -> dict[str, int]:
    return {kind: count for kind, count in words["hit"].items() if count}


@pytest.mark.parametrize("target", TARGETS)
def test_words_are_those_of_slow_tables(payload: bytes, target: str) -> None:
    model = make_model(payload, Way(target))
    slow = SlowTables(len)  # a token for each byte
    known = distinct_words(400)
    choose = random.Random(2)  # noqa: S311 -- repeatable, not secret
    texts = ["".join(known), *("".join(choose.choices(known, k=3000)) for _ in range(5))]
    for text in texts:
        before = slow.looked_up, slow.missed, dict(slow.hit)
        slow.look_up(onig_words(GPT2, text))
        words = counted(model, [text])["words"]
        assert words["looked_up"] == slow.looked_up - before[0] == len(onig_words(GPT2, text))
        assert words["missed"] == slow.missed - before[1]
        assert kinds(words) == dict(slow.hit - type(slow.hit)(before[2]))
        assert words["evicted"] == 0


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("shrink", [0, TINY])
def test_every_word_is_looked_up_once(
    payload: bytes, target: str, threads: int, shrink: int
) -> None:
    choose = random.Random(threads)  # noqa: S311 -- repeatable, not secret
    known = distinct_words(3000, seed=threads)
    texts = ["".join(choose.choices(known, k=700)) for _ in range(200)]
    expected = sum(len(onig_words(GPT2, text)) for text in texts)
    model = make_model(payload, Way(target, threads, shrink))
    for exact in (True, False):
        found = counted(model, texts, threads, exact=exact)
        assert found["words"]["looked_up"] == expected
        assert found["documents"] == len(texts)
        assert 1 <= found["threads"] <= threads
        assert found["words"]["evicted"] > 0 or not shrink


def test_words_that_are_looked_up_in_no_table_count(payload: bytes) -> None:
    model = make_model(payload, Way(TARGETS[0]))
    long_word = "x" * 20_000
    for _ in range(2):
        words = counted(model, [f"{long_word} a"])["words"]
        assert words["looked_up"] == 2
    assert words["missed"] == 1  # the other one is known by then
    words = counted(model, ["<s> a<s>"])["words"]  # an added token is not a word
    assert words["looked_up"] == 1


def test_bytes_are_those_of_the_texts(payload: bytes) -> None:
    model = make_model(payload, Way(TARGETS[0]))
    text = "h\u00e9llo w\u00f6rld <s> again"
    found = counted(model, [text, text.encode(), ""])
    size = len(text.encode())
    stages = {name: total[1] for name, total in found["stages"].items()}
    assert stages["normalize"] == 2 * size
    assert stages["split"] == stages["look_up"] == 2 * (size - len("<s>"))
    ids = model.encode_batch([text, text], 1, 32)[0]
    assert stages["emit"] == 4 * len(ids)
    assert 0 < stages["merge"] <= stages["split"]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("threads", [1, 3])
def test_the_stages_of_a_call_add_up_to_its_time(payload: bytes, target: str, threads: int) -> None:
    known = distinct_words(3000)
    choose = random.Random(3)  # noqa: S311 -- repeatable, not secret
    texts = ["".join(choose.choices(known, k=700)) for _ in range(300)]
    model = make_model(payload, Way(target, threads))
    for exact in (True, False):
        found = counted(model, texts, threads, exact=exact)
        total = sum(seconds for seconds, _ in found["stages"].values())
        assert total == pytest.approx(found["wall_seconds"] * found["threads"], rel=0.01)
        busy = ("normalize", "split", "look_up", "merge", "emit")
        assert all(found["stages"][name][0] > 0 for name in busy)


def test_the_clock_agrees_with_that_of_the_system(payload: bytes) -> None:
    model = make_model(payload, Way(TARGETS[-1]))
    texts = ["".join(distinct_words(3000))] * 60
    shares = []
    for _ in range(10):  # the thread may be stopped between the two clocks
        begin = time.perf_counter()
        found = counted(model, texts)
        shares.append(found["wall_seconds"] / (time.perf_counter() - begin))
        if shares[-1] > 0.97:
            break
    assert 0.97 < max(shares) < 1.01


def test_totals_are_the_sum_of_all_calls(payload: bytes) -> None:
    model: Any = make_model(payload, Way(TARGETS[0]))
    texts = ["".join(distinct_words(300, seed)) for seed in range(8)]
    parts = [counted(model, texts, threads) for threads in (1, 2)]
    for text in texts * 40:
        model.encode(text[:100])
    model.count(texts[0], limit=3)
    total = model.counters()
    words = sum(len(onig_words(GPT2, text[:100])) for text in texts) * 40
    words += sum(part["words"]["looked_up"] for part in parts)
    assert words < total["words"]["looked_up"] <= words + 300
    assert total["documents"] == 2 * len(texts) + 40 * len(texts) + 1
    for name in ("split", "merge", "emit"):
        assert total["stages"][name][0] >= sum(part["stages"][name][0] for part in parts) * 0.999
    assert model.release() > 0
    assert model.counters() == total  # what workers have counted stays


def test_a_call_that_fails_leaves_counters_that_work(payload: bytes) -> None:
    model: Any = make_model(payload, Way(TARGETS[0]))
    good, bad = b"a b c " * 1000, b"a b c " * 1000 + b"\xff"
    before = counted(model, [good])["words"]
    for threads in (1, 2):
        counts = CallCounts()
        with pytest.raises(InvalidUtf8):
            model.encode_batch([good, bad] * 50, threads, 32, counts=counts)
        assert counts.as_dict()["words"]["looked_up"] == 0
    assert counted(model, [good])["words"]["looked_up"] == before["looked_up"]


def test_ids_are_the_same_with_counts(payload: bytes) -> None:
    model: Any = make_model(payload, Way(TARGETS[-1]))
    texts = ["".join(distinct_words(500, seed)) for seed in range(20)]
    for threads in (1, 2):
        plain = model.encode_batch(texts, threads, 32)
        for exact in (True, False):
            found = model.encode_batch(texts, threads, 32, counts=CallCounts(exact))
            assert all(map(np.array_equal, plain, found))
        spans = model.encode_spans(texts, threads, 32, counts=CallCounts())
        assert all(map(np.array_equal, spans, model.encode_spans(texts, threads, 32)))


def write_unigram(folder: Path) -> Path:
    """Write a tokenizer that looks words up piece by piece."""
    pieces = [("<unk>", 0.0), ("\u2581", -3.0), ("\u2581the", -2.5), ("or", -4.0)]
    pieces += [(letter, -5.0 - i / 50) for i, letter in enumerate(string.ascii_lowercase)]
    made = tokenizers.Tokenizer(tokenizers.models.Unigram(pieces, unk_id=0))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    made.save(str(folder / "tokenizer.json"))
    return folder / "tokenizer.json"


@pytest.mark.parametrize("kind", ["wordpiece", "unigram"])
def test_every_kind_of_model_counts_a_word_once(kind: str, tmp_path: Path) -> None:
    if kind == "wordpiece":
        tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "book", *string.digits]
        tokens += [f"{begin}{c}" for begin in ("", "##") for c in string.ascii_lowercase]
        path = tmp_path / "vocab.txt"
        path.write_text("\n".join(tokens), encoding="utf-8")
    else:
        path = write_unigram(tmp_path)
    model: Any = make_model(compile_payload(load_source(path)), Way(TARGETS[-1]))
    texts = [
        f"chapter {i}: the words of a book, \u4e2d\u6587 and na\u00efve ones" for i in range(500)
    ]
    first, second = (counted(model, texts)["words"] for _ in range(2))
    assert first["missed"] > 0
    assert second["missed"] == 0
    assert first["looked_up"] == second["looked_up"] > 500
    one_by_one = [counted(model, [text])["words"]["looked_up"] for text in texts]
    assert sum(one_by_one) == first["looked_up"]


def test_blocks_of_a_file_count_their_reading(payload: bytes) -> None:
    model: Any = make_model(payload, Way(TARGETS[-1]))
    block = b'{"text": "some words to be read, again and again"}\n' * 5000
    rules = BlockRules("text", [], [])
    counts = CallCounts()
    model.encode_jsonl(block, rules, counts)
    found = counts.as_dict()
    assert found["stages"]["parse"][0] > 0
    assert found["stages"]["parse"][1] == len(block)
    assert found["documents"] == 5000
    total = sum(seconds for seconds, _ in found["stages"].values())
    assert total == pytest.approx(found["wall_seconds"], rel=0.01)
    texts = TextBuffer(np.frombuffer(b"some words", np.uint8), np.array([0, 4, 10]))
    model.encode_texts(texts, rules, counts)
    assert counts.as_dict()["documents"] == 5002
