"""`pack` on the CPU and on a device, in turn, and where the time of each run goes.

A run has three tables: the seconds of all workers by stage, the seconds of native calls by step,
and the moments of the thread that waits for them. Their sum is not the time of the run: workers
work side by side.
"""

from __future__ import annotations

import functools
import json
import resource
import shutil
import statistics
import threading
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from _gpu_mill import CONTEXT

from tokenmill._mill import pack as pack_module
from tokenmill._mill.meter import Meter
from tokenmill._mill.output import kept_ids
from tokenmill._mill.output.work import Work
from tokenmill._mill.pack import pack_task
from tokenmill._mill.plan.task import prepare_task
from tokenmill._mill.run import run as run_module
from tokenmill._mill.run.early import EarlyTable
from tokenmill._mill.run.run import Run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from _gpu_mill import JsonlFiles

    from tokenmill import Tokenizer

IN_FILES, WORKERS = "ids in files", "workers"
# What the caller's thread does, and what its end waits for.
MOMENTS: tuple[tuple[Any, str], ...] = (
    (pack_module, "choose_device"),
    (Run, "start"),
    (Run, "_tokenize_all"),
    (Run, "_shardings"),
    (EarlyTable, "finish"),
    (EarlyTable, "give_up"),
    (run_module, "finish_formats"),
    (Run, "_write_manifest"),
    (Work, "finish"),
    (Run, "execute"),
)


