"""Streaming datasets: the same rows, read when they are asked for, in little memory."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from datasets import Dataset, Features, IterableDataset, IterableDatasetDict, Value
from tests.causal import slow_words
from tests.causal.corpus import QUIET, ROOT, columns_of, dataset, features, paragraphs
from torch.utils.data import DataLoader

from tokenmill import CausalLMTokenizer, OptionError, Tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def builtin() -> Tokenizer:
    return Tokenizer.load()


@pytest.fixture
def made(builtin: Tokenizer) -> CausalLMTokenizer:
    return CausalLMTokenizer(context_length=32, overlap=4, tokenizer=builtin, **QUIET)


def generated(texts: Any, seen: list[str] | None = None) -> IterableDataset:
    """A stream without known features; `seen` gets what was read."""

    def examples() -> Iterator[dict[str, Any]]:
        for number, text in enumerate(texts):
            if seen is not None:
                seen.append(text)
            yield {"text": text, "n": number}

    return IterableDataset.from_generator(examples)


@pytest.mark.parametrize("pack", [True, False])
@pytest.mark.parametrize("tail", ["pad", "carry", "drop"])
def test_a_stream_gives_the_rows_of_the_dataset(
    made: CausalLMTokenizer,
    pack: bool,
    tail: Any,
) -> None:
    texts = [*paragraphs(), None, "", "end"]
    expected = columns_of(made.tokenize(dataset(texts), pack=pack, tail=tail))
    for stream in (dataset(texts).to_iterable_dataset(num_shards=3), generated(texts)):
        result = made.tokenize(stream, pack=pack, tail=tail)
        assert type(result) is IterableDataset
        assert result.features == Features(features(-1 if tail == "carry" else 32))
        assert columns_of(result) == expected
        assert columns_of(result) == expected  # every time again


def test_a_dict_of_streams_gives_a_dict_of_streams(made: CausalLMTokenizer) -> None:
    splits = IterableDatasetDict(train=generated(paragraphs()), test=generated(["a"]))
    result = made.tokenize(splits)
    assert type(result) is IterableDatasetDict
    assert list(result) == ["train", "test"]
    assert columns_of(result["test"]) == columns_of(made.tokenize(dataset(["a"])))


def test_nothing_is_read_before_it_is_asked_for(made: CausalLMTokenizer) -> None:
    seen: list[str] = []
    texts = [f"text number {i} " * 10 for i in range(20_000)]
    result = made.tokenize(generated(texts, seen))
    assert seen == []
    rows = iter(result)
    next(rows)
    assert 0 < len(seen) <= 6100
    assert columns_of(made.tokenize(generated(texts, seen), max_rows=3)) == columns_of(
        made.tokenize(dataset(texts), max_rows=3)
    )


def test_columns_are_kept_and_found_as_in_datasets(
    made: CausalLMTokenizer, caplog: pytest.LogCaptureFixture
) -> None:
    texts = list(paragraphs()[:20])
    whole = dataset(texts, n=list(range(20)))
    expected = made.tokenize(whole, pack=False, keep_columns=["n"])["n"]
    caplog.clear()
    known = made.tokenize(whole.to_iterable_dataset(), pack=False, keep_columns=["n"])
    unknown = made.tokenize(generated(texts), pack=False, keep_columns=["n"])
    assert known.features == Features({**features(), "n": Value("int64")})
    assert unknown.features is None
    assert [row["n"] for row in known] == [row["n"] for row in unknown] == expected
    assert caplog.messages.count("text column 'text' (detected)") == 2
    assert caplog.messages.count("columns: kept n; dropped none") == 2


def test_a_missing_column_is_reported_at_once_if_columns_are_known(made: CausalLMTokenizer) -> None:
    known = Dataset.from_dict({"a": ["x"], "b": ["y"]}).to_iterable_dataset()
    with pytest.raises(OptionError, match=r"text_column: 2 columns hold strings.*a \(string\), b"):
        made.tokenize(known)
    unknown = made.tokenize(generated(["x"]), text_column="body")
    with pytest.raises(OptionError, match=r"there is no column 'body'.*text \(string\), n"):
        next(iter(unknown))


def test_a_stream_may_begin_with_none(made: CausalLMTokenizer) -> None:
    texts = [None] * 250 + ["hello", None, "world"]
    assert columns_of(made.tokenize(generated(texts))) == columns_of(
        made.tokenize(dataset(["hello", "world"]))
    )


@pytest.mark.parametrize("texts", [["a", 3], ["a"] * 200 + [3], ["a"] * 200 + [3, "b"]])
def test_a_column_of_several_types_is_reported(made: CausalLMTokenizer, texts: list[Any]) -> None:
    with pytest.raises(OptionError, match=r"no column 'text'|several in the column 'text'"):
        list(made.tokenize(generated(texts), text_column="text"))


def test_a_column_that_arrow_cannot_hold_is_left_alone(made: CausalLMTokenizer) -> None:
    examples = [{"text": "a", "picture": object()}, {"text": "b", "picture": object()}]
    stream = IterableDataset.from_generator(lambda: iter(examples))
    assert columns_of(made.tokenize(stream)) == columns_of(made.tokenize(dataset(["a", "b"])))


def test_an_empty_stream_gives_no_rows(made: CausalLMTokenizer) -> None:
    assert list(made.tokenize(generated([]))) == []
    assert list(made.tokenize(generated([None, ""]))) == []


def test_a_stream_is_not_cached_and_this_is_logged(
    made: CausalLMTokenizer,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Any,
) -> None:
    made.tokenize(generated(["a"]), cache_dir=tmp_path)
    assert "cache_dir is ignored: an IterableDataset is tokenized as it is read" in caplog.messages
    assert list(tmp_path.iterdir()) == []


def test_a_stream_goes_on_where_it_was_left(made: CausalLMTokenizer) -> None:
    result = made.tokenize(generated(paragraphs()))
    expected = columns_of(result)
    rows = iter(result)
    for _ in range(7):
        next(rows)
    again = made.tokenize(generated(paragraphs()))
    again.load_state_dict(result.state_dict())
    assert columns_of(again) == expected[7:]


def test_slow_tokenizers_stream_through_their_processes() -> None:
    texts = paragraphs()[:30]
    slow = CausalLMTokenizer(
        context_length=8, tokenizer=slow_words.Words(), num_proc=2, batch_size=9, **QUIET
    )
    result = slow.tokenize(generated(texts))
    expected = columns_of(slow.tokenize(dataset(texts)))
    assert columns_of(result) == columns_of(result) == expected


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("workers", [0, 1])
def test_a_data_loader_takes_a_stream(made: CausalLMTokenizer, workers: int) -> None:
    result = made.tokenize(generated(paragraphs())).with_format("torch")
    loader: Any = DataLoader(result, batch_size=4, num_workers=workers)
    ids = [row for batch in loader for row in batch["input_ids"].tolist()]
    assert ids == [row["input_ids"] for row in made.tokenize(dataset(paragraphs()))]


STREAM = """
from datasets import IterableDataset
from tests.peaks import peak_mb, refuse_large_pages
from tokenmill import CausalLMTokenizer
refuse_large_pages()
def examples(megabytes):
    text = "the quick brown fox jumps over the lazy dog " * 100
    for i in range(int(megabytes * 1e6 / len(text))):
        yield {"text": f"{i} {text}"}
