"""What every library does in its own fresh process: one JSON request in, one JSON report out.

A library file describes its library as a `Library` and ends with `serve(...)`. Only this module
holds a clock, so that all libraries are timed alike.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from dataclasses import dataclass
from importlib import import_module, metadata
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from _texts import read_documents, run_text, short_texts

if TYPE_CHECKING:
    from collections.abc import Callable

    Flat = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]  # ids, then lengths of the documents

SINGLE_SECONDS = 0.2
SINGLE_REPEATS = 5


class CannotError(Exception):
    """The library does not support this tokenizer or needs another file; the text explains why."""


@dataclass(frozen=True)
class Library:
    """How one library is called.

    load(folder, threads): the tokenizer of a folder, or CannotError.
    encode_batch(tokenizer, documents, threads): the fastest call for many documents.
    flat(result): its answer as (ids, lengths); not timed.
    encode(tokenizer, text): one call on one short text.
    takes_bytes: whether documents are given as bytes; otherwise they are decoded beforehand,
        untimed, which favours the library.
    """

    package: str
    load: Callable[[Path, int], Any]
    encode_batch: Callable[[Any, list[Any], int], Any]
    flat: Callable[[Any], Flat]
    encode: Callable[[Any, Any], Any]
    takes_bytes: bool = False


def serve(library: Library) -> None:
    """Answer the request on stdin with one line of JSON on stdout."""
    request = json.load(sys.stdin)
    report: dict[str, Any] = {"version": version_of(library.package)}
    try:
        report.update(TASKS[request["task"]](library, request))
    except CannotError as error:
        report["cannot"] = str(error)
    except Exception as error:  # a peer may raise anything; the table shows it
        report["cannot"] = f"{type(error).__name__}: {str(error)[:200]}"
    sys.stdout.write(json.dumps(report) + "\n")


def version_of(package: str) -> str:
    """Return the version of a package, which may lie in a folder without being installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return str(getattr(import_module(package), "__version__", ""))


def measure_passes(library: Library, request: dict[str, Any]) -> dict[str, Any]:
    """Encode the same documents several times: the first pass is cold, the last one warm."""
    documents, size = documents_for(library, request)
    before = peak_mib()
    tokenizer, load_seconds = timed_load(library, request)
    threads = request["threads"]
    if request.get("warm_up", True):
        warm_up(library, tokenizer, threads)
    speeds, first_hash, peak = [], "", 0.0
    result: Any = None
    for number in range(request["passes"]):
        result = None
        begin = time.perf_counter()
        result = library.encode_batch(tokenizer, documents, threads)
        speeds.append(size / (time.perf_counter() - begin) / 1e6)
        peak = max(peak, peak_mib())
        if number == 0:
            first_hash, n_tokens = answer(library, result)
            reset_peak()
    last_hash, n_tokens = answer(library, result)
    return {
        "load_seconds": load_seconds,
        "megabytes_per_second": speeds,
        "peak_mib": peak,
        "before_mib": before,
        "megabytes": size / 1e6,
        "n_documents": len(documents),
        "n_tokens": n_tokens,
        "ids": first_hash if first_hash == last_hash else f"{first_hash} then {last_hash}",
    }


def measure_single(library: Library, request: dict[str, Any]) -> dict[str, Any]:
    """Time one call on about 100 characters: always the same text, and a thousand in turn."""
    tokenizer, load_seconds = timed_load(library, request)
    texts = [as_input(library, text) for text in short_texts(Path(request["corpora"][0]))]
    encode = library.encode
    return {
        "load_seconds": load_seconds,
        "microseconds_same": per_call(lambda: encode(tokenizer, texts[0]), 1),
        "microseconds_turn": per_call(lambda: [encode(tokenizer, t) for t in texts], len(texts)),
    }


def measure_run(library: Library, request: dict[str, Any]) -> dict[str, Any]:
    """Encode one long text without ordinary words, as one document, once."""
    data = run_text(request["kind"], request["size_bytes"])
    tokenizer, load_seconds = timed_load(library, request)
    documents = [as_input(library, data)]
    warm_up(library, tokenizer, request["threads"])
    begin = time.perf_counter()
    result = library.encode_batch(tokenizer, documents, request["threads"])
    seconds = time.perf_counter() - begin
    ids, n_tokens = answer(library, result)
    return {
        "load_seconds": load_seconds,
        "megabytes_per_second": [len(data) / seconds / 1e6],
        "ids": ids,
        "n_tokens": n_tokens,
        "peak_mib": peak_mib(),
    }


