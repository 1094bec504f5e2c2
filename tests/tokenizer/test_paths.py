"""Native, DFA or reference library: `describe` says which, and the ids are the library's own."""

from __future__ import annotations

import json
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
import tokenizers
from tests.conftest import small_definition

from tokenmill import (
    EncodeError,
    InvalidUtf8,
    MissingDependency,
    ReferencePathWarning,
    SpecialTokenInText,
    Tokenizer,
    TokenmillError,
    UnknownId,
    UnsupportedTokenizer,
)
from tokenmill._model.resolve import compile_file
from tokenmill._reference import libraries

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = [
    "hello world",
    "",
    "aeiou hello  hello\n\nworld</s>x",
    "h\u00e9llo \U0001f600 wow 123",
    "aabb",
]
NOBODY_KNOWS = r"[aeiou]+|[^aeiou\s]{2}|\s+"
NOT_REGULAR = r"(\w)\1|\w+"


def write(folder: Path, pattern: str, **changes: Any) -> Path:
    """Write the small tokenizer with another split."""
    definition = small_definition()
    byte_level = {**definition["pre_tokenizer"], "use_regex": False}
    split = {
        "type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False,
    }  # fmt: skip
    definition["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [split, byte_level]}
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(definition | changes))
    return path


@pytest.fixture
def referred(tmp_path: Path) -> Tokenizer:
    path = write(tmp_path, NOT_REGULAR)
    with pytest.warns(ReferencePathWarning, match="runs through the library 'tokenizers'") as seen:
        tokenizer = Tokenizer.load(path)
    assert len(seen) == 1
    assert seen[0].filename == __file__
    return tokenizer


def assert_same_ids(tokenizer: Tokenizer, path: Path) -> None:
    library = tokenizers.Tokenizer.from_file(str(path))
    for text in TEXTS:
        for special in (False, True):
            expected = library.encode(text, add_special_tokens=special).ids
            assert tokenizer.encode(text, add_special_tokens=special).tolist() == expected
        assert tokenizer.decode(tokenizer.encode(text)) == text
    library.encode_special_tokens = True
    rows = [library.encode(text, add_special_tokens=False).ids for text in TEXTS]
    assert tokenizer.encode_batch(TEXTS, special_in_text="text").tolist() == rows


def test_a_known_split_is_native(small: Tokenizer, small_json: Path) -> None:
    description = small.describe()
    assert description.path == "native"
    assert description.reasons == ()
    assert_same_ids(small, small_json)


def test_a_split_that_nobody_knows_is_a_dfa(tmp_path: Path) -> None:
    path = write(tmp_path, NOBODY_KNOWS)
    tokenizer = Tokenizer.load(path)
    description = tokenizer.describe()
    assert description.path == "dfa"
    assert "none of the built-in rules" in str(description)
    assert "automaton" in str(description)
    assert NOBODY_KNOWS in str(description)
    assert_same_ids(tokenizer, path)


def test_a_split_that_is_not_regular_runs_through_the_library(
    referred: Tokenizer, tmp_path: Path
) -> None:
    description = referred.describe()
    assert description.path == "reference"
    assert NOT_REGULAR in "".join(description.reasons).replace("\\\\", "\\")
    assert_same_ids(referred, tmp_path / "tokenizer.json")


def test_the_reference_path_has_a_time_and_no_counts(referred: Tokenizer) -> None:
    batch = referred.encode_batch(["hello world"], stats=True)
    assert np.array_equal(batch.ids, referred.encode("hello world"))
    assert batch.stats is not None
    assert set(batch.stats.stages) == {"other"}
    assert batch.stats.words.looked_up == 0
    assert referred.stats().wall_seconds == 0


def test_the_reference_path_has_the_same_face(referred: Tokenizer) -> None:
    assert referred.encode_batch(["hello", b"hello"], dtype="uint16").ids.tolist() == [259, 259]
    assert referred.count("hello</s>", add_special_tokens=True) == 3
    assert referred.token_to_id(referred.id_to_token(264)) == 264
    assert referred.memory() == {}
    assert referred.decode_bytes(referred.encode("\u00f6")[:1]) == b"\xc3"
    again = pickle.loads(pickle.dumps(referred))  # noqa: S301
    assert again.encode("hello").tolist() == [259]
    with pytest.raises(SpecialTokenInText):
        referred.encode("x</s>", special_in_text="raise")
    with pytest.raises(InvalidUtf8):
        referred.encode(b"\xff")
    with pytest.raises(UnknownId):
        referred.decode([999])


@pytest.mark.parametrize(
    "texts",
    [
        ["hello", 7],
        ["hello", b"\xff", None],
        ["hello", memoryview(b"hello")[::2]],
        [b"hello\xff", "</s>"],
        ["hello</s>", b"\xff"],
        ["\u00f6\ud800"],
        pa.array(["hello", None]),
        pa.array([b"hello", b"\xff"]).view(pa.string()),
        pa.chunked_array([["a"], ["b", None]], pa.string_view()),
        pa.array([1]),
        pa.array(["hello"]).dictionary_encode(),
    ],
    ids=str,
)
def test_the_reference_path_raises_what_the_core_raises(
    small: Tokenizer,
    referred: Tokenizer,
    texts: Any,
) -> None:
    core, library = (error_of(tokenizer, texts) for tokenizer in (small, referred))
    assert type(core) is type(library)
    wording = {"problem", "hint"}  # each has its own
    facts = [{k: v for k, v in vars(e).items() if k not in wording} for e in (core, library)]
    assert facts[0] == facts[1]