def peak(megabytes):
    stream = IterableDataset.from_generator(examples, gen_kwargs={"megabytes": megabytes})
    made = CausalLMTokenizer(context_length=1024, batch_size=500, verbose_level="ERROR")
    rows = sum(len(t) for t in made.tokenize(stream).with_format("arrow").iter(64))
    return rows, peak_mb()
few, first = peak(10)
many, second = peak(80)
print(many / few, second - first)
"""


def test_memory_does_not_grow_with_the_stream() -> None:
    """Up to five times: noise of the allocator adds to a peak, it never takes from it."""
    grown: list[float] = []
    while len(grown) < 5 and min(grown, default=45.0) >= 45:
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-c", STREAM], cwd=ROOT, check=True, capture_output=True, text=True
        )
        more_rows, more_megabytes = map(float, done.stdout.split())
        assert 7.5 < more_rows < 8.5
        grown.append(more_megabytes)
    assert min(grown) < 45, "70 MB more of input, and memory grew with it"


def test_the_first_rows_do_not_wait_for_a_whole_batch(made: CausalLMTokenizer) -> None:
    seen: list[str] = []
    result = made.tokenize(generated([*paragraphs()] * 500, seen), text_column="text")
    next(iter(result))
    assert 0 < len(seen) <= 200


def test_another_epoch_is_another_order_of_the_documents(made: CausalLMTokenizer) -> None:
    texts = [*paragraphs()]
    shuffled = generated(texts).shuffle(seed=3, buffer_size=10)
    rows = made.tokenize(shuffled, text_column="text").with_format(None)
    epochs = []
    for epoch in (0, 1, 2, 1):
        rows.set_epoch(epoch)
        epochs.append(columns_of(rows))
    assert epochs[0] != epochs[1] != epochs[2]
    assert epochs[3] == epochs[1]
    shuffled.set_epoch(4)  # that of the source counts, too
    expected = made.tokenize(dataset([row["text"] for row in shuffled]))
    assert columns_of(made.tokenize(shuffled, text_column="text")) == columns_of(expected)
