"""`patch_transformers`: what it changes, and that it can be undone."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
import transformers
from tests.compat.calls import seen
from tests.compat.cases import TEXTS
from tests.compat.folders import write_folder
from transformers import AutoTokenizer, PreTrainedTokenizerFast

import tokenmill
from tokenmill.compat.hf import FastTokenizer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_folder(tmp_path)


def _loader_of(kind: Any) -> Callable[[Path], Any]:
    return lambda folder: kind.from_pretrained(folder)  # noqa: PLW0108 -- looked up late


def _made_of_a_file(folder: Path) -> Any:
    return PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))


# Looked up late: a method that is bound before the patch would not be patched.
KINDS = [AutoTokenizer, PreTrainedTokenizerFast, transformers.GPT2Tokenizer]
LOADERS: list[Callable[[Path], Any]] = [
    *(_loader_of(kind) for kind in KINDS),
    _made_of_a_file,
]


@pytest.mark.parametrize("load", LOADERS)
def test_inside_a_block_tokenizers_are_ours(folder: Path, load: Callable[[Path], Any]) -> None:
    peer = load(folder)
    with tokenmill.patch_transformers() as patch:
        mine = load(folder)
        assert patch.active
    assert not patch.active
    assert isinstance(mine, FastTokenizer)
    assert isinstance(mine, type(peer))
    assert not isinstance(load(folder), FastTokenizer)
    assert seen(mine(TEXTS)) == seen(peer(TEXTS))


def test_everything_is_put_back() -> None:
    def state() -> list[object]:
        return [dict(vars(kind)) for kind in (PreTrainedTokenizerFast, AutoTokenizer)]

    before = state()
    patch = tokenmill.patch_transformers()
    assert state() != before
    patch.undo()
    assert state() == before
    patch.undo()
    assert state() == before
    assert repr(patch) == "<Patch of transformers, undone>"


def test_patching_twice_is_patching_once(folder: Path) -> None:
    with tokenmill.patch_transformers() as outer:
        inside = PreTrainedTokenizerFast.from_pretrained
        with tokenmill.patch_transformers():
            assert PreTrainedTokenizerFast.from_pretrained == inside
        assert outer.active
        assert isinstance(AutoTokenizer.from_pretrained(folder), FastTokenizer)
    tokenmill.patch_transformers()
    again = tokenmill.patch_transformers()
    again.undo()
    assert not isinstance(AutoTokenizer.from_pretrained(folder), FastTokenizer)


def test_a_block_that_raises_is_undone_too() -> None:
    patch = tokenmill.patch_transformers()
    with pytest.raises(KeyError), patch:
        raise KeyError
    assert not patch.active


def test_without_transformers_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(tokenmill.MissingDependency, match="tokenmill\\[hf\\]"):
        tokenmill.patch_transformers()
