"""Added tokens at every place of a block: the pass over a text that checks it must see them all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.models import Way, compile_payload, make_model, ranked_model, spec_of
from tests.split.patterns import CHAINS

from tokenmill import _core
from tokenmill._spec import AddedToken

if TYPE_CHECKING:
    from tests.models import Engine

CONTENTS = ("<s>", "~", "\u00a7!", "\u2581x", "\U0001f600")
IDS = {content: 256 + i for i, content in enumerate(CONTENTS)}
FILLS = ("x", "<", "\u00e9", "\u4e2d", "\U0001f601")


@pytest.fixture(scope="module", params=_core.targets())
def model(request: pytest.FixtureRequest) -> Engine:
    """Every byte is its own token, so that the ids show where an added token was found."""
    added = [AddedToken(content, IDS[content], special=False) for content in CONTENTS]
    spec = spec_of(ranked_model([], holes=len(CONTENTS)), CHAINS["gpt2"], added)
    return make_model(compile_payload(spec), Way(request.param))


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("fill", FILLS)
def test_a_token_at_every_place(model: Engine, fill: str, content: str) -> None:
    for count in range(131):
        for tail in ("", fill, fill * 70):
            text = fill * count + content + tail
            expected = [*(fill * count).encode(), IDS[content], *tail.encode()]
            for given in (text, text.encode()):
                assert model.encode(given, False, 0, 0).tolist() == expected, text


@pytest.mark.parametrize("content", CONTENTS)
def test_a_part_of_a_token_is_text(model: Engine, content: str) -> None:
    part = content.encode()[:-1] if content.isascii() else content[:-1].encode()
    for count in range(131):
        data = b"x" * count + part
        assert model.encode(data, False, 0, 0).tolist() == [*data]


def test_invalid_bytes_next_to_a_token(model: Engine) -> None:
    for count in range(131):
        data = b"x" * count + b"<s>\xe4\xb8<s>"
        expected = [*b"x" * count, IDS["<s>"], *"\ufffd".encode(), IDS["<s>"]]
        assert model.encode(data, False, 0, 1).tolist() == expected
