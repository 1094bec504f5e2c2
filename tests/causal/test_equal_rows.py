"""The same rows as the scripts that people have: `datasets.map` with `group_texts`, and strides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.causal.corpus import QUIET, columns_of, dataset, gpt2_file, paragraphs, reference
from tests.reference import causal as slow

from tokenmill import CausalLMTokenizer
from tokenmill._causal.options import TAILS

if TYPE_CHECKING:
    from pathlib import Path

    import tokenizers

EOS = 50256


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return gpt2_file(tmp_path_factory.mktemp("gpt2"))


@pytest.fixture(scope="module")
def library(gpt2: Path) -> tokenizers.Tokenizer:
    return reference(gpt2)


def mapped(texts: Any, library: Any, size: int, batch_size: int) -> Any:
    """Tokenize and group as the scripts do: each batch of documents drops its remainder."""

    def tokenize(batch: dict[str, list[str]]) -> dict[str, list[list[int]]]:
        encoded = library.encode_batch(batch["text"], add_special_tokens=False)
        rows = [[*encoding.ids, EOS] for encoding in encoded]
        return {"input_ids": rows, "attention_mask": [[1] * len(row) for row in rows]}

    tokenized = texts.map(tokenize, batched=True, remove_columns=["text"])
    return tokenized.map(
        lambda batch: slow.group_texts(batch, size), batched=True, batch_size=batch_size
    )


@pytest.mark.parametrize("size", [1, 7, 128, 512])
def test_rows_equal_those_of_group_texts(
    gpt2: Path, library: tokenizers.Tokenizer, size: int
) -> None:
    texts = dataset(paragraphs())
    made = CausalLMTokenizer(context_length=size, tokenizer_name=str(gpt2), **QUIET)
    expected = mapped(texts, library, size, batch_size=len(texts))
    assert columns_of(made.tokenize(texts, tail="drop")) == columns_of(expected)
    assert len(expected) > 10


def test_rows_equal_those_of_group_texts_in_batches_when_its_remainders_are_accounted_for(
    gpt2: Path, library: tokenizers.Tokenizer
) -> None:
    texts = dataset(paragraphs())
    size, step = 64, 50
    made = CausalLMTokenizer(context_length=size, tokenizer_name=str(gpt2), **QUIET)
    expected = mapped(texts, library, size, batch_size=step)
    parts = [
        texts.select(range(begin, min(begin + step, len(texts))))
        for begin in range(0, len(texts), step)
    ]
    rows = [row for part in parts for row in columns_of(made.tokenize(part, tail="drop"))]
    assert rows == columns_of(expected)
    # What the batches lose is what the whole stream has more of, token by token.
    stream = [i for row in made.tokenize(texts, tail="carry")["input_ids"] for i in row]
    kept = [i for part in parts for i in _ids(made.tokenize(part, tail="carry"))]
    assert stream == kept
    lost = len(stream) - sum(len(ids) for ids, _, _ in rows)
    assert 0 < lost < size * len(parts)


def _ids(rows: Any) -> list[int]:
    return [i for row in rows["input_ids"] for i in row]


@pytest.mark.parametrize(("size", "overlap"), [(16, 0), (16, 1), (16, 15), (100, 30)])
def test_windows_equal_the_stride_windows_of_the_library(
    gpt2: Path, library: tokenizers.Tokenizer, size: int, overlap: int
) -> None:
    texts = paragraphs()
    strided = reference(gpt2)
    strided.enable_truncation(size, stride=overlap)
    expected = [
        window.ids
        for encoding in strided.encode_batch(list(texts), add_special_tokens=False)
        for window in [encoding, *encoding.overflowing]
    ]
    made = CausalLMTokenizer(
        context_length=size, overlap=overlap, tokenizer_name=str(gpt2), **QUIET
    )
    rows = made.tokenize(dataset(texts), pack=False, eos=False, tail="carry")
    assert rows["input_ids"] == expected
    assert len(expected) > len(texts)


TEXTS = st.lists(
    st.sampled_from(["a", "hello world", "", "</s>", "caf\u00e9 \U0001f600", "x " * 9])
)


@st.composite
def calls(draw: st.DrawFn) -> tuple[slow.Cut, bool, bool, bool]:
    size = draw(st.integers(1, 12))
    tail = draw(st.sampled_from(TAILS))
    cut = slow.Cut(size, draw(st.integers(0, size - 1)), tail, 266, draw(st.booleans()))
    return cut, draw(st.booleans()), draw(st.booleans()), draw(st.booleans())


@given(TEXTS, calls())
@settings(max_examples=40, suppress_health_check=list(HealthCheck))
def test_every_option_gives_what_the_slow_twin_gives(
    small_json: Path, texts: list[str], call: tuple[slow.Cut, bool, bool, bool]
) -> None:
    cut, pack, with_eos, with_bos = call
    library = reference(small_json)
    eos, bos = (266 if with_eos else None), (265 if with_bos else None)
    documents = slow.framed(
        texts, lambda text: library.encode(text, add_special_tokens=False).ids, bos, eos
    )
    expected = (slow.packed_rows if pack else slow.document_rows)(documents, cut)
    made = CausalLMTokenizer(
        context_length=cut.context_length,
        overlap=cut.overlap,
        tokenizer_name=str(small_json),
        verbose_level="ERROR",
        batch_size=3,
        **QUIET,
    )
    rows = made.tokenize(
        dataset(texts).cast_column("text", _string()),
        pack=pack,
        tail=cut.tail,
        eos=with_eos,
        bos=with_bos,
        pad=266,
        mask_overlap=cut.mask_overlap,
    )
    assert columns_of(rows) == [(row.ids, row.mask, row.labels) for row in expected]


def _string() -> Any:
    from datasets import Value

    return Value("string")
