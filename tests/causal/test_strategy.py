"""How tokenizers run: which way is chosen, the line that says so, and the same ids by every way."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
from typing import TYPE_CHECKING, Any

import pytest
import tiktoken
import tokenizers
import transformers
from tests.causal import slow_words
from tests.causal.corpus import QUIET, columns_of, dataset, paragraphs, reference
from tests.load.sources import tokenizer_json

from tokenmill import (
    CausalLMTokenizer,
    EncodeError,
    OptionError,
    ReferencePathWarning,
    SourceNotFound,
    SpecialTokenInText,
    Tokenizer,
    TokenmillError,
)
from tokenmill._causal import cores, strategy
from tokenmill._causal.encoders import rust_threads
from tokenmill._machine import cpus
from tokenmill.compat import hf

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

TEXTS = paragraphs()[:40]


def made(**keys: Any) -> CausalLMTokenizer:
    return CausalLMTokenizer(**{"context_length": 16, **QUIET, **keys})


def performance(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [line for line in caplog.messages if line.startswith("Performance configuration")]


@pytest.fixture(params=["fork", "spawn"])
def start_method(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let worker processes be started in each way."""
    context = multiprocessing.get_context(request.param)
    monkeypatch.setattr(multiprocessing, "get_context", lambda: context)


@pytest.fixture
def two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKENMILL_THREADS", "2")


@pytest.mark.usefixtures("two_threads")
def test_a_native_tokenizer_uses_native_threads(caplog: pytest.LogCaptureFixture) -> None:
    made().tokenize(dataset(TEXTS))
    way = "fast_tokenizer_internal (native_threads(2))"
    assert performance(caplog) == [f"Performance configuration: batch_size=6000, parallelism={way}"]
    assert "num_proc" not in caplog.text


