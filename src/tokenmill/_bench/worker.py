"""One request in a process of its own: JSON on stdin, one line of JSON on stdout.

`run` is the task of `bench tokenize`: the tokenizer is loaded and encodes one word; then all
documents are encoded twice. The first pass is cold, the second warm. Nothing but the calls of the
library is inside the clock.
"""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenmill._bench.answers import read_texts
from tokenmill._bench.clock import forget_peak, peak_mib
from tokenmill._bench.libraries import LOADERS, CannotMeasure

if TYPE_CHECKING:
    from collections.abc import Callable

_WORD = "begin"  # encoded before the clock: some libraries import half of themselves then
_TASKS = {name: f"tokenmill._bench.{name}_task" for name in ("calls", "peer", "gpu")}


def main() -> None:
    """Answer one request."""
    request = json.load(sys.stdin)
    try:
        report = _task(request)
    except CannotMeasure as error:
        report = {"cannot": str(error)}
    except Exception as error:  # a library may raise anything; the table shows it
        report = {"cannot": f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"}
    sys.stdout.write("\n" + json.dumps(report) + "\n")


def _task(request: dict[str, Any]) -> dict[str, Any]:
    name = request.get("task")
    if name is None:
        return run(request)
    report: dict[str, Any] = import_module(_TASKS[name]).run(request)
    return report


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Load, encode twice, write the ids, and return what was measured."""
    texts = read_texts(Path(request["texts"]))
    begin = time.perf_counter()
    library = LOADERS[request["library"]](request)
    load_seconds = time.perf_counter() - begin
    size = request["batch_size"]
    batches: list[Any] = [texts[at : at + size] for at in range(0, len(texts), size)]
    encode: Callable[[Any], Any] = library.encode_batch
    if size == 1:
        batches, encode = texts, library.encode
    encode(_WORD if size == 1 else [_WORD])
    loaded = peak_mib()
    cold, cold_cpu, result = _timed(encode, batches)
    peak = peak_mib()
    answer = library.answer(result, size == 1)
    answer.write(Path(request["answer"]))
    forget_peak()
    result.clear()
    warm, warm_cpu, result = _timed(encode, batches)
    peak = max(peak, peak_mib())
    if library.answer(result, size == 1) != answer:
        raise CannotMeasure("gives other ids the second time")
    return {
        "version": library.version,
        "note": library.note,
        "load_seconds": load_seconds,
        "cold_seconds": cold,
        "warm_seconds": warm,
        "cold_cpu_seconds": cold_cpu,
        "warm_cpu_seconds": warm_cpu,
        "loaded_mib": loaded,
        "peak_mib": peak,
    }


def _timed(encode: Callable[[Any], Any], batches: list[Any]) -> tuple[float, float, list[Any]]:
    cpu = time.process_time()
    begin = time.perf_counter()
    results = [encode(batch) for batch in batches]
    return time.perf_counter() - begin, time.process_time() - cpu, results


if __name__ == "__main__":
    main()
