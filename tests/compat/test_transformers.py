"""Fast tokenizers of `transformers` on tokenmill against those of `transformers` itself."""

from __future__ import annotations

import copy
import json
import pickle
import random
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import tokenizers
import torch
import transformers
from tests.compat.calls import random_call, seen
from tests.compat.cases import POST_PROCESSORS, TEXTS, word_level
from tests.compat.folders import CONFIGS, write_folder
from tests.compat.outcome import outcome
from tokenizers import AddedToken, normalizers

from tokenmill import MissingDependency, ReferencePathWarning
from tokenmill.compat import hf
from tokenmill.compat.hf._backend import PeerRun
from tokenmill.compat.hf._fast import accelerate_in_place

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore:`max_length` is ignored:UserWarning")
TALK = [
    {"role": "user", "content": " hello <s> world "},
    {"role": "assistant", "content": "\u4f60\u597d hello"},
]


@pytest.fixture(autouse=True, scope="module")
def _quiet() -> Any:
    before = transformers.logging.get_verbosity()
    transformers.logging.set_verbosity_error()
    yield
    transformers.logging.set_verbosity(before)


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Any, Any]:
    return both(write_folder(tmp_path))


def both(folder: Path) -> tuple[Any, Any]:
    peer = transformers.AutoTokenizer.from_pretrained(folder)
    mine = hf.AutoTokenizer.from_pretrained(folder)
    assert isinstance(mine, hf.FastTokenizer)
    assert isinstance(mine, type(peer))
    return peer, mine


def agree(pair: tuple[Any, Any], action: Any) -> None:
    expected, got = (outcome(lambda t: seen(action(t)), tokenizer) for tokenizer in pair)
    assert got == expected


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("post_processor", POST_PROCESSORS)
def test_calls_are_equal_under_all_options(
    tmp_path: Path, post_processor: str, config: str
) -> None:
    pair = both(write_folder(tmp_path, post_processor, config))
    choose = random.Random(f"{post_processor} {config}")  # noqa: S311
    for _ in range(25):
        texts, options = random_call(choose)
        agree(pair, lambda t, a=texts, o=options: t(*a, **o))


@pytest.mark.parametrize(
    "action",
    [
        lambda t: t.encode(TEXTS[3], TEXTS[2], truncation=True, max_length=9),
        lambda t: [t.tokenize(text) for text in TEXTS],
        lambda t: [t.tokenize(text, pair="hello", add_special_tokens=True) for text in TEXTS],
        lambda t: t.tokenize(TEXTS[3], truncation=True, max_length=4),
        lambda t: t.decode([265, 259, 264, 266, 267]),
        lambda t: t.decode([265, 259, 264, 266], skip_special_tokens=True),
        lambda t: t.decode(np.array([[265, 259], [1, 2]])),
        lambda t: t.decode(torch.tensor([[265, 259], [1, 2]]), skip_special_tokens=True),
        lambda t: t.decode([[1, 2], [3]], clean_up_tokenization_spaces=True),
        lambda t: t.decode(259),
        lambda t: t.decode([1, 99999]),
        lambda t: t.decode([]),
        lambda t: t.batch_decode([[1, 2], [], [0xE2, 0x82, 259]]),
        lambda t: t.batch_decode(np.zeros((2, 0), dtype=np.int64)),
        lambda t: t.batch_decode([[1, -1]]),
        lambda t: t.batch_decode([259, 264]),
        lambda t: t.convert_ids_to_tokens([265, 259], skip_special_tokens=True),
        lambda t: t.convert_tokens_to_ids(["hello", "<s>", "nothing"]),
        lambda t: t.convert_tokens_to_string(["hello", "\u0120world"]),
        lambda t: (len(t), t.vocab_size, t.vocab, t.get_added_vocab(), repr(t)),
        lambda t: (t.bos_token, t.eos_token_id, t.all_special_ids, t.all_special_tokens),
        lambda t: (t.model_max_length, t.padding_side, t.truncation_side, t.is_fast),
        lambda t: (t.special_tokens_map, t.mask_token_id, t.num_special_tokens_to_add(pair=True)),
        lambda t: t.pad([{"input_ids": [1, 2]}, {"input_ids": [3]}], return_tensors="pt"),
        lambda t: t("hello world").char_to_token(7),
        lambda t: t("hello world").to("cpu"),
        lambda t: _revived(t(TEXTS, padding=True)),
        lambda t: t(TEXTS, padding=True).copy(),
        lambda t: t(TEXTS)["no such key"],
        lambda t: isinstance(t("hello")[0], tokenizers.Encoding),
    ],
)
def test_other_calls(pair: tuple[Any, Any], action: Callable[[Any], Any]) -> None:
    agree(pair, action)


