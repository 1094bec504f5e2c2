"""Every source that cannot be read gives an error with the place, the problem and the fix."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.load.sources import BYTE_LEVEL, BYTES, added, tokenizer_json, write_json

from tokenmill._errors import LoadError, SourceNotFound, TokenmillError
from tokenmill._load.source import load_source

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

GOOD = tokenizer_json(
    vocab={**BYTES, "ab": 256, "abc": 257}, merges=["a b", "ab c"], added=[added("<s>", 258)]
)


def broken(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(json.dumps(GOOD))
    change(data)
    return data


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda d: d.update(model=[]), "model: expected an object, got"),
        (lambda d: d["model"].update(type="Banana"), "model.type: expected one of.*Banana"),
        (lambda d: d["model"].pop("vocab"), "model.vocab: expected an object, got nothing"),
        (lambda d: d["model"].pop("merges"), "model.merges: expected an array, got nothing"),
        (lambda d: d["model"]["vocab"].update(x="1"), r"model.vocab\['x'\].*got '1'"),
        (lambda d: d["model"]["vocab"].update(x=-1), r"model.vocab\['x'\].*got -1"),
        (lambda d: d["model"]["vocab"].update(x=True), r"model.vocab\['x'\].*got True"),
        (lambda d: d["model"].update(merges=["a b c"]), r"model.merges\[0\]: expected two tokens"),
        (lambda d: d["model"].update(merges=["a b", "ab"]), r"merges\[1\]: expected two tokens"),
        (lambda d: d["model"].update(merges=[["a"]]), r"merges\[0\]: expected two tokens"),
        (lambda d: d["model"].update(merges=[1]), r"merges\[0\]: expected two tokens"),
        (lambda d: d["model"].update(merges=["#version: 0.2", 1]), "expected two tokens, got 1"),
        (lambda d: d["model"].update(merges=["a c"]), r"merges\[0\].*vocabulary, got 'ac'"),
        (lambda d: d["model"].update(merges=["a b", ["ab", "c"]]), "throughout, got both"),
        (lambda d: d["model"].update(ignore_merges=1), "model.ignore_merges: expected true"),
        (lambda d: d.update(added_tokens={}), "added_tokens: expected an array"),
        (
            lambda d: d["added_tokens"][0].pop("special"),
            r"added_tokens\[0\].special: expected true",
        ),
        (lambda d: d["added_tokens"][0].update(id=None), r"added_tokens\[0\].id: expected a whole"),
        (lambda d: d.update(normalizer={"kind": 1}), "normalizer.type: expected a string"),
        (lambda d: d.update(normalizer={"type": "Replace", "content": ""}), "normalizer.pattern"),
        (lambda d: d.update(pre_tokenizer="x"), "pre_tokenizer: expected an object, got 'x'"),
        (
            lambda d: d.update(
                pre_tokenizer={"type": "Split", "pattern": {"Regex": "a"}, "behavior": "Eaten"}
            ),
            "behavior.*Eaten",
        ),
        (
            lambda d: d.update(
                pre_tokenizer={"type": "Split", "pattern": {"Glob": "a"}, "behavior": "Removed"}
            ),
            "Regex.*String.*Glob",
        ),
        (
            lambda d: d.update(pre_tokenizer={**BYTE_LEVEL, "use_regex": "yes"}),
            "use_regex: expected true or false, got 'yes'",
        ),
        (
            lambda d: d.update(post_processor={"type": "BertProcessing", "cls": ["a"]}),
            r"post_processor.cls: expected \[token, id\]",
        ),
        (
            lambda d: d.update(
                post_processor={
                    "type": "TemplateProcessing",
                    "single": [{"SpecialToken": {"id": "<x>"}}],
                    "special_tokens": {},
                }
            ),
            "special_tokens, got '<x>'",
        ),
    ],
)
def test_a_wrong_member_is_named(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], problem: str
) -> None:
    path = write_json(tmp_path, broken(change))
    with pytest.raises(LoadError, match=problem) as caught:
        load_source(path)
    assert caught.value.path == path
    assert str(caught.value).startswith(f"{path}: ")


def test_a_file_cut_short_anywhere_is_an_error(tmp_path: Path) -> None:
    whole = json.dumps(GOOD, indent=1).encode()
    path = tmp_path / "tokenizer.json"
    for length in range(0, len(whole) - 1, 97):
        path.write_bytes(whole[:length])
        with pytest.raises(LoadError) as caught:
            load_source(path)
        assert caught.value.path == path


def test_bad_json_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text('{\n "model": {\n  oops\n', "utf-8")
    with pytest.raises(LoadError, match="incomplete") as caught:
        load_source(path)
    assert caught.value.line == 3
    assert str(caught.value).startswith(f"{path}:3: expected JSON")


def test_bytes_that_are_no_text_name_the_offset(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(b'{"model": "\xff"}')
    with pytest.raises(LoadError, match="0xff") as caught:
        load_source(path)
    assert caught.value.offset == 11
    assert str(caught.value) == f"{path} at byte 11: expected UTF-8, got byte 0xff"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"\nplain text",
        b"\n\xff\xff",
        b"[PAD]\n[UNKNOWN]\n",
        b"\x89PNG\r\n\x1a\n",
        b"\x1f\x8b\x08",
        b"[" * 100_000,
    ],
)
def test_a_foreign_file_is_an_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "vocab.txt"
    path.write_bytes(content)
    with pytest.raises(LoadError, match="expected JSON, lines"):
        load_source(path)


def test_json_that_is_no_tokenizer_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="hidden_size"):
        load_source(write_json(tmp_path, {"hidden_size": 4096}, "config.json"))
    path = tmp_path / "deep.json"
    path.write_text('{"model":' * 100_000, "utf-8")
    with pytest.raises(LoadError, match="nested too deeply"):
        load_source(path)


def test_a_lone_surrogate_is_an_error(tmp_path: Path) -> None:
    path = write_json(tmp_path, broken(lambda d: d["model"]["vocab"].update({"\ud800": 300})))
    with pytest.raises(LoadError, match="surrogate"):
        load_source(path)


def test_a_path_that_does_not_exist_is_not_found(tmp_path: Path) -> None:
    for source in ("no-such-file.json", tmp_path / "nothing" / "here" / "x.json", "a/b/c"):
        with pytest.raises(SourceNotFound) as caught:
            load_source(source)
        assert isinstance(caught.value, FileNotFoundError)
    with pytest.raises(SourceNotFound, match="none of them"):
        load_source(tmp_path)


def test_options_of_rank_files_are_refused_elsewhere(tmp_path: Path) -> None:
    path = write_json(tmp_path, GOOD)
    with pytest.raises(LoadError, match="got pattern"):
        load_source(path, pattern="cl100k_base")
    with pytest.raises(LoadError, match="got special_tokens"):
        load_source(path, special_tokens={"<s>": 1})


def test_an_object_that_is_no_tokenizer_is_an_error() -> None:
    for source in (None, 5, [1], object()):
        with pytest.raises(LoadError, match="expected a path"):
            load_source(source)
    assert issubclass(LoadError, TokenmillError)