TASKS: dict[str, Callable[[Library, dict[str, Any]], dict[str, Any]]] = {
    "passes": measure_passes,
    "single": measure_single,
    "run": measure_run,
}


def documents_for(library: Library, request: dict[str, Any]) -> tuple[list[Any], int]:
    """Return the documents in the form the library takes, and their size in bytes."""
    limit = request["limit_bytes"]
    once = [d for path in request["corpora"] for d in read_documents(Path(path), limit)]
    size = sum(map(len, once))
    documents = list(once)
    for document in cycle(once):
        if size >= request.get("repeat_to_bytes", 0):
            break
        documents.append(bytes(bytearray(document)))  # in memory of its own
        size += len(document)
    if request.get("as_text", False):
        return [document.decode() for document in documents], size
    return [as_input(library, document) for document in documents], size


def as_input(library: Library, text: bytes) -> Any:
    """Return the text as the library takes it."""
    return text if library.takes_bytes else text.decode()


def timed_load(library: Library, request: dict[str, Any]) -> tuple[Any, float]:
    """Return the tokenizer and the seconds that loading took."""
    begin = time.perf_counter()
    tokenizer = library.load(Path(request["tokenizer"]), request["threads"])
    return tokenizer, time.perf_counter() - begin


def warm_up(library: Library, tokenizer: Any, threads: int) -> None:
    """Encode one word: some libraries import half of themselves in their first call."""
    library.encode_batch(tokenizer, [as_input(library, b"begin")], threads)


def answer(library: Library, result: Any) -> tuple[str, int]:
    """Return a hash over ids and document lengths, and the number of ids."""
    ids, lengths = library.flat(result)
    digest = hashlib.sha256(np.ascontiguousarray(ids, dtype="<u4").data)
    digest.update(np.ascontiguousarray(lengths, dtype="<i8").data)
    return digest.hexdigest()[:16], len(ids)


def per_call(function: Callable[[], Any], calls: int) -> float:
    """Return microseconds per call: the best of some repeats, to exclude the machine's noise."""
    function()
    begin = time.perf_counter()
    function()
    number = max(1, int(SINGLE_SECONDS / max(time.perf_counter() - begin, 1e-7)))
    best = float("inf")
    for _ in range(SINGLE_REPEATS):
        begin = time.perf_counter()
        for _ in range(number):
            function()
        best = min(best, time.perf_counter() - begin)
    return best / number / calls * 1e6


def peak_mib() -> float:
    """Return the peak resident memory. `ru_maxrss` would include the parent's at the fork."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


def reset_peak() -> None:
    """Forget the peak, so that comparing answers is not counted as the library's memory."""
    Path("/proc/self/clear_refs").write_text("5")


def flat_lists(rows: list[list[int]]) -> Flat:
    """Return (ids, lengths) of one list of ids per document."""
    lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    ids = np.empty(int(lengths.sum()), dtype=np.uint32)
    position = 0
    for row in rows:
        ids[position : position + len(row)] = row
        position += len(row)
    return ids, lengths


def flat_buffers(result: tuple[bytes, bytes]) -> Flat:
    """Return (ids, lengths) of little-endian ids and 64-bit offsets."""
    ids, offsets = result
    return np.frombuffer(ids, dtype="<u4"), np.diff(np.frombuffer(offsets, dtype="<i8"))


def tokenizer_json(folder: Path) -> str:
    """Return the path of a folder's tokenizer.json, or raise if it has none."""
    path = folder / "tokenizer.json"
    if not path.exists():
        raise CannotError(f"needs a tokenizer.json, {folder.name} has none")
    return str(path)


def rank_file(folder: Path) -> Path:
    """Return the path of a folder's rank file, or raise if it has none."""
    for path in (*sorted(folder.glob("*.tiktoken")), folder / "tiktoken.model"):
        if path.exists():
            return path
    raise CannotError(f"needs a rank file, {folder.name} has none")
