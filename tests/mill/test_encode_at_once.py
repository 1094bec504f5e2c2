"""Blocks by one call of the core: the same as parsing, encoding and framing them."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.mill.outputs import digests
from tests.models import (
    AS_TEXT,
    ENCODE,
    RAISE,
    Way,
    compile_payload,
    make_model,
    ranked_model,
    spec_of,
)
from tests.read.test_jsonl import CASES
from tests.split.patterns import CHAINS

from tokenmill import SpecialTokenInText, _core, pack
from tokenmill._core import BlockRules, TextBuffer
from tokenmill._mill.run.encode_at_once import AtOnce
from tokenmill._pack import frame
from tokenmill._spec import AddedToken

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mill.corpus import Corpus

    from tokenmill import Tokenizer

TEXTS = ("a b", "", "x" * 300, "\u4e2d\u6587 \u00e9\U0001f600", "<s>", "no <s> end", '\n\t"\\')
LINES = [json.dumps({"text": text}).encode() for text in TEXTS] * 3
LINES += [json.dumps({"text": text}, ensure_ascii=False).encode() for text in TEXTS]
BLOCKS = [b"\n".join([*LINES, *CASES]), b"\n".join([*CASES, *LINES]) + b"\n", b"", b"\n", b"{}"]


@pytest.fixture(scope="module", params=_core.targets())
def model(request: pytest.FixtureRequest) -> Any:
    spec = spec_of(
        ranked_model([], holes=1), CHAINS["gpt2"], [AddedToken("<s>", 256, special=True)]
    )
    return make_model(compile_payload(spec), Way(request.param))


def as_before(model: Any, block: bytes, rules: BlockRules, mode: int, bits: int) -> list[Any]:
    """Return what separate calls give."""
    limits = (rules.max_document_bytes, rules.max_line_bytes)
    repairs = (rules.replace_bad_utf8, rules.replace_lone_surrogate)
    text, offsets, *places = _core.read_jsonl(block, "text", *limits, *repairs)
    ids, ends = model.encode_batch(TextBuffer(text, offsets), 1, bits, False, mode, 0)
    return [*frame(ids, ends, [7], [9, 8]), *places]


@pytest.mark.parametrize("block", BLOCKS, ids=len)
@pytest.mark.parametrize("bits", [16, 32])
@pytest.mark.parametrize("repair", [False, True])
@pytest.mark.parametrize("mode", [ENCODE, AS_TEXT])
def test_one_call_is_the_same_as_three(
    model: Any, mode: int, repair: bool, bits: int, block: bytes
) -> None:
    rules = BlockRules("text", [7], [9, 8], mode, bits)
    rules.max_document_bytes, rules.max_line_bytes = 250, 400
    rules.replace_bad_utf8 = rules.replace_lone_surrogate = repair
    expected = as_before(model, block, rules, mode, bits)
    for rules.step_bytes in (1, 100, 1 << 19):
        found = model.encode_jsonl(block, rules)
        assert found[0].dtype == np.dtype(f"uint{bits}")
        for mine, other in zip(found, expected, strict=True):
            assert np.array_equal(mine, other)


@pytest.mark.parametrize("bits", [16, 32])
def test_texts_are_encoded_as_before(model: Any, bits: int) -> None:
    rules = BlockRules("", [7], [9, 8], AS_TEXT, bits)
    for texts in (TEXTS * 9, ("",), ()):
        data = [text.encode() for text in texts]
        ends = np.cumsum([0, *map(len, data)], dtype=np.int64)
        held = TextBuffer(np.frombuffer(b"--" + b"".join(data) + b"-", np.uint8), ends + 2)
        ids, offsets = model.encode_batch(held, 1, bits, False, AS_TEXT, 0)
        expected = frame(ids, offsets, [7], [9, 8])
        for rules.step_bytes in (1, 100, 1 << 19):
            for mine, other in zip(model.encode_texts(held, rules), expected, strict=True):
                assert np.array_equal(mine, other)


def test_ids_grow_past_the_first_guess(model: Any) -> None:
    rules = BlockRules("text", [1] * 40, [2] * 40, AS_TEXT, 16)
    block = b'{"text":"ab"}\n' * 5000
    for rules.step_bytes in (64, 1 << 19):
        ids, lengths, *_ = model.encode_jsonl(block, rules)
        assert ids.tolist() == ([1] * 40 + [97, 98] + [2] * 40) * 5000
        assert lengths.tolist() == [82] * 5000


def test_a_special_token_is_refused(model: Any) -> None:
    with pytest.raises(SpecialTokenInText):
        model.encode_jsonl(b"\n".join(LINES), BlockRules("text", [], [], RAISE, 32))


def test_ids_that_do_not_fit_are_refused() -> None:
    with pytest.raises(Exception, match="70000"):
        BlockRules("text", [], [70_000], 0, 16)


WAYS: list[dict[str, Any]] = [
    {},
    {"eos": False},
    {"eos": False, "bos": 3},
    {"on_bad": {"bad_utf8": "replace", "lone_surrogate": "replace"}},
    {"special_in_text": "encode"},
    {"validation": 0.3},
]


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_the_long_way_gives_the_same_files(
    way: dict[str, Any], dirty: Corpus, tokenizer: Tokenizer, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    mill = partial(pack, dirty.files, tokenizer=tokenizer, workers=2, max_document_bytes=900, **way)
    used: list[bool] = []
    lines, texts = AtOnce.lines, AtOnce.texts

    def noted(self: AtOnce, *given: Any) -> Any:
        used.append((found := lines(self, *given)) is not None)
        return found

    def also_noted(self: AtOnce, *given: Any) -> Any:
        used.append((found := texts(self, *given)) is not None)
        return found

    monkeypatch.setattr(AtOnce, "lines", noted)
    monkeypatch.setattr(AtOnce, "texts", also_noted)
    mill(output=tmp_path / "short")
    assert any(used)
    monkeypatch.setattr(AtOnce, "of", lambda *_: None)
    mill(output=tmp_path / "long")
    assert digests(tmp_path / "short") == digests(tmp_path / "long")


def test_a_refused_special_token_has_its_line(tokenizer: Tokenizer, tmp_path: Path) -> None:
    special = next(iter(tokenizer.special_tokens))
    texts = ["fine", "fine too", f"not {special} fine"]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in texts))
    with pytest.raises(SpecialTokenInText, match=r"a\.jsonl:3: "):
        pack(
            tmp_path / "a.jsonl", output=tmp_path / "out", tokenizer=tokenizer,
            special_in_text="raise",
        )  # fmt: skip
