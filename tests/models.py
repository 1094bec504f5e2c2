"""Small models made for one purpose, and the ways to run a model that must all agree."""

from __future__ import annotations

import random
from contextlib import contextmanager
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast
from unittest.mock import patch

import numpy as np
import pytest

from tokenmill import _core
from tokenmill._compile import model as compiler
from tokenmill._compile import split_plan
from tokenmill._spec import AddedToken, BpeModel, SplitStep, TokenizerSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tokenmill._compile.rules import Stage

    Batch = tuple[NDArray[np.uint32], NDArray[np.int64]]

TINY = 12  # shrink_tables: a handful of lines in every table, so that words push each other out
ENCODE, AS_TEXT, RAISE = 0, 1, 2


class Engine(Protocol):
    """`_core.Model` as the tests use it; its stub calls the arrays objects."""

    target: str
    max_id: int
    vocab_size: int

    # `options`: add_special_tokens, special_mode, errors.
    def encode(self, text: object, *options: int) -> NDArray[np.uint32]: ...
    def encode_batch(self, texts: object, threads: int, bits: int, *options: int) -> Batch: ...
    def encode_spans(
        self, texts: object, threads: int, bits: int, *options: int
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.uint32]]: ...
    def encode_into(
        self, texts: object, out: NDArray[Any], threads: int, *options: int
    ) -> NDArray[np.int64]: ...
    def count_batch(
        self, texts: object, threads: int, *options_and_limit: int
    ) -> NDArray[np.int64]: ...
    def decode(self, ids: NDArray[np.uint32]) -> bytes: ...
    def decode_batch(self, ids: NDArray[np.uint32], offsets: NDArray[np.int64]) -> list[bytes]: ...
    def token_bytes(self, token_id: int, /) -> bytes: ...
    def token_id(self, token: bytes) -> int: ...
    def memory(self) -> dict[str, int]: ...


class Way(NamedTuple):
    """One way to run a model: every way must give the same ids."""

    target: str
    threads: int = 1
    shrink: int = 0


def ways(threads: Sequence[int] = (1, 2, 3)) -> list[Way]:
    """Every target with every thread count, and each target with tiny tables."""
    targets = _core.targets()
    return [
        *(Way(target, count) for target, count in product(targets, threads)),
        *(Way(target, 1, TINY) for target in targets),
    ]


@contextmanager
def on_target(target: str) -> Iterator[None]:
    """Models made inside use this instruction set."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("TOKENMILL_TARGET", target)
        yield


def make_model(payload: bytes, way: Way) -> Engine:
    with on_target(way.target):
        model = _core.Model(payload, way.shrink)
    assert model.target == way.target
    return cast("Engine", model)


def run_batch(model: Engine, texts: object, threads: int = 1, special: int = ENCODE) -> Batch:
    """Encode many texts with the options that hardly ever change left out."""
    return model.encode_batch(texts, threads, 32, False, special, 0)


def compile_payload(spec: TokenizerSpec, *, native: bool = True) -> bytes:
    """Compile a spec; with `native` off the automaton runs even where a rule is known."""
    if native:
        return compiler.compile_spec(spec)
    with (
        patch.object(split_plan, "recognise", lambda _: None),
        patch.object(split_plan, "is_bert", lambda _: False),
    ):
        return compiler.compile_spec(spec)


def spec_of(
    model: BpeModel, stages: Sequence[Stage] = (), added: Sequence[AddedToken] = ()
) -> TokenizerSpec:
    """A tokenizer around a model."""
    split = tuple(SplitStep(*stage) for stage in stages)  # type: ignore[arg-type]
    return TokenizerSpec("test", "test", model, tuple(added), split=split)


def ranked_model(
    tokens: Sequence[bytes], *, ignore_merges: bool = False, holes: int = 0
) -> BpeModel:
    """The 256 bytes and these tokens; a token's rank is its place."""
    table = [*(bytes([byte]) for byte in range(256)), *tokens]
    decode = (*table, *(b"" for _ in range(holes)))  # ids without a token, as added tokens have
    ranks = np.arange(len(table), dtype=np.uint32)
    return BpeModel(tuple(table), decode, None, ranks, ignore_merges)


def pair_model(share: float = 1.0, seed: int = 1) -> BpeModel:
    """All pairs of bytes, or a share of them, as tokens in random order.

    It shows where words end: two bytes that touch inside a word mostly merge, across an end they
    never do. With a share of the pairs some three-byte characters are never joined, so that long
    words are also cut between them.
    """
    choose = random.Random(seed)  # noqa: S311
    pairs = [bytes(pair) for pair in product(range(256), repeat=2)]
    return ranked_model(choose.sample(pairs, int(share * len(pairs))))


def first_difference(left: Batch, right: Batch) -> int | None:
    """Number of the first document whose ids differ, None if all are equal."""
    if np.array_equal(left[0], right[0]) and np.array_equal(left[1], right[1]):
        return None
    assert len(left[1]) == len(right[1]), "not even the number of documents agrees"
    for i in range(len(left[1]) - 1):
        a, b = (ids[offsets[i] : offsets[i + 1]] for ids, offsets in (left, right))
        if not np.array_equal(a, b):
            return i
    raise AssertionError("the documents agree, but the arrays around them do not")


def assert_same(got: Batch, expected: Batch, texts: Sequence[str | bytes], what: object) -> None:
    """Compare two batches; the message shows the first text that differs."""
    i = first_difference(got, expected)
    if i is not None:
        a, b = (ids[offsets[i] : offsets[i + 1]].tolist() for ids, offsets in (got, expected))
        at = next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(b))
        shown = slice(max(0, at - 3), at + 5)
        pytest.fail(
            f"{what}: text {i} of {len(texts)}, {texts[i][:200]!r}: {len(a)} ids, expected "
            f"{len(b)}; from id {at} on {a[shown]}, expected {b[shown]}"
        )
