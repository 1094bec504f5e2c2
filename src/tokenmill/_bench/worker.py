"""One row in a process of its own: one JSON request on stdin, one line of JSON on stdout.

The tokenizer is loaded and encodes one word; then all documents are encoded twice. The first pass
is cold, the second warm. Nothing but the calls of the library is inside the clock.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenmill._bench.answers import read_texts
from tokenmill._bench.libraries import LOADERS, CannotMeasure

if TYPE_CHECKING:
    from collections.abc import Callable

_STATUS = Path("/proc/self/status")
_WORD = "begin"  # encoded before the clock: some libraries import half of themselves then
_FORGET_PEAK = Path("/proc/self/clear_refs")


def main() -> None:
    """Answer one request."""
    request = json.load(sys.stdin)
    try:
        report = run(request)
    except CannotMeasure as error:
        report = {"cannot": str(error)}
    except Exception as error:  # a library may raise anything; the table shows it
        report = {"cannot": f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"}
    sys.stdout.write("\n" + json.dumps(report) + "\n")


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
    cold, result = _timed(encode, batches)
    peak = peak_mib()
    answer = library.answer(result, size == 1)
    answer.write(Path(request["answer"]))
    _forget_peak()
    result.clear()
    warm, result = _timed(encode, batches)
    peak = max(peak, peak_mib())
    if library.answer(result, size == 1) != answer:
        raise CannotMeasure("gives other ids the second time")
    return {
        "version": library.version,
        "note": library.note,
        "load_seconds": load_seconds,
        "cold_seconds": cold,
        "warm_seconds": warm,
        "loaded_mib": loaded,
        "peak_mib": peak,
    }


def _timed(encode: Callable[[Any], Any], batches: list[Any]) -> tuple[float, list[Any]]:
    begin = time.perf_counter()
    results = [encode(batch) for batch in batches]
    return time.perf_counter() - begin, results


def peak_mib() -> float:
    """Return the peak resident memory; `ru_maxrss` may be the parent's, seen at the fork."""
    with suppress(OSError):
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _forget_peak() -> None:
    """Reset the count if allowed: writing down the answer is not the library's memory."""
    with suppress(OSError):
        _FORGET_PEAK.write_text("5")


if __name__ == "__main__":
    main()