def one_pack(files: JsonlFiles, tokenizer: Tokenizer, way: str) -> dict[str, Any]:
    """Run once; `way` is a device, and how: ids of parts in files, or with a number of workers."""
    device, _, how = way.partition(", ")
    output = files.folder / "out"
    paths = [str(path) for path in files.paths]
    used = resource.getrusage(resource.RUSAGE_SELF)
    with ExitStack() as patches:
        if how == IN_FILES:
            patches.enter_context(patch.object(pack_module, "kept_room", lambda *_: 0))
        moments = patches.enter_context(noted_moments())
        kept = patches.enter_context(noted_ids())
        curves = patches.enter_context(watched())
        begin = time.perf_counter()
        task = prepare_task(paths, tokenizer=tokenizer, output=output, context_length=CONTEXT)
        prepared = time.perf_counter()
        workers = int(how.split()[0]) if how.endswith(WORKERS) else None
        done = pack_task(task, output=output, device=device, workers=workers)
        end = time.perf_counter()
    now = resource.getrusage(resource.RUSAGE_SELF)
    wrote = json.dumps(done.manifest.data, sort_keys=True)
    shutil.rmtree(output)
    encoder = done.device.encoder
    return {
        "seconds": round(end - begin, 3),
        "GB/s": round(files.size / 1e9 / (end - begin), 2),
        "wrote": wrote,
        "moments": {"prepare_task": [0.0, round(prepared - begin, 4)], **moments.since(begin)},
        "curve": curves[0].facts(begin),
        "seconds of workers": rounded(done.meter.stages),
        "seconds in native calls": rounded({} if encoder is None else encoder.spent),
        "ids in memory": [
            {"most MB": k.most_held // 10**6, "parts refused": k.refused} for k in kept
        ],
        "process": {
            "user s": round(now.ru_utime - used.ru_utime, 2),
            "system s": round(now.ru_stime - used.ru_stime, 2),
            "thousand page faults": (now.ru_minflt - used.ru_minflt) // 1000,
            "thousand switches": (now.ru_nvcsw + now.ru_nivcsw - used.ru_nvcsw - used.ru_nivcsw)
            // 1000,
        },
        "note": done.device.note,
    }


def time_packs(
    files: JsonlFiles, tokenizer: Tokenizer, ways: list[str], rounds: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every run, with whether it wrote what the first did, and then a table of medians."""
    first = ""
    runs: dict[str, list[dict[str, Any]]] = {way: [] for way in ways}
    for number in range(rounds):
        # In turn from both ends, so that none is always after the same one.
        for way in ways if number % 2 == 0 else ways[::-1]:
            found = one_pack(files, tokenizer, way)
            wrote = found.pop("wrote")
            first = first or wrote
            found["same as the first"] = wrote == first
            runs[way].append(found)
            yield f"round {number}: {way}", found
    yield "medians", {way: medians(found) for way, found in runs.items()}


def medians(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return one table for many runs; the first is left out if there are more: it makes memory."""
    later = runs[1:] or runs
    seconds = [run["seconds"] for run in later]
    names = ("seconds of workers", "seconds in native calls", "process")
    return {
        "seconds": round(statistics.median(seconds), 3),
        "fastest and slowest": [min(seconds), max(seconds)],
        "first": runs[0]["seconds"],
        "same bytes": all(run["same as the first"] for run in runs),
        **{name: _middle([run[name] for run in later]) for name in names},
        "ids in memory": [run["ids in memory"] for run in later],
        "moments, seconds": _middle(
            [{what: took for what, (_, took) in run["moments"].items()} for run in later]
        ),
        "curve": _middle([run["curve"] for run in later]),
    }


def _middle(tables: list[Mapping[str, float]]) -> dict[str, float]:
    names = dict.fromkeys(name for table in tables for name in table)
    return {
        name: round(statistics.median([table.get(name, 0.0) for table in tables]), 3)
        for name in names
    }


class Moments:
    """When calls began, and how long they took; the last one of each name."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[float, float]] = {}

    def since(self, begin: float) -> dict[str, list[float]]:
        """Return begin and seconds of each call, in the order of their begins."""
        ordered = sorted(self._found.items(), key=lambda item: item[1])
        return {name: [round(at - begin, 4), round(took, 4)] for name, (at, took) in ordered}

    def noted(self, name: str, call: Any) -> Any:
        """Return the call, with a note of its time."""

        @functools.wraps(call)
        def wrapper(*given: Any, **options: Any) -> Any:
            began = time.perf_counter()
            try:
                return call(*given, **options)
            finally:
                self._found[name] = (began, time.perf_counter() - began)

        return wrapper


@contextmanager
def noted_moments() -> Iterator[Moments]:
    """Note when the steps of a run begin and end."""
    moments = Moments()
    with ExitStack() as patches:
        for owner, name in MOMENTS:
            label = f"{getattr(owner, '__name__', '').rpartition('.')[2]}.{name}"
            call = moments.noted(label, getattr(owner, name))
            patches.enter_context(patch.object(owner, name, call))
        yield moments


@contextmanager
def noted_ids() -> Iterator[list[kept_ids.KeptIds]]:
    """Note what keeps ids in memory."""
    made: list[kept_ids.KeptIds] = []

    def make(room: int) -> kept_ids.KeptIds:
        made.append(kept_ids.KeptIds(room))
        return made[-1]

    with patch.object(run_module, "KeptIds", make):
        yield made


class Curve:
    """What a run had done, seen every few milliseconds by a thread."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._points: list[tuple[float, int, int]] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._over.wait(0.005):
            meter = self._meter
            self._points.append((time.perf_counter(), meter.input_bytes, meter.packed_tokens))

    def facts(self, begin: float) -> dict[str, float]:
        """Return when shares of the input were read, and of the tokens written."""
        self._over.set()
        self._thread.join()
        found = {}
        for column, name in ((1, "read"), (2, "written")):
            total = max((point[column] for point in self._points), default=0)
            for share in (1, 25, 50, 75, 100):
                passed = (p[0] for p in self._points if 100 * p[column] >= share * max(total, 1))
                found[f"{share} % {name}"] = round(next(passed, begin) - begin, 3)
        return found


@contextmanager
def watched() -> Iterator[list[Curve]]:
    """Watch the meter of the run that is started inside."""
    curves: list[Curve] = []

    def make(**numbers: Any) -> Meter:
        meter = Meter(**numbers)
        curves.append(Curve(meter))
        return meter

    with patch.object(pack_module, "Meter", make):
        yield curves


def rounded(numbers: Mapping[str, float]) -> dict[str, float]:
    """Return numbers that people can read."""
    return {name: round(number, 3) for name, number in numbers.items()}