@pytest.mark.parametrize(
    "options",
    [
        {"tokenize": False},
        {"tokenize": False, "add_generation_prompt": True},
        {},
        {"return_dict": True, "return_tensors": "pt"},
        {"return_tensors": "np", "padding": "max_length", "max_length": 90},
        {"tools": [{"type": "function", "function": {"name": "f"}}], "tokenize": False},
        {"chat_template": "{{ messages[0].content }}", "tokenize": False},
    ],
)
def test_chat_templates(pair: tuple[Any, Any], options: dict[str, Any]) -> None:
    agree(pair, lambda t: t.apply_chat_template(TALK, **options))
    agree(pair, lambda t: t.apply_chat_template([TALK, TALK[:1]], **{"padding": True, **options}))


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.add_tokens(["hello world", AddedToken("xy", single_word=True)]),
        lambda t: t.add_special_tokens({"pad_token": "<pad>", "extra_special_tokens": ["<x>"]}),
        lambda t: setattr(t, "add_bos_token", True),
        lambda t: setattr(t, "pad_token", "<mask>"),
        lambda t: setattr(t, "padding_side", "left"),
        lambda t: setattr(t, "split_special_tokens", True),
        lambda t: setattr(t.backend_tokenizer, "normalizer", normalizers.Lowercase()),
        lambda t: setattr(t.backend_tokenizer.pre_tokenizer, "add_prefix_space", True),
        lambda t: t.backend_tokenizer.add_tokens(["ello"]),
    ],
)
def test_the_engine_follows_a_change(pair: tuple[Any, Any], change: Callable[[Any], Any]) -> None:
    texts = [*TEXTS, "xy HELLO hello world<x> hello"]
    agree(pair, lambda t: t(texts))
    agree(pair, change)
    agree(pair, lambda t: t(texts, texts, padding=True, return_special_tokens_mask=True))
    agree(pair, lambda t: t.batch_decode([[265, 269, 270, 259]], skip_special_tokens=True))


def test_encodings_are_those_of_the_call(pair: tuple[Any, Any]) -> None:
    answers = [t(TEXTS, truncation=True, max_length=6) for t in pair]
    for tokenizer in pair:
        tokenizer.add_tokens(["hello world"])
    assert seen(answers[1]) == seen(answers[0])


def test_folders_are_saved_alike(pair: tuple[Any, Any], tmp_path: Path) -> None:
    folders = [tmp_path / "peer", tmp_path / "mine"]
    for tokenizer, folder in zip(pair, folders, strict=True):
        tokenizer.add_tokens(["hello world"])
        tokenizer(["hello"], padding=True, truncation=True, max_length=5)
        tokenizer.save_pretrained(folder)
    names = sorted(file.name for file in folders[0].iterdir())
    assert names == sorted(file.name for file in folders[1].iterdir())
    for name in names:
        expected = (folders[0] / name).read_text()
        assert (folders[1] / name).read_text() == expected
    agree(both(folders[1]), lambda t: t(TEXTS, padding=True, return_tensors="pt"))


@pytest.mark.parametrize("again", [copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])  # noqa: S301
def test_copies_are_alike_and_apart(pair: tuple[Any, Any], again: Callable[[Any], Any]) -> None:
    twin = again(pair[1])
    assert type(twin) is type(pair[1])
    pair[1].add_tokens(["hello world"])
    agree((pair[0], twin), lambda t: t(TEXTS, padding=True, return_tensors="np"))


def test_a_loaded_tokenizer_is_accelerated_as_a_copy(pair: tuple[Any, Any]) -> None:
    mine = hf.accelerate(pair[0])
    assert isinstance(mine, hf.FastTokenizer)
    assert not isinstance(pair[0], hf.FastTokenizer)
    assert hf.accelerate(mine) is not mine
    agree((pair[0], mine), lambda t: t(TEXTS, padding=True, return_tensors="np"))


def test_classes_load_their_own_kind(pair: tuple[Any, Any], tmp_path: Path) -> None:
    write_folder(tmp_path / "again")
    for loader in (type(pair[1]), hf.FastTokenizer):
        assert type(loader.from_pretrained(tmp_path / "again")) is type(pair[1])


