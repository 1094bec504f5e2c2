"""Small models for the tests of the flow, one for every kind of split."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from tests.models import Way, compile_payload, make_model, ranked_model, spec_of
from tests.split.patterns import CHAINS

from tokenmill import _core
from tokenmill._spec import AddedToken

if TYPE_CHECKING:
    from tests.models import Engine

    from tokenmill._spec import TokenizerSpec

WORDS = ["th", "the", " th", " the", "in", "ing", "er", "an", "and", " and", "re", "on", "at", "es"]
WORDS += ["  ", "    ", "\n\n", "..", "12", "123", "ll", "'ll", "qu", " qu", "ick", " quick"]
HAN = "\u4e2d\u6587\u5206\u8bcd\u662f\u4e00\u4e2a\u95ee\u9898\u4eba\u5de5\u667a\u80fd"
ADDED = (
    AddedToken("<s>", 900, special=True),
    AddedToken("</s>", 901, special=True, lstrip=True),
    AddedToken("<pad>", 902, special=False, single_word=True),
)


def small_spec(chain: str = "llama3") -> TokenizerSpec:
    """Some English, some Chinese, three added tokens."""
    chinese = [c.encode()[:2] for c in HAN] + [c.encode() for c in HAN]
    chinese += [(a + b).encode() for a, b in pairwise(HAN)]
    tokens = list(dict.fromkeys([*(word.encode() for word in WORDS), *chinese]))
    return spec_of(ranked_model(tokens), CHAINS[chain], ADDED)


@pytest.fixture(scope="session")
def small_payload() -> bytes:
    return compile_payload(small_spec())


@pytest.fixture(scope="module", params=_core.targets())
def model(request: pytest.FixtureRequest, small_payload: bytes) -> Engine:
    """The small model on each target."""
    return make_model(small_payload, Way(request.param))
