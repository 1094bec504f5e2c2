"""In a process of its own: the cases of one scenario, one after the other.

A tokenizer of ours is loaded, every case is measured, and its ids are hashed after the clock. What
grows or streams is compared with the plain call.
"""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenmill._bench.answers import Answer, answer_of, read_texts
from tokenmill._bench.clock import CallClock
from tokenmill._bench.libraries import CannotMeasure
from tokenmill._bench.scenarios import STREAMS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokenmill._bench.measurement import CallTimes
    from tokenmill._calls.batch import TokenBatch
    from tokenmill._tokenizer import Tokenizer

_WORD = "begin"  # encoded before the clock: loading ends with the first call


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Measure all cases of the request."""
    begin = time.perf_counter()
    from tokenmill import Tokenizer, __version__  # imports numpy: loading, imports included

    tokenizer = Tokenizer.load(
        request["source"], pattern=request["pattern"], tables=request.get("tables", "usual")
    )
    tokenizer.encode(_WORD)
    load_seconds = time.perf_counter() - begin
    clock = CallClock(request["seconds"], load_seconds)
    rows = []
    for case in request["cases"]:
        texts = read_texts(Path(case["texts"]))
        times, answer = _CALLS[case["call"]](tokenizer, texts, clock, case["threads"])
        calls = _calls_of_lap(case["call"], texts, answer)
        found = {"calls": calls, "tokens": answer.tokens, "ids": answer.hash()}
        rows.append({"sample": asdict(times), **found})
    return {"rows": rows, "version": __version__}


def _calls_of_lap(call: str, texts: Sequence[str], answer: Answer) -> int:
    """Return how many calls all texts take."""
    if call == "streams":
        return max(1, answer.tokens // STREAMS)
    return 1 if call == "batch" else len(texts)


def _encode(
    tokenizer: Tokenizer, texts: list[str], clock: CallClock, _threads: int
) -> tuple[CallTimes, Answer]:
    times = clock.measure(tokenizer.encode, texts)
    return times, answer_of(tokenizer.encode(text).tolist() for text in texts)


def _batch(
    tokenizer: Tokenizer, texts: list[str], clock: CallClock, threads: int
) -> tuple[CallTimes, Answer]:
    def call(batch: list[str]) -> object:
        return tokenizer.encode_batch(batch, threads=threads)

    times = clock.measure(call, [texts])
    return times, answer_of_batch(tokenizer.encode_batch(texts, threads=threads))


def answer_of_batch(batch: TokenBatch) -> Answer:
    """Return the answer in a batch without making lists of its ids."""
    lengths = batch.offsets[1:] - batch.offsets[:-1]
    return Answer(batch.ids.astype("<u4").tobytes(), lengths.astype("<i8").tobytes())


def _session(
    tokenizer: Tokenizer, texts: list[str], clock: CallClock, _threads: int
) -> tuple[CallTimes, Answer]:
    session = tokenizer.session()

    def start() -> None:
        nonlocal session
        session = tokenizer.session()

    def append(turn: str) -> object:
        return session.append(turn)

    times = clock.measure(append, texts, start)
    start()
    for turn in texts:
        session.append(turn)
    ids = session.ids.tolist()
    if ids != tokenizer.encode("".join(texts)).tolist():
        raise CannotMeasure("the growing text has other ids than the whole text")
    return times, answer_of([ids])


def _streams(
    tokenizer: Tokenizer, texts: list[str], clock: CallClock, _threads: int
) -> tuple[CallTimes, Answer]:
    import numpy as np

    ids = tokenizer.encode(texts[0])
    steps = max(1, len(ids) // STREAMS)
    rows = np.resize(ids, STREAMS * steps).reshape(STREAMS, steps)
    columns = list(np.ascontiguousarray(rows.T))
    streams = tokenizer.decode_streams(STREAMS)
    times = clock.measure(streams.push, columns, streams.finish)
    _check_streams(tokenizer, rows, columns)
    return times, answer_of(rows.T.tolist())


def _check_streams(tokenizer: Tokenizer, rows: Any, columns: Sequence[Any]) -> None:
    streams = tokenizer.decode_streams(STREAMS)
    parts = [streams.push(column) for column in columns] + [streams.finish()]
    for number, row in enumerate(rows):
        if "".join(part[number] for part in parts) != tokenizer.decode(row):
            raise CannotMeasure(f"stream {number} has another text than the whole row")


_CALLS: dict[str, Callable[[Tokenizer, list[str], CallClock, int], tuple[CallTimes, Answer]]] = {
    "encode": _encode,
    "batch": _batch,
    "session": _session,
    "streams": _streams,
}
