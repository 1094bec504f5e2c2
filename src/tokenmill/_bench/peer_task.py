"""In a process of its own: all texts through one library, a first time and then again and again."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tokenmill._bench.answers import read_texts
from tokenmill._bench.clock import CallClock
from tokenmill._bench.libraries import CannotMeasure
from tokenmill._bench.peers import PEERS

_WORD = "begin"  # encoded before the clock: some libraries import half of themselves then


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Load the library, measure, and write the ids of the first and the last pass."""
    texts: list[Any] = read_texts(Path(request["texts"]))
    begin = time.perf_counter()
    library = PEERS[request["library"]](request)
    word: Any = _WORD
    if library.takes_bytes:
        texts, word = [text.encode() for text in texts], _WORD.encode()
    library.encode_batch([word])
    clock = CallClock(request["seconds"], time.perf_counter() - begin)
    results: list[Any] = []

    def call(batch: list[Any]) -> Any:
        result = library.encode_batch(batch)
        results[1:] = [result]  # the first and the last
        return result

    times = clock.measure(call, [texts])
    answers = [library.answer([result], False) for result in results]
    if answers[0] != answers[-1]:
        raise CannotMeasure("gives other ids the second time")
    answers[0].write(Path(request["answer"]))
    return {"version": library.version, "note": library.note, "sample": asdict(times)}
