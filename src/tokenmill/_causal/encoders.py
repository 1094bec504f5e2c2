"""Encoders: texts in Arrow -> ids, one class for each way that tokenizers run in parallel."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tokenmill._causal.vocabulary import LibraryVocabulary
from tokenmill._errors import SpecialTokenInText

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from tokenmill._load.boundary_tokens import Vocabulary
    from tokenmill._post.request import SpecialInText
    from tokenmill._tokenizer import Tokenizer

# Enough for every thread to have many tasks; the ids of more would leave the processor's caches,
# and their memory would be new each time.
_SLICE_BYTES = 4 << 20
_RUST_VARIABLES = ("TOKENIZERS_PARALLELISM", "RAYON_NUM_THREADS")


class Encoder(Protocol):
    """A tokenizer, however it runs.

    `parallelism` names the way for people, `num_proc` is the number of worker processes or None,
    `slice_bytes` is how much text is best given at a time, None where more is better.
    """

    parallelism: str
    num_proc: int | None
    slice_bytes: int | None

    @property
    def vocabulary(self) -> Vocabulary:
        """Return the vocabulary, which knows the ids of tokens."""

    @property
    def identity(self) -> str | None:
        """Return a text that identifies the tokenizer, or None."""

    def encode(self, texts: Any) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return the ids of an Arrow array of strings, back to back, and their offsets."""

    def close(self) -> None:
        """Release threads and processes."""


class NativeEncoder:
    """A tokenizer of tokenmill, in its own threads."""

    num_proc: int | None = None

    def __init__(self, tokenizer: Tokenizer, threads: int, special: SpecialInText) -> None:
        self._tokenizer = tokenizer
        self._threads = threads
        self._special: SpecialInText = special
        self.is_reference = tokenizer.describe().path == "reference"
        word = "rust_threads" if self.is_reference else "native_threads"
        self.parallelism = f"fast_tokenizer_internal ({word}({threads}))"
        self.slice_bytes: int | None = threads * _SLICE_BYTES

    @property
    def vocabulary(self) -> Vocabulary:
        """Return the tokenizer: it knows its tokens."""
        return self._tokenizer

    @property
    def identity(self) -> str | None:
        """Return the hash of the tokenizer's content."""
        return self._tokenizer.describe().content_hash

    def encode(self, texts: Any) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Encode without a copy of the texts; the reference library uses its own threads."""
        if not self.is_reference:
            return self._encode(texts)
        with rust_threads(self._threads):
            return self._encode(texts)

    def close(self) -> None:
        """Do nothing: no thread outlives a call."""

    def _encode(self, texts: Any) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        batch = self._tokenizer.encode_batch(
            texts, threads=self._threads, special_in_text=self._special
        )
        return batch.ids, batch.offsets


class FastEncoder:
    """A `tokenizers.Tokenizer` of another library, in its own threads."""

    num_proc: int | None = None
    slice_bytes: int | None = None

    def __init__(self, tokenizer: Any, threads: int, special: SpecialInText) -> None:
        self._tokenizer = _own_copy(tokenizer, as_text=special == "text")
        self._threads = threads
        self._special = special
        self.parallelism = f"fast_tokenizer_internal (rust_threads({threads}))"

    @property
    def vocabulary(self) -> LibraryVocabulary:
        """Return the library's own."""
        return LibraryVocabulary(self._tokenizer)

    @property
    def identity(self) -> str | None:
        """Return the whole definition."""
        return str(self._tokenizer.to_str())

    def encode(self, texts: Any) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Encode in one call of the library."""
        plain = texts.to_pylist()
        if self._special == "raise":
            refuse_special(plain, self.vocabulary.special_tokens)
        with rust_threads(self._threads):
            encodings = self._tokenizer.encode_batch_fast(plain, add_special_tokens=False)
        rows = [np.array(encoding.ids, np.uint32) for encoding in encodings]
        return _flat(rows)

    def close(self) -> None:
        """Do nothing: the library keeps its threads to itself."""


@contextmanager
def rust_threads(threads: int) -> Iterator[None]:
    """Let the library use that many threads; the environment is put back afterwards.

    It starts its threads at the first call in a process, and then keeps their number.
    """
    before = {name: os.environ.get(name) for name in _RUST_VARIABLES}
    os.environ.update(TOKENIZERS_PARALLELISM="true", RAYON_NUM_THREADS=str(threads))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def refuse_special(texts: Sequence[str], special: Mapping[str, int]) -> None:
    """Raise for the first text that holds the text of a special token."""
    for number, text in enumerate(texts):
        found = [(text.find(token), token) for token in special if token in text]
        if found:
            position, token = min(found)
            raise SpecialTokenInText(
                f"the text of the special token {token!r}",
                token=token,
                document=number,
                offset=len(text[:position].encode()),
                hint='special_in_text="text" keeps it text, "encode" makes it the token',
            )


def _own_copy(tokenizer: Any, *, as_text: bool) -> Any:  # of the library
    """Copy a tokenizer, so that truncation, padding and this switch stay as they are in it."""
    copied = type(tokenizer).from_str(tokenizer.to_str())
    copied.no_truncation()
    copied.no_padding()
    copied.encode_special_tokens = as_text
    return copied


def _flat(
    rows: Sequence[NDArray[np.uint32]],
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    return np.concatenate(rows) if rows else np.empty(0, np.uint32), offsets
