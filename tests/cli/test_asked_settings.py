"""Settings files, log lines and snippets for CausalLMTokenizer that guides for other tools teach.

The numbers c1 to c16 are those of the list of commands and settings that were asked for.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING

import pytest
from datasets import Dataset
from tests.causal.slow_words import Words
from tests.cli.slow_cut import TEXTS

from tokenmill import CausalLMTokenizer, SourceNotFound, Tokenizer

if TYPE_CHECKING:
    from pathlib import Path

FAST = """\
# Configuration for fast tokenizers
tokenizer:
  batch_size: 2000
  num_proc: null  # uses internal parallelism
  show_progress: true
"""
SLOW = """\
# Configuration for slow tokenizers
tokenizer:
  batch_size: 2000
  num_proc: 4
  verbose_level: INFO
  show_progress: true
"""
SINGLE = """\
# Debug configuration
tokenizer:
  batch_size: 100
  num_proc: 1  # Forces single process
  verbose_level: DEBUG
  show_progress: false
"""
OLD = """\
tokenizer:
  num_proc: 8
"""
NEW = """\
tokenizer:
  # batch_size and num_proc are detected
"""
WITH_NAME = """\
tokenizer:
  context_length: 1024
  tokenizer_name: "gpt2"
"""
COMPLETE = """\
tokenizer:
  context_length: 64
  overlap: 8
  verbose_level: INFO
  batch_size: 6000
  num_proc: null
  show_progress: false
"""
FRAMEWORK = """\
dataset:
  name: wikitext
  split: train
tokenizer:
  context_length: 64
training:
  epochs: 1
  learning_rate: 3.0e-4
"""


@pytest.fixture
def texts() -> Dataset:
    return Dataset.from_dict({"text": TEXTS})


@pytest.fixture(autouse=True)
def logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="tokenmill")


def settings(folder: Path, text: str) -> CausalLMTokenizer:
    path = folder / "config.yaml"
    path.write_text(text)
    return CausalLMTokenizer(path)


@pytest.mark.parametrize("text", [FAST, SLOW, SINGLE, OLD, NEW], ids=lambda text: text[:30])
def test_c1_c3_c4_a_file_without_context_length_has_a_default_that_is_logged(
    tmp_path: Path, texts: Dataset, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    rows = settings(tmp_path, text).tokenize(texts)
    assert len(rows[0]["input_ids"]) == 2048
    assert re.search(r"context_length.*2048", caplog.text)


def test_c2_a_complete_file(tmp_path: Path, texts: Dataset) -> None:
    rows = settings(tmp_path, COMPLETE).tokenize(texts)
    assert {len(row) for row in rows["input_ids"]} == {64}


def test_c2_the_name_of_a_tokenizer_is_resolved_when_it_is_used(
    tmp_path: Path, texts: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "empty"))
    tokenizer = settings(tmp_path, WITH_NAME)
    assert tokenizer.config.context_length == 1024
    with pytest.raises(SourceNotFound, match="gpt2"):
        tokenizer.tokenize(texts)


def test_c5_other_sections_of_a_file_are_left_alone(tmp_path: Path, texts: Dataset) -> None:
    tokenizer = settings(tmp_path, FRAMEWORK)
    assert tokenizer.config.context_length == 64
    assert len(tokenizer.tokenize(texts)) > 1


def test_c6_c10_the_line_on_a_fast_tokenizer(
    tmp_path: Path, texts: Dataset, caplog: pytest.LogCaptureFixture
) -> None:
    settings(tmp_path, FAST).tokenize(texts)
    line = next(m for m in caplog.messages if m.startswith("Performance configuration: "))
    assert "batch_size=2000" in line
    assert "fast_tokenizer_internal" in line
    caplog.clear()
    settings(tmp_path, SINGLE).tokenize(texts)
    assert "num_proc=1 is ignored" in caplog.text


def test_c7_c8_c9_the_lines_on_a_slow_tokenizer(
    texts: Dataset, caplog: pytest.LogCaptureFixture
) -> None:
    tokenizer = CausalLMTokenizer(
        {"tokenizer": {"context_length": 64, "batch_size": 2000, "num_proc": 4}}, tokenizer=Words()
    )
    tokenizer.tokenize(texts)
    line = (
        "Performance configuration: batch_size=2000, num_proc=4, parallelism=python_multiprocessing"
    )
    assert any(line in message for message in caplog.messages)
    warnings = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert any("slow" in message.lower() and "tokenizer" in message for message in warnings)
    caplog.clear()
    CausalLMTokenizer(context_length=64, num_proc=1, tokenizer=Words()).tokenize(texts)
    assert "parallelism=single_process" in caplog.text


def test_c11_c12_columns_are_small_integers_of_a_fixed_length(texts: Dataset) -> None:
    rows = CausalLMTokenizer(context_length=64).tokenize(texts)
    for name, dtype in (("input_ids", "int32"), ("attention_mask", "int8"), ("labels", "int32")):
        feature = rows.features[name]
        assert (feature.feature.dtype, feature.length) == (dtype, 64)


def test_c16_the_closing_line_has_times_and_rates(
    texts: Dataset, caplog: pytest.LogCaptureFixture
) -> None:
    CausalLMTokenizer(context_length=64).tokenize(texts)
    line = next(m for m in caplog.messages if "documents/s" in m)
    assert re.search(r"[\d.]+ s\b", line)
    assert all(word in line for word in ("tokens/s", "MB/s"))
    assert re.search(r"[\d.,]+ M(i)?B", line.replace("MB/s", ""))


def test_whether_a_tokenizer_is_fast_is_known_before_tokenizing() -> None:
    fast = CausalLMTokenizer(context_length=64)
    assert fast.is_fast
    assert isinstance(fast.tokenizer, Tokenizer)
    slow = CausalLMTokenizer(context_length=64, tokenizer=Words())
    assert not slow.is_fast
    assert isinstance(slow.tokenizer, Words)