@pytest.mark.usefixtures("two_threads")
def test_num_proc_is_ignored_by_threads_and_this_is_logged(
    caplog: pytest.LogCaptureFixture, small_json: Path
) -> None:
    made(num_proc=4).tokenize(dataset(TEXTS))
    assert "num_proc=4 is ignored: a native tokenizer uses threads" in caplog.messages
    library = tokenizers.Tokenizer.from_file(str(small_json))
    made(num_proc=3, tokenizer=library).tokenize(dataset(TEXTS))
    assert "num_proc=3 is ignored: a fast tokenizer uses threads" in caplog.messages


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("special", ["text", "encode"])
def test_fast_tokenizers_of_the_library_use_its_threads_and_give_the_same_rows(
    small_json: Path,
    special: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    texts = dataset([*TEXTS, "a</s>b<s>"])
    expected = columns_of(
        made(tokenizer_name=str(small_json)).tokenize(texts, special_in_text=special)
    )
    library = tokenizers.Tokenizer.from_file(str(small_json))
    library.enable_truncation(2)
    library.enable_padding(length=50)
    before = library.to_str()
    ends = {"eos_token": "</s>", "bos_token": "<s>"}
    fast = transformers.PreTrainedTokenizerFast(tokenizer_file=str(small_json), **ends)
    caplog.clear()
    for tokenizer in (library, fast):
        result = made(tokenizer=tokenizer).tokenize(texts, special_in_text=special)
        assert columns_of(result) == expected
    way = "fast_tokenizer_internal (rust_threads(2))"
    line = f"Performance configuration: batch_size=6000, parallelism={way}"
    assert performance(caplog) == [line, line]
    assert library.to_str() == before  # the caller's object is left as it was


def test_the_environment_is_set_for_the_call_and_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")
    monkeypatch.delenv("RAYON_NUM_THREADS", raising=False)
    with rust_threads(3):
        assert os.environ["TOKENIZERS_PARALLELISM"] == "true"
        assert os.environ["RAYON_NUM_THREADS"] == "3"
    assert os.environ["TOKENIZERS_PARALLELISM"] == "false"
    assert "RAYON_NUM_THREADS" not in os.environ


def test_the_environment_is_put_back_after_an_error(
    small_json: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAYON_NUM_THREADS", "7")
    library = tokenizers.Tokenizer.from_file(str(small_json))
    with pytest.raises(SpecialTokenInText, match=r"document 1, byte 1: .*'</s>'"):
        made(tokenizer=library).tokenize(dataset(["fine", "a</s>"]), special_in_text="raise")
    assert os.environ["RAYON_NUM_THREADS"] == "7"


def test_what_the_engine_cannot_do_runs_in_the_threads_of_the_library(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "tokenizer.json"
    definition = tokenizer_json()
    definition["model"]["dropout"] = 0.0
    definition["pre_tokenizer"] = {
        "type": "Split", "pattern": {"Regex": r"(\w)\1"}, "behavior": "Isolated", "invert": False
    }  # fmt: skip
    path.write_text(json.dumps(definition))
    with pytest.warns(ReferencePathWarning):
        result = made(tokenizer_name=str(path)).tokenize(dataset(["aabb"]), eos=False, tail="carry")
    assert "parallelism=fast_tokenizer_internal (rust_threads(" in caplog.text
    assert result["input_ids"][0] == reference(path).encode("aabb", add_special_tokens=False).ids


def test_an_encoding_of_tiktoken_runs_natively(caplog: pytest.LogCaptureFixture) -> None:
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"he": 256, b"ll": 257}
    encoding = tiktoken.Encoding(
        "tiny", pat_str=r"\p{L}+|\s+|\S", mergeable_ranks=ranks, special_tokens={"<|end|>": 258}
    )
    result = made(tokenizer=encoding).tokenize(dataset(["hello"]), eos="<|end|>", tail="carry")
    assert result["input_ids"] == [[*encoding.encode("hello"), 258]]
    assert "parallelism=fast_tokenizer_internal (native_threads(" in caplog.text


def test_a_drop_in_of_tokenmill_runs_natively(
    small_json: Path, caplog: pytest.LogCaptureFixture
) -> None:
    texts = dataset(TEXTS)
    drop_in = hf.Tokenizer.from_file(str(small_json))
    result = made(tokenizer=drop_in).tokenize(texts)
    assert "parallelism=fast_tokenizer_internal (native_threads(" in caplog.text
    assert columns_of(result) == columns_of(made(tokenizer_name=small_json).tokenize(texts))


def test_a_slow_tokenizer_of_transformers_runs_on_processes_and_gives_its_own_ids(
    caplog: pytest.LogCaptureFixture,
) -> None:
    slow = transformers.ByT5Tokenizer()
    texts = [*TEXTS, "x</s>y", "caf\u00e9"]
    result = made(tokenizer=slow, num_proc=2, batch_size=10).tokenize(dataset(texts), tail="carry")
    assert performance(caplog) == [
        "Performance configuration: batch_size=10, num_proc=2, parallelism=python_multiprocessing"
    ]
    expected = [
        token
        for text in texts
        for token in [*(byte + 3 for byte in text.encode()), slow.eos_token_id]
    ]
    assert [i for row in result["input_ids"] for i in row] == expected


@pytest.mark.parametrize("tokenizer", [slow_words.Words(), slow_words.Callable()])
@pytest.mark.usefixtures("start_method")
def test_any_object_runs_on_processes_and_in_one(tokenizer: object) -> None:
    texts = dataset(TEXTS)
    alone = made(tokenizer=tokenizer, num_proc=1).tokenize(texts, pack=False)
    apart = made(tokenizer=tokenizer, num_proc=3, batch_size=7).tokenize(texts, pack=False)
    assert columns_of(alone) == columns_of(apart)
    first = [len(word) + 10 for word in TEXTS[0].split()]
    assert alone["input_ids"][0] == [*first, 1][:16] + [0] * (15 - len(first))


def test_one_process_is_this_one(caplog: pytest.LogCaptureFixture) -> None:
    result = made(tokenizer=slow_words.Processes(), num_proc=1).tokenize(
        dataset(TEXTS), eos=False, pad=0
    )
    assert {i for row in result["input_ids"] for i in row if i} == {os.getpid()}
    assert "num_proc=1, parallelism=single_process" in caplog.text


def test_processes_are_as_many_as_asked_for_and_not_this_one() -> None:
    texts = dataset(["x"] * 4000)
    made_of_pids = made(tokenizer=slow_words.Processes(), num_proc=2)
    result = made_of_pids.tokenize(texts, eos=False, pad=0)
    pids = {i for row in result["input_ids"] for i in row if i}
    assert 1 <= len(pids) <= 2
    assert os.getpid() not in pids
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("processes", [1, 2])
def test_an_error_names_the_document(processes: int) -> None:
    texts: list[str | None] = ["fine"] * 30
    texts[4], texts[23] = None, "a bad one"
    with pytest.raises(EncodeError) as caught:
        made(tokenizer=slow_words.Words(), num_proc=processes, batch_size=9).tokenize(
            dataset(texts)
        )
    assert str(caught.value) == "document 23: Words raised KeyError: 'no such word'"
    assert caught.value.document == 23


@pytest.mark.parametrize("result", ["text", [1.5], [[1], [2]], [-1], [2**31], None])
def test_a_result_that_is_not_a_row_of_ids_is_reported(result: object) -> None:
    tokenizer = slow_words.Gives(result)
    with pytest.raises(EncodeError, match="document 0: Gives raised"):
        made(tokenizer=tokenizer, num_proc=1).tokenize(dataset(["a"]))


def test_a_worker_that_dies_is_an_error_and_no_wait() -> None:
    texts = dataset(["fine"] * 20 + ["die"])
    with pytest.raises(TokenmillError, match=r"Dies: a worker process .* ended before its work"):
        made(tokenizer=slow_words.Dies(), num_proc=2).tokenize(texts)


def test_what_cannot_be_pickled_is_reported_if_processes_are_spawned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = dataset(["one two"] * 10)
    made(tokenizer=slow_words.Stays(), num_proc=2).tokenize(texts)  # forked: it need not travel
    context = multiprocessing.get_context("spawn")
    monkeypatch.setattr(multiprocessing, "get_context", lambda: context)
    with pytest.raises(OptionError, match="num_proc: Stays cannot be sent to a worker process"):
        made(tokenizer=slow_words.Stays(), num_proc=2).tokenize(texts)


def test_an_object_that_is_no_tokenizer_is_refused() -> None:
    with pytest.raises(OptionError, match=r"tokenizer: expected a tokenizer: one of .* got int"):
        made(tokenizer=7).tokenize(dataset(["a"]))


def test_a_tokenizer_without_an_end_asks_for_one() -> None:
    with pytest.raises(OptionError, match="eos: the token that ends a document is unknown"):
        made(tokenizer=str.split).tokenize(dataset(["a"]))


def test_a_folder_that_only_transformers_knows_is_loaded_by_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    transformers.ByT5Tokenizer().save_pretrained(tmp_path)
    result = made(tokenizer_name=str(tmp_path)).tokenize(dataset(["abc"]), tail="carry")
    assert result["input_ids"] == [[*(byte + 3 for byte in b"abc"), 1]]
    assert "num_proc=" in caplog.text


def test_a_name_that_nobody_knows_is_reported_by_the_first_error(tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text("{}")
    with pytest.raises(SourceNotFound, match=r"expected tokenizer.json"):
        made(tokenizer_name=str(tmp_path)).tokenize(dataset(["a"]))
    with pytest.raises(SourceNotFound):
        made(tokenizer_name=str(tmp_path / "nothing here")).tokenize(dataset(["a"]))


def test_a_slow_tokenizer_with_a_fast_twin_is_named_in_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from transformers.models.bert import tokenization_bert_legacy

    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhello\nworld\n##s\n")
    slow = tokenization_bert_legacy.BertTokenizerLegacy(str(tmp_path / "vocab.txt"))
    result = made(tokenizer=slow, num_proc=1).tokenize(
        dataset(["Hello worlds"]), eos="[SEP]", tail="carry"
    )
    assert result["input_ids"] == [[5, 6, 7, 3]]
    said = [r for r in caplog.records if r.levelname == "WARNING"]
    assert [r.getMessage() for r in said] == [
        "Using slow tokenizer BertTokenizerLegacy: it is written in Python and runs in this "
        "process; a fast one exists: transformers.AutoTokenizer loads it for BertTokenizer"
    ]
    caplog.clear()
    slow.name_or_path = str(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    made(tokenizer=slow, num_proc=1).tokenize(dataset(["hello"]), eos=False)
    assert f"a fast one exists: tokenizer_name={str(tmp_path)!r}" in caplog.text


def test_every_slow_tokenizer_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    made(tokenizer=slow_words.Words(), num_proc=2).tokenize(dataset(["a"]))
    warnings = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
    assert warnings == [
        "Using slow tokenizer Words: it is written in Python and runs in 2 processes; "
        "no fast version of it is known"
    ]


def test_the_level_decides_what_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    texts = dataset(["a", None])
    counts = []
    for level in ("DEBUG", "INFO", "WARNING", "ERROR"):
        caplog.clear()
        made(verbose_level=level).tokenize(texts)
        counts.append(len(caplog.records))
    assert counts == sorted(counts, reverse=True)
    assert len(set(counts)) == 4
    assert counts[2:] == [1, 0]


def test_cores_count_and_not_their_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def machine(*, allowed: Iterable[int], threads: int) -> None:
        monkeypatch.setattr(cpus, "allowed_cpus", lambda: set(allowed))
        monkeypatch.setattr(cpus, "available", lambda: threads)
        monkeypatch.setattr(cores, "available", lambda: threads)

    for cpu, siblings in enumerate(["0,4", "1,5", "2,6", "3,7", "0,4", "1,5", "2,6", "3,7"]):
        folder = tmp_path / f"cpu{cpu}" / "topology"
        folder.mkdir(parents=True)
        (folder / ("core_cpus_list" if cpu % 2 else "thread_siblings_list")).write_text(siblings)
    monkeypatch.setattr(cpus, "_CPUS", tmp_path)
    monkeypatch.delenv("TOKENMILL_THREADS", raising=False)
    machine(allowed=range(8), threads=8)
    assert (cores.thread_count(), cores.process_count()) == (4, 2)
    machine(allowed=[0, 4, 1], threads=8)
    assert (cores.thread_count(), cores.process_count()) == (2, 1)
    machine(allowed=range(8), threads=3)  # a quota of the control group
    assert cores.thread_count() == 3
    monkeypatch.setattr(cpus, "_CPUS", tmp_path / "nowhere")
    machine(allowed=range(200), threads=200)
    assert (cores.thread_count(), cores.process_count()) == (200, 32)
    monkeypatch.setenv("TOKENMILL_THREADS", "5")
    machine(allowed=[0], threads=5)
    assert cores.thread_count() == 5


def test_half_of_the_cores_is_the_default(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(strategy, "process_count", lambda: 4)
    made(tokenizer=slow_words.Words()).tokenize(dataset(["a"] * 50))
    assert performance(caplog) == [
        "Performance configuration: batch_size=6000, num_proc=4, parallelism=python_multiprocessing"
    ]


def test_a_cache_knows_slow_tokenizers_too(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    texts = dataset(["one two"])
    for result in ([7], [7], [8]):
        tokenizer = slow_words.Gives(result)
        rows = made(tokenizer=tokenizer, num_proc=1).tokenize(texts, cache_dir=tmp_path)
        assert rows["input_ids"][0][:2] == [*result, 1]
    assert len(list(tmp_path.iterdir())) == 2
    assert caplog.text.count("found in the cache") == 1


def test_the_engine_survives_being_pickled(small: Tokenizer) -> None:
    from tokenmill._causal.job import make_job
    from tokenmill._causal.options import check_options

    job = make_job(made(tokenizer=small), check_options())
    again = pickle.loads(pickle.dumps(job))  # noqa: S301
    assert again.eos_id == job.eos_id
    assert again.encoder.parallelism == job.encoder.parallelism
