"""Every call of a service gives what the tokenizer gives."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tokenmill import Service, SpecialTokenInText, UnknownModel
from tokenmill._service.models import Pace

if TYPE_CHECKING:
    from tokenmill import Tokenizer

TEXTS = ["", "hello world", "hello world " * 3000, "\u00e9\u4f60\U0001f600" * 50_000, "a" * 100_000]


def test_encode_and_count_equal_those_of_the_tokenizer(small: Tokenizer) -> None:
    async def main() -> None:
        async with Service(small) as service:
            for text in TEXTS:
                for given in (text, text.encode()):
                    ids = await service.encode(given, add_special_tokens=True)
                    expected = small.encode(given, add_special_tokens=True)
                    assert np.array_equal(ids, expected)
                    assert await service.count(given, add_special_tokens=True) == len(expected)

    asyncio.run(main())


def test_encode_batch_and_decode_equal_those_of_the_tokenizer(small: Tokenizer) -> None:
    async def main() -> None:
        async with Service(small) as service:
            batch = await service.encode_batch(TEXTS)
            expected = small.encode_batch(TEXTS)
            assert np.array_equal(batch.ids, expected.ids)
            assert np.array_equal(batch.offsets, expected.offsets)
            for ids in batch:
                assert await service.decode(ids) == small.decode(ids)

    asyncio.run(main())


def test_options_reach_the_tokenizer(small: Tokenizer) -> None:
    async def main() -> None:
        async with Service(small) as service:
            ids = await service.encode("<s>", special_in_text="text")
            assert np.array_equal(ids, small.encode("<s>", special_in_text="text"))
            for text in ("<s>", "<s>" * 20_000):
                with pytest.raises(SpecialTokenInText):
                    await service.encode(text, special_in_text="raise")

    asyncio.run(main())


def test_models_have_names_and_the_first_is_the_default(small: Tokenizer) -> None:
    async def main() -> None:
        async with Service({"one": small, "two": small}) as service:
            assert service.tokenizer() is service.tokenizer("one")
            assert len(await service.encode("hello", model="two")) == 1
            with pytest.raises(UnknownModel, match="'one', 'two'"):
                await service.encode("hello", model="three")

    asyncio.run(main())


def test_one_slow_call_says_little_about_the_pace_of_a_model() -> None:
    """A machine that stops for ten seconds does not send all later requests to threads."""
    pace = Pace()
    before = pace.seconds_per_byte
    pace.inline(1000, 10.0)
    assert before < pace.seconds_per_byte < 1.25 * before
    for _ in range(200):  # but a model that is slow is known to be soon
        pace.inline(1000, 1e-3)
    assert pace.seconds_per_byte == pytest.approx(1e-6, rel=0.01)
