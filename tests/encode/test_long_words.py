"""Words of any length are merged as `tokenizers` merges them, in windows or not."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest
import tokenizers
from tests.load.sources import BYTES, tokenizer_json, write_json
from tests.models import TINY, Way, assert_same, compile_payload, make_model, run_batch
from tests.timing import check_linear
from tests.vocabularies import flat, payload

from tokenmill import _core
from tokenmill._load.byte_level import ALPHABET
from tokenmill._load.source import load_source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

FASTEST = _core.targets()[-1]
WAYS = [Way(FASTEST), Way(FASTEST, 1, TINY), Way("scalar")]
# Around every size at which the code takes another way: short words, windows, margins, the ring.
SIZES = [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 448]
SIZES += [511, 512, 513, 575, 576, 577, 1023, 1024, 1025, 1791, 1792, 1793, 2047, 2048, 2049]
SIZES += [2303, 2304, 2305, 3000, 4095, 4096, 4097, 10_000, 32_765, 32_766, 32_767, 40_000]


Merge = tuple[str, str]  # as a tokenizer.json spells bytes


def spelled(text: str) -> str:
    return "".join(ALPHABET[byte] for byte in text.encode())


def letter_merges(letters: str) -> list[Merge]:
    """What builds the letters from their bytes."""
    rows = map(spelled, letters)
    return list(dict.fromkeys((row[:n], row[n]) for row in rows for n in range(1, len(row))))


def chain_merges(rng: random.Random, letters: str, count: int, longest: int) -> list[Merge]:
    """Random merges: each joins two tokens that exist, so long tokens grow out of short ones."""
    merges = letter_merges(letters)
    tokens = [*map(spelled, letters), *(c for c in spelled(letters) if c >= "\u0080")]
    seen = {left + right for left, right in merges}
    for _ in range(50 * count):
        left, right = rng.choice(tokens[-12:] + tokens), rng.choice(tokens[-12:] + tokens)
        if len(left) + len(right) <= longest and left + right not in seen:
            merges.append((left, right))
            seen.add(left + right)
            tokens.append(left + right)
        if len(merges) >= count:
            break
    later = merges[len(merges) // 2 :]
    return [*merges[: len(merges) // 2], *rng.sample(later, len(later))]


def definition(merges: Sequence[Merge], **model: Any) -> dict[str, Any]:
    """A tokenizer whose every text is one word."""
    vocab = dict(BYTES)
    for left, right in merges:
        vocab.setdefault(left + right, len(vocab))
    byte_level = {
        "type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False,
    }  # fmt: skip
    pairs = [list(merge) for merge in merges]
    return tokenizer_json(vocab=vocab, merges=pairs, model=model, pre_tokenizer=byte_level)


def check(data: dict[str, Any], texts: Sequence[str], directory: Path) -> None:
    library = tokenizers.Tokenizer.from_str(json.dumps(data))
    expected = flat([one.ids for one in library.encode_batch_fast(list(texts))])
    compiled = compile_payload(load_source(write_json(directory, data)))
    for way in WAYS:
        model = make_model(compiled, way)
        for _ in range(2):  # the second time from the tables
            assert_same(run_batch(model, list(texts)), expected, texts, way)


def words(rng: random.Random, letters: str, sizes: Sequence[int]) -> Iterator[str]:
    """Random words, runs, and words that repeat a short or a long period."""
    for size in sizes:
        yield "".join(rng.choices(letters, k=size))
        yield rng.choice(letters) * size
        for period in (2, 3, 5, 64, 511, 512, 513):
            part = "".join(rng.choices(letters, k=period))
            yield (part * (size // period + 1))[:size]
        front = rng.choice(letters) * (size // 2)
        yield front + "".join(rng.choices(letters, k=size - len(front)))


def some_sizes(rng: random.Random, most: int) -> list[int]:
    return [size for size in rng.sample(SIZES, 9) if size <= most] + [rng.randrange(1, most)]


@pytest.mark.parametrize("seed", range(16))
def test_random_vocabularies(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)  # noqa: S311
    letters = rng.choice(["ab", "abc", "a", "ab\u4e2d", "\u4e2d\u6587\u3042"])
    longest = rng.choice([4, 16, 40, 150, 400, 1200])
    merges = chain_merges(rng, letters, rng.choice([3, 20, 120]), longest)
    check(definition(merges), list(words(rng, letters, some_sizes(rng, 10_000))), tmp_path)


def power_merges(letter: str, sizes: Sequence[int]) -> list[Merge]:
    """Tokens of these many equal letters, each from the two largest parts that fit."""
    merges: list[Merge] = []
    known = [1]
    for size in sizes:
        left = max(n for n in known if n < size and size - n in known)
        merges.append((letter * left, letter * (size - left)))
        known.append(size)
    return merges


@pytest.mark.parametrize("order", ["short first", "long first", "mixed"])
@pytest.mark.parametrize("largest", [64, 300, 512, 1024])
def test_tokens_as_long_as_a_window(largest: int, order: str, tmp_path: Path) -> None:
    sizes = [n for n in (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048) if n < largest]
    sizes += [largest - largest % 2, largest // 2 * 2 + 2] if largest > 64 else [largest]
    merges = power_merges("a", sorted(set(sizes) & set(possible(sizes))))
    others = [("a" * n + "b" * m, "c") for n, m in ((1, 0), (4, 0), (64, 0))]
    merges += [("b", "a"), ("ba", "a" * 16), ("a" * 16, "b"), ("c", "a"), *others[:1]]
    rng = random.Random(f"{largest}{order}")  # noqa: S311
    if order == "long first":
        merges = merges[::-1]
    if order == "mixed":
        rng.shuffle(merges)
    check(definition(merges), list(long_runs(rng, largest)), tmp_path)


def possible(sizes: Sequence[int]) -> list[int]:
    """Those that are a sum of two sizes before them."""
    known = [1]
    for size in sorted(set(sizes)):
        if any(size - n in known for n in known):
            known.append(size)
    return known


def long_runs(rng: random.Random, largest: int) -> Iterator[str]:
    for size in (*SIZES[::5], largest - 1, largest, largest + 1, 2 * largest, 3 * largest + 1):
        run = "a" * size
        yield run
        yield "b" + run
        yield run + "b"
        yield run + "c" + run
    for _ in range(40):
        parts = (rng.choice("abc") * rng.choice([1, 1, 2, 15, 16, 17, 63, 64, 300, 512, 700])
                 for _ in range(rng.randrange(2, 40)))  # fmt: skip
        yield "".join(parts)


@pytest.mark.parametrize("size", [128, 256, 512, 2048])
def test_a_token_over_several_windows_is_found(size: int, tmp_path: Path) -> None:
    """Its parts look settled wherever a window shows only the first half of it."""
    doublings = [n for n in (2**k for k in range(1, 13)) if n <= size]
    merges = [*power_merges("a", doublings[:-1]), *power_merges("c", doublings)]
    merges.append(("a" * doublings[-2], "c" * size))
    texts = ["a" * n + "c" * m for n in (size // 2 - 1, size // 2, size) for m in (size - 1, size)]
    texts += ["b" * n + texts[3] + "c" * n + texts[3] for n in (1, 63, 400, 448, 512)]
    check(definition(merges), texts, tmp_path)


@pytest.mark.parametrize("seed", range(6))
def test_long_tokens_in_random_words(seed: int, tmp_path: Path) -> None:
    """Words put together from long tokens, their halves and single letters."""
    rng = random.Random(100 + seed)  # noqa: S311
    merges = chain_merges(rng, "ab", 60, rng.choice([100, 200, 300, 600]))
    tokens = [left + right for left, right in merges]
    texts = []
    for _ in range(100):
        pieces = rng.choices(
            [*tokens[-20:], *(t[: len(t) // 2] for t in tokens[-20:]), "a", "b"], k=30
        )
        texts.append("".join(pieces)[: rng.choice([600, 2000, 8000])])
    check(definition(merges), texts, tmp_path)


@pytest.mark.parametrize("ignore_merges", [False, True])
def test_tokens_that_no_merge_makes(ignore_merges: bool, tmp_path: Path) -> None:
    """Entries without a merge count only as whole words, and only with `ignore_merges`."""
    merges = [("a", "b"), ("ab", "c"), *letter_merges("\u4e2d\u6587")]
    data = definition(merges, ignore_merges=ignore_merges)
    vocab = data["model"]["vocab"]
    alone = ["ca", "cab", "abcabcabc", "b" * 20, "c" * 70, "b" * 600, "c" * 40_000]
    alone += ["\u4e2d\u6587", "\u4e2d\u6587\u4e2d", "\u4e2d" * 30, "\u6587" * 15_000]
    for entry in alone:
        vocab[spelled(entry)] = len(vocab)
    texts = [t for e in alone for t in (e, e + "a", "a" + e, e + e, e[:-1], e[1:])]
    check(data, texts, tmp_path)


@pytest.mark.parametrize("name", ["gpt2", "llama3", "cl100k"])
def test_time_is_linear_in_the_length_of_a_word(name: str) -> None:
    model = make_model(payload(name), Way(FASTEST))
    rng = random.Random(4)  # noqa: S311
    for letters in ("a", "ab", "etaoin", "\u4e2d", "\u4e2d\u6587\u3042"):
        text = "".join(rng.choices(letters, k=800_000))

        def encode(size: int, text: str = text) -> object:
            return run_batch(model, [text[:size]], special=1)

        check_linear(encode, 50_000, 16)