@pytest.mark.parametrize("text", [7, b"\xff", "\udfff", "hello </s>"])
def test_an_error_of_a_single_text_names_no_document(
    small: Tokenizer,
    referred: Tokenizer,
    text: Any,
) -> None:
    for tokenizer in (small, referred):
        with pytest.raises(EncodeError) as caught:
            tokenizer.encode(text, special_in_text="raise")
        assert caught.value.document is None


def error_of(tokenizer: Tokenizer, texts: Any) -> EncodeError:
    with pytest.raises(EncodeError) as caught:
        tokenizer.encode_batch(texts, special_in_text="raise")
    return caught.value


@pytest.mark.parametrize("text", ["\ud83d\ude00x", "a\udfff\udfff", b"a\xf0\x9f\xffb\xe2"])
def test_what_is_replaced_is_the_same_on_both_paths(
    small: Tokenizer,
    referred: Tokenizer,
    text: Any,
) -> None:
    core, library = (t.decode(t.encode(text, errors="replace")) for t in (small, referred))
    assert core == library


def test_every_buffer_is_a_text_on_both_paths(small: Tokenizer, referred: Tokenizer) -> None:
    texts = [bytearray(b"hello"), memoryview(b"hello"), np.frombuffer(b"hello", np.uint8)]
    for tokenizer in (small, referred):
        assert tokenizer.encode_batch(texts).ids.tolist() == [259, 259, 259]
        assert tokenizer.encode_batch(pa.array(texts[:1], pa.binary_view())).ids.tolist() == [259]


def test_the_target_is_the_model_s_own(
    small_json: Path, referred: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKENMILL_TARGET", "scalar")
    tokenizer = Tokenizer.load(small_json)
    monkeypatch.delenv("TOKENMILL_TARGET")
    assert tokenizer.describe().target == "scalar"
    assert referred.describe().target == ""


def test_the_reference_path_cannot_be_compiled(referred: Tokenizer, tmp_path: Path) -> None:
    assert referred.name
    for compressed in (False, True):
        with pytest.raises(UnsupportedTokenizer):
            compile_file(tmp_path / "tokenizer.json", tmp_path / "a.mill", compressed=compressed)
    assert not (tmp_path / "a.mill").exists()


def test_a_library_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(libraries, "import_module", missing)
    with pytest.raises(MissingDependency, match="pip install tokenizers"):
        Tokenizer.load(write(tmp_path, NOT_REGULAR))


def test_a_strange_decoder_is_left_to_the_library(tmp_path: Path) -> None:
    pattern = {"Regex": "(?<=l)l"}
    path = write(
        tmp_path, NOBODY_KNOWS, decoder={"type": "Replace", "pattern": pattern, "content": "L"}
    )
    tokenizer = Tokenizer.load(path)
    assert tokenizer.describe().path == "dfa"
    assert "through 'tokenizers'" in tokenizer.describe().decoder
    library = tokenizers.Tokenizer.from_file(str(path))
    ids = library.encode("hello world", add_special_tokens=False).ids
    assert tokenizer.encode("hello world").tolist() == ids
    assert tokenizer.decode(ids) == library.decode(ids, skip_special_tokens=False)
    assert tokenizer.decode_batch([ids, []]) == [tokenizer.decode(ids), ""]


@pytest.mark.parametrize("offsets", [None, "char"])
def test_what_the_library_fails_on_is_an_error_of_ours(tmp_path: Path, offsets: Any) -> None:
    definition = small_definition()
    definition["model"] = {"type": "WordLevel", "vocab": {"hello": 0}, "unk_token": "nothing"}
    definition["pre_tokenizer"] = {"type": "WhitespaceSplit"}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(definition))
    with pytest.warns(ReferencePathWarning, match="unk_token"):
        tokenizer = Tokenizer.load(path)
    with pytest.raises(
        EncodeError, match="'tokenizers' cannot encode it: WordLevel error"
    ) as found:
        tokenizer.encode_batch(["hello", "hello there"], offsets=offsets)
    assert found.value.document == 1
    with pytest.raises(EncodeError, match="describe") as found:
        tokenizer.encode("there")
    assert found.value.document is None


@pytest.mark.parametrize(
    "section",
    [
        {"type": "ByteLevel", "add_prefix_space": True},
        {"type": "Split", "pattern": {"Regex": "(?<n>a"}, "behavior": "Isolated", "invert": False},
        {"type": "Banana"},
    ],
)
def test_what_nobody_can_run_is_an_error_of_ours(tmp_path: Path, section: dict[str, Any]) -> None:
    definition = small_definition()
    definition["model"] = {"type": "WordLevel", "vocab": {"hello": 0}, "unk_token": "hello"}
    definition["pre_tokenizer"] = section
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(definition))
    with pytest.raises(TokenmillError, match=r"refuses it|pattern"):
        Tokenizer.load(path)
