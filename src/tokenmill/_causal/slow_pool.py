"""Tokenizers written in Python, in worker processes; documents keep their order.

Workers get only functions of this module and plain arguments, so that processes may be forked or
spawned.
"""

from __future__ import annotations

import multiprocessing
import os
import warnings
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._causal.vocabulary import MAX_IDS, is_transformers
from tokenmill._errors import EncodeError, OptionError, TokenmillError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_CHUNKS_EACH = 4  # of a batch for each worker: a long document delays at most a quarter


@dataclass(frozen=True)
class Call:
    """A Python tokenizer and how it is called."""

    tokenizer: Any
    as_text: bool  # the text of special tokens is text, if the tokenizer has such a switch

    def __call__(self, text: str) -> object:
        """Return the result of the tokenizer for one text."""
        if is_transformers(self.tokenizer):
            return self.tokenizer(
                text,
                add_special_tokens=False,
                split_special_tokens=self.as_text,
                return_attention_mask=False,
                return_token_type_ids=False,
                truncation=False,
                padding=False,
                verbose=False,
            )
        encode = getattr(self.tokenizer, "encode", None)
        return encode(text) if callable(encode) else self.tokenizer(text)


@dataclass(frozen=True)
class Fault:
    """A document that could not be tokenized: its number in the chunk, and the error."""

    document: int
    problem: str


class SlowPool:
    """Worker processes with a copy of the tokenizer each; a single one is this process."""

    def __init__(self, call: Call, processes: int) -> None:
        self._call = call
        self._processes = processes
        self._pool: ProcessPoolExecutor | None = None

    def encode(self, texts: Sequence[str]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return the ids of texts and their offsets; EncodeError names the text that failed."""
        size = max(1, -(-len(texts) // (self._processes * _CHUNKS_EACH)))
        begins = range(0, len(texts), size)
        chunks = [texts[begin : begin + size] for begin in begins]
        rows: list[NDArray[np.uint32]] = []
        for begin, result in zip(begins, self._run(chunks), strict=True):
            if isinstance(result, Fault):
                raise EncodeError(result.problem, document=begin + result.document)
            rows += np.split(result[0], np.cumsum(result[1])[:-1])
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum([len(row) for row in rows], out=offsets[1:])
        return np.concatenate(rows) if rows else np.empty(0, np.uint32), offsets

    def close(self) -> None:
        """Stop the workers."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def _run(self, chunks: list[Sequence[str]]) -> list[Any]:
        # A worker of a data loader is not allowed to start processes.
        if self._processes == 1 or multiprocessing.current_process().daemon:
            return [encode_chunk(self._call, chunk) for chunk in chunks]
        if self._pool is None:
            self._pool = self._started()
        try:
            return list(self._pool.map(_encode_in_worker, chunks))
        except BrokenProcessPool as error:
            self.close()
            raise TokenmillError(
                "a worker process of the tokenizer ended before its work was done",
                where=type(self._call.tokenizer).__name__,
                hint="num_proc=1 runs it in this process, which shows why",
            ) from error

    def _started(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context()
        if context.get_start_method() != "fork":
            _check_picklable(self._call)
        pool = ProcessPoolExecutor(
            self._processes, mp_context=context, initializer=_start_worker, initargs=(self._call,)
        )
        with warnings.catch_warnings():
            # Since 3.12 Python warns if a process with threads, such as those of pyarrow, forks.
            # Workers only call the tokenizer. If that is a problem, set another start method.
            warnings.filterwarnings("ignore", ".*multi-threaded, use of fork", DeprecationWarning)
            pool.submit(os.getpid)
        return pool

    def __getstate__(self) -> dict[str, Any]:
        return {"_call": self._call, "_processes": self._processes, "_pool": None}


def encode_chunk(
    call: Call, texts: Sequence[str]
) -> tuple[NDArray[np.uint32], NDArray[np.int64]] | Fault:
    """Tokenize texts one by one; return the first failure, do not raise it."""
    rows = []
    for number, text in enumerate(texts):
        try:
            rows.append(_ids_of(call(text)))
        except Exception as error:
            name = type(call.tokenizer).__name__
            return Fault(number, f"{name} raised {type(error).__name__}: {error}")
    lengths = np.array([len(row) for row in rows], np.int64)
    return np.concatenate(rows) if rows else np.empty(0, np.uint32), lengths


def _ids_of(result: object) -> NDArray[np.uint32]:
    """Read ids: a row of numbers, or an object that has one as `input_ids` or `ids`."""
    if isinstance(result, Mapping) or hasattr(result, "input_ids"):
        result = result["input_ids"]  # type: ignore[index]
    elif hasattr(result, "ids"):
        result = result.ids
    row = np.asarray(result)
    if row.size == 0:
        return np.empty(0, np.uint32)
    if row.ndim != 1 or row.dtype.kind not in "iu":
        raise TypeError(f"expected a row of ids, got {row.ndim} dimensions of {row.dtype}")
    if row.min() < 0 or row.max() >= MAX_IDS:
        raise ValueError(f"expected ids from 0 to {MAX_IDS - 1}, got {row.min()} to {row.max()}")
    return row.astype(np.uint32)


_worker_call: Call | None = None  # of a worker process: set once, when it starts


def _start_worker(call: Call) -> None:
    global _worker_call  # noqa: PLW0603
    _worker_call = call


def _encode_in_worker(texts: Sequence[str]) -> object:
    assert _worker_call is not None  # noqa: S101 -- _start_worker sets it
    return encode_chunk(_worker_call, texts)


def _check_picklable(call: Call) -> None:
    import pickle  # our own object, to see whether it can travel

    try:
        pickle.dumps(call.tokenizer)
    except Exception as error:
        raise OptionError(
            f"{type(call.tokenizer).__name__} cannot be sent to a worker process: {error}",
            where="num_proc",
            hint="num_proc=1 runs it in this process",
        ) from error