def test_a_tokenizer_that_is_trained_anew_is_ours_too(
    pair: tuple[Any, Any], tmp_path: Path
) -> None:
    mine = pair[1].train_new_from_iterator(TEXTS, 300)
    assert isinstance(mine, type(pair[1]))
    mine.save_pretrained(tmp_path / "retrained")
    retrained = transformers.AutoTokenizer.from_pretrained(tmp_path / "retrained"), mine
    agree(retrained, lambda t: t(TEXTS, TEXTS[::-1], padding=True))
    agree(retrained, lambda t: t.batch_decode(t(TEXTS)["input_ids"]))


def _shouting(tokenizer: Any) -> Any:
    """Put a method on the library's object, as the class of CLIP does."""
    backend = tokenizer.backend_tokenizer
    plain = backend.decode
    backend.decode = lambda *args, **kwargs: plain(*args, **kwargs).upper()
    return tokenizer


@pytest.mark.parametrize("speed_up", [hf.accelerate, accelerate_in_place])
def test_a_method_on_the_object_itself_is_kept(
    tmp_path: Path, speed_up: Callable[[Any], Any]
) -> None:
    folder = write_folder(tmp_path)
    peer, other = (_shouting(transformers.AutoTokenizer.from_pretrained(folder)) for _ in range(2))
    pair = peer, speed_up(other)
    assert isinstance(pair[1], hf.FastTokenizer)
    agree(pair, lambda t: t(TEXTS)["input_ids"])
    agree(pair, lambda t: t.batch_decode(t(TEXTS)["input_ids"]))
    agree(pair, lambda t: t.decode([265, 259, 264], skip_special_tokens=True))
    agree(pair, lambda t: copy.deepcopy(t).decode([265, 259, 264]))


def test_a_class_that_encodes_by_itself_stays_as_it_is(tmp_path: Path) -> None:
    class Own(transformers.PreTrainedTokenizerFast):  # type: ignore[misc]
        def _encode_plus(self, *args: Any, **kwargs: Any) -> Any:
            return super()._encode_plus(*args, **kwargs)

    tokenizer = Own.from_pretrained(write_folder(tmp_path))
    with pytest.warns(ReferencePathWarning, match="Own has its own way to encode"):
        assert type(hf.accelerate(tokenizer)) is Own


def test_what_has_no_native_form_stays_as_it_is(tmp_path: Path) -> None:
    made = word_level()
    made["normalizer"] = {"type": "Replace", "pattern": {"Regex": "(?=o)"}, "content": "x"}
    names = {
        "bos_token": "[CLS]",
        "eos_token": "[SEP]",
        "pad_token": "[PAD]",
        "mask_token": "[UNK]",
    }
    write_folder(tmp_path, **names)
    (tmp_path / "tokenizer.json").write_text(json.dumps(made))
    with pytest.warns(ReferencePathWarning):
        tokenizer = hf.AutoTokenizer.from_pretrained(tmp_path)
    assert not isinstance(tokenizer, hf.FastTokenizer)
    assert isinstance(tokenizer.backend_tokenizer, tokenizers.Tokenizer)


def test_places_come_from_the_engine(
    pair: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {
        "padding": True, "truncation": True, "max_length": 12, "stride": 2,
        "return_overflowing_tokens": True, "return_offsets_mapping": True,
    }  # fmt: skip
    expected = pair[0](TEXTS, TEXTS[::-1], **options)
    rows = range(len(expected["input_ids"]))
    monkeypatch.setattr(PeerRun, "_run", _no_run)
    answer = pair[1](TEXTS, TEXTS[::-1], **options)
    assert answer.data == expected.data
    for name in ("word_ids", "sequence_ids"):
        found = [[getattr(a, name)(row) for row in rows] for a in (answer, expected)]
        assert found[0] == found[1]
    assert answer.char_to_token(3, 2) == expected.char_to_token(3, 2)
    with pytest.raises(AssertionError, match="the library was asked"):
        _ = answer[0]


def test_without_transformers_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.delattr(hf, "AutoTokenizer", raising=False)
    with pytest.raises(MissingDependency, match="tokenmill\\[hf\\]"):
        _ = hf.AutoTokenizer
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = hf.nothing
    assert "Tokenizer" in dir(hf)


def _revived(answer: Any) -> Any:
    again = pickle.loads(pickle.dumps(answer))  # noqa: S301
    return again.data, [again.word_ids(i) for i in range(len(TEXTS))]


def _no_run(_run: object) -> None:
    raise AssertionError("the library was asked")
