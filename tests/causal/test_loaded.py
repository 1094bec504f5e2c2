"""What a CausalLMTokenizer shows: its tokenizer, its way, its context length, its speed."""

from __future__ import annotations

import json
import pickle
import re
from typing import TYPE_CHECKING, Any

import pytest
import tiktoken
import tokenizers
import transformers
from tests.causal import slow_words
from tests.causal.corpus import QUIET, dataset, made, paragraphs
from tests.load.sources import tokenizer_json

from tokenmill import CausalLMTokenizer, OptionError, SourceNotFound, Tokenizer
from tokenmill._causal.counts import Stopwatch
from tokenmill.compat import hf

if TYPE_CHECKING:
    from pathlib import Path

# What transformers writes for a tokenizer without a limit.
ENDLESS = 1000000000000000019884624838656


def folder_with(folder: Path, settings: dict[str, Any] | None) -> Path:
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer_json()))
    if settings is not None:
        (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


def test_a_name_is_loaded_natively_and_once(small_json: Path) -> None:
    found = CausalLMTokenizer(tokenizer_name=small_json)
    assert found.is_fast is True
    assert isinstance(found.tokenizer, Tokenizer)
    assert found.tokenizer is found.tokenizer
    assert found.tokenizer.encode("a").tolist() == Tokenizer.load(small_json).encode("a").tolist()
    assert pickle.loads(pickle.dumps(found)).is_fast  # noqa: S301


def test_objects_are_what_they_are(small_json: Path, small: Tokenizer) -> None:
    library = tokenizers.Tokenizer.from_file(str(small_json))
    fast = transformers.PreTrainedTokenizerFast(tokenizer_file=str(small_json))
    slow: Any = slow_words.Words()
    for tokenizer, is_fast in (
        (small, True),
        (library, True),
        (fast, True),
        (slow, False),
        (transformers.ByT5Tokenizer(), False),
    ):
        found = CausalLMTokenizer(tokenizer=tokenizer)
        assert found.tokenizer is tokenizer
        assert found.is_fast is is_fast


def test_what_the_engine_reads_is_shown_as_the_engine(small_json: Path) -> None:
    ranks = {bytes([byte]): byte for byte in range(256)}
    encoding = tiktoken.Encoding("tiny", pat_str=r"\S+", mergeable_ranks=ranks, special_tokens={})
    for tokenizer in (encoding, hf.Tokenizer.from_file(str(small_json))):
        found = CausalLMTokenizer(tokenizer=tokenizer)
        assert isinstance(found.tokenizer, Tokenizer)
        assert found.is_fast


def test_what_cannot_be_loaded_is_reported_when_it_is_needed(tmp_path: Path) -> None:
    found = CausalLMTokenizer(tokenizer_name=str(tmp_path / "nothing"))
    with pytest.raises(SourceNotFound):
        assert found.is_fast
    with pytest.raises(OptionError, match="expected a tokenizer"):
        assert CausalLMTokenizer(tokenizer=7).tokenizer


@pytest.mark.parametrize(
    ("settings", "tokens", "reason"),
    [
        ({"model_max_length": 1024}, 1024, "model_max_length of the tokenizer"),
        ({"model_max_length": 1 << 20}, 1 << 20, "model_max_length of the tokenizer"),
        ({"model_max_length": (1 << 20) + 1}, 2048, "has the model_max_length 1048577"),
        ({"model_max_length": ENDLESS}, 2048, f"has the model_max_length {ENDLESS}"),
        ({"model_max_length": 1e30}, 2048, "has the model_max_length 1e+30"),
        ({"model_max_length": 0}, 2048, "has the model_max_length 0"),
        ({"model_max_length": -1}, 2048, "has the model_max_length -1"),
        ({"model_max_length": True}, 2048, "has the model_max_length True"),
        ({"model_max_length": "512"}, 2048, "has the model_max_length 512"),
        ({}, 2048, "has no model_max_length"),
        (None, 2048, "has no model_max_length"),
    ],
    ids=str,
)
def test_the_context_length_of_a_folder_and_of_its_file(
    settings: dict[str, Any] | None, tokens: int, reason: str, tmp_path: Path
) -> None:
    folder = folder_with(tmp_path, settings)
    for source in (folder, folder / "tokenizer.json"):
        found = CausalLMTokenizer(tokenizer_name=str(source))
        assert found.config.context_length is None
        assert found.context_length == tokens
        assert found.context_length_reason.endswith(reason)


def test_the_context_length_of_an_object(small_json: Path) -> None:
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(small_json), model_max_length=300
    )
    assert CausalLMTokenizer(tokenizer=fast).context_length == 300
    fast.model_max_length = ENDLESS
    assert CausalLMTokenizer(tokenizer=fast).context_length == 2048
    assert CausalLMTokenizer(tokenizer=str.split).context_length == 2048
    given = CausalLMTokenizer(tokenizer=fast, context_length=7)
    assert (given.context_length, given.context_length_reason) == (7, "")


