"""`timeout=` ends a call of `Tokenizer`, and changes nothing about one that is in time."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from tests.load.sources import write_json
from tests.pipeline.test_stop import MODELS, definition
from tests.timing import seconds_of

from tokenmill import DeadlineExceeded, OptionError, Tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CALLS: dict[str, Callable[..., Any]] = {
    "encode": lambda t, text, **options: t.encode(text, **options).tolist(),
    "encode, cut": lambda t, text, **options: t.encode(
        text, truncation="longest_first", max_length=10_000_000, **options
    ).tolist(),
    "encode_batch": lambda t, text, **options: t.encode_batch([text], **options).ids.tolist(),
    "spans": lambda t, text, **options: t.encode_batch(
        [text], offsets="char", **options
    ).spans.tolist(),
    "count": lambda t, text, **options: t.count(text, **options),
    "count, limited": lambda t, text, **options: t.count(text, 10_000_000, **options),
    "count_batch": lambda t, text, **options: t.count_batch([text], **options).tolist(),
}


@pytest.fixture(scope="module", params=["bytes", "dfa", "nfc", *MODELS])
def tokenizer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = tmp_path_factory.mktemp("kind")
    return Tokenizer.load(write_json(folder, definition(request.param)))


@pytest.mark.parametrize("call", CALLS)
def test_ten_megabytes_of_one_letter_end_in_time(tokenizer: Tokenizer, call: str) -> None:
    """Soon after the deadline, or in half of the time that the whole takes on a slow machine.

    Counted in time of the processor, of which a busy machine gives less, never more.
    """
    text = "a" * 10_000_000

    def stopped() -> None:
        with suppress(TimeoutError):  # some kinds are fast enough
            CALLS[call](tokenizer, text, timeout=0.02)

    tries: list[float] = []
    while len(tries) < 6 and min(tries, default=1.0) > 0.08:
        tries.append(seconds_of(stopped))
    if min(tries) > 0.08:
        whole = min(seconds_of(lambda: CALLS[call](tokenizer, text)) for _ in range(3))
        assert min(tries) <= whole / 2, tries


@pytest.mark.parametrize("call", CALLS)
def test_a_call_without_time_raises(tokenizer: Tokenizer, call: str) -> None:
    with pytest.raises(DeadlineExceeded) as caught:
        CALLS[call](tokenizer, "a b " * 10_000, timeout=0)
    assert isinstance(caught.value, TimeoutError)


@pytest.mark.parametrize("call", CALLS)
def test_a_call_in_time_returns_what_it_always_returns(small: Tokenizer, call: str) -> None:
    text = "hello world <s> " * 50
    assert CALLS[call](small, text, timeout=60) == CALLS[call](small, text)


@pytest.mark.parametrize("timeout", ["1", -1, float("nan")])
@pytest.mark.parametrize("call", CALLS)
def test_no_other_timeout_is_taken(small: Tokenizer, call: str, timeout: Any) -> None:
    with pytest.raises(OptionError, match="timeout: expected seconds, 0 or more"):
        CALLS[call](small, "a", timeout=timeout)


def test_a_device_takes_no_timeout(small: Tokenizer) -> None:
    with pytest.raises(OptionError, match='timeout: expected none unless device="cpu"'):
        small.encode_batch(["a"], device="cuda", timeout=1)