def test_a_context_length_that_was_chosen_is_used_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = folder_with(tmp_path, {"model_max_length": 48})
    chosen = CausalLMTokenizer(tokenizer_name=str(folder), **QUIET)
    texts = dataset(paragraphs())
    rows = chosen.tokenize(texts, eos=0)
    assert caplog.messages[0] == "context_length=48: model_max_length of the tokenizer"
    given = CausalLMTokenizer(tokenizer_name=str(folder), context_length=48, **QUIET)
    caplog.clear()
    assert rows["input_ids"] == given.tokenize(texts, eos=0)["input_ids"]
    assert "context_length=" not in caplog.text
    manifest = chosen.tokenize(texts, eos=0, output=tmp_path / "shards")
    assert manifest.data["context_length"] == 48
    assert "context_length=48: model_max_length of the tokenizer" in caplog.messages


def test_the_usual_context_length_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    rows = CausalLMTokenizer(**QUIET).tokenize(dataset(["text"]))
    assert rows.features["input_ids"].length == 2048
    line = "context_length=2048: the default, because the tokenizer has no model_max_length"
    assert line in caplog.messages


def test_an_overlap_is_checked_against_a_context_length_that_was_chosen(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, {"model_max_length": 16})
    found = CausalLMTokenizer(tokenizer_name=str(folder), overlap=16, **QUIET)
    with pytest.raises(OptionError, match="overlap: expected less than context_length, 16, got 16"):
        found.tokenize(dataset(["text"]))


CLOSING = re.compile(
    r"(?P<documents>[\d,]+) documents, (?P<tokens>[\d,]+) tokens, [\d,]+ rows of 32"
    r"(, [\d,]+ tokens of padding)? in (?P<seconds>[\d.]+) s "
    r"\((?P<documents_s>[\d,]+) documents/s, (?P<tokens_s>[\d,]+) tokens/s, "
    r"(?P<mb_s>[\d,.]+) MB/s\), peak memory (?P<memory>[\d,]+) MB"
)


@pytest.mark.parametrize("streams", [False, True])
def test_the_closing_line_has_the_speed_and_the_memory(
    streams: bool, caplog: pytest.LogCaptureFixture
) -> None:
    texts = dataset([*paragraphs() * 20, None, ""])
    rows = made().tokenize(texts.to_iterable_dataset() if streams else texts)
    assert sum(1 for _ in rows) > 100
    line = next(found for m in caplog.messages if (found := CLOSING.fullmatch(m)))
    number = {name: float(text.replace(",", "")) for name, text in line.groupdict().items()}
    assert number["documents"] == len(texts) - 2
    assert number["documents_s"] == pytest.approx(number["documents"] / number["seconds"], rel=0.2)
    assert number["tokens_s"] == pytest.approx(number["tokens"] / number["seconds"], rel=0.2)
    megabytes = sum(len(text.encode()) for text in paragraphs() * 20) / 1e6
    assert number["mb_s"] == pytest.approx(megabytes / number["seconds"], rel=0.2)
    assert 20 < number["memory"] < 100_000


def test_shards_have_a_closing_line_too(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for end in (r" in [\d.]+ s \(.* documents/s, .* tokens/s, .* MB/s\), peak memory [\d,]+ MB",
                ", finished by an earlier run"):  # fmt: skip
        caplog.clear()
        made().tokenize(dataset(paragraphs()), output=tmp_path / "shards")
        count = len(paragraphs())
        found = rf"{count} of {count} documents -> [\d,]+ rows in .*shards{end}"
        assert any(re.fullmatch(found, message) for message in caplog.messages)


def test_a_stopwatch_counts_only_while_it_runs() -> None:
    watch = Stopwatch()
    watch.pause()
    stopped = watch.seconds
    assert watch.seconds == stopped
    watch.resume()
    while watch.seconds == stopped:
        pass
    assert watch.seconds > stopped
