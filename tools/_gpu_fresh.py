"""`pack` in processes of their own: what starting costs, step by step, next to the whole."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from _gpu_mill import JsonlFiles

LIMIT = 120  # seconds of a process
DEVICE_FIRST = "device first"  # no block is encoded before the device is open
ALL_HELP = "all help"  # while it is opened, all workers encode on the CPU

# Prints when each step began and how long it took, in seconds since the parent started it.
FRESH = """
import functools, json, os, sys, time
started, how, device, tokenizer, output, *paths = sys.argv[1:]
zero = float(started)
steps = {"interpreter": [0.0, round(time.time() - zero, 4)]}
def note(name, began, ended):
    steps[name] = [round(began - zero, 4), round(ended - began, 4)]
def noted(owner, name, label):
    call = getattr(owner, name)
    @functools.wraps(call)
    def wrapper(*given, **options):
        began = time.time()
        try:
            return call(*given, **options)
        finally:
            note(label, began, time.time())
    setattr(owner, name, wrapper)
began = time.time()
from tokenmill._cli._process import end_start, prepare_process
prepare_process()
import tokenmill
from tokenmill._mill import pack as mill
note("import of tokenmill", began, time.time())
began = time.time()
ready = tokenmill.Tokenizer.load(tokenizer)
note("tokenizer", began, time.time())
noted(mill, "prepare_task", "plan")
noted(mill, "choose_device", "choose the device")
if device.startswith("cuda"):
    import threading
    from tokenmill._mill.device import choose
    if how == "device first":
        choose.OPENED_BEHIND = 1 << 62
    if how == "all help":
        from tokenmill._mill.device import opening
        opening.HELPING = 1
    def patch_rest():
        from tokenmill._cuda import cupy_backend, device_tables, device_tokenizer
        from tokenmill._mill.device import line_lanes
        noted(cupy_backend, "_import_cupy", "import of CuPy")
        noted(cupy_backend, "_check_device", "context")
        noted(cupy_backend.CupyBackend, "__init__", "kernels")
        noted(device_tables.DeviceTables, "__init__", "tables and vocabulary")
        noted(device_tokenizer.DeviceTokenizer, "_self_test", "self-test")
        noted(device_tokenizer.DeviceTokenizer, "__init__", "all of the device")
        noted(line_lanes.LineLanes, "make", "lanes")
    began = time.time()
    patch_rest()
    note("import of tokenmill.cuda", began, time.time())
end_start()
done = mill.pack_task(
    mill.prepare_task(paths, tokenizer=ready, output=output, context_length=2048),
    output=output, device=device,
)
note("pack and all before", zero, time.time())
print(json.dumps({"steps": steps, "note": done.device.note}))
"""


def time_fresh(files: JsonlFiles, path: Path, way: str) -> dict[str, Any]:
    """Time a run in a process of its own; `way` is a device, and maybe one of the names above."""
    device, _, how = way.partition(", ")
    output = files.folder / "fresh"
    began, zero = time.perf_counter(), str(time.time())
    words = [zero, how, device, str(path), str(output), *map(str, files.paths)]
    found = _answer(FRESH, words)
    wall = time.perf_counter() - began
    shutil.rmtree(output, ignore_errors=True)
    if "error" in found:
        return found
    inside = found["steps"].pop("pack and all before")[1]
    return {
        "seconds": round(wall, 3),
        "GB/s": round(files.size / 1e9 / wall, 2),
        "the end of the process": round(wall - inside, 3),
        **found,
    }


OPENING = """
import json, sys, time
marks = [("", time.perf_counter())]
def mark(name): marks.append((name, time.perf_counter()))
import os
import cupy
mark("import of CuPy" + ("" if os.path.exists(cupy.__cached__ or "") else ", no bytecode"))
cupy.zeros(1).get()
mark("context")
import numpy as np, tokenmill
from tokenmill._cuda.cupy_backend import connect_cupy
from tokenmill._cuda.device_tables import DeviceTables
from tokenmill._cuda.device_tokenizer import DeviceTokenizer
from tokenmill._cuda.jsonl import JsonlSlot
from tokenmill._cuda.options import CallOptions
from tokenmill._cuda.steps import WordCapacity
from tokenmill._cuda.tables import defines
mark("import of tokenmill")
ready = tokenmill.Tokenizer.load(sys.argv[1]).ready
mark("tokenizer")
facts = ready.model.device_tables()
mark("facts for the device")
backend = connect_cupy(0)(defines(facts, 8192))
mark("kernels")
with backend.using(None):
    tables = DeviceTables(backend, facts, WordCapacity())
    backend.mark().synchronize()
mark("tables and vocabulary")
gpu = DeviceTokenizer(ready, 0)
mark("all of it again, and the self-test")
lines = gpu.new_lines(CallOptions("uint32"))
for number in range(3):
    size = 8 << 20
    host = gpu.backend.pinned(size, np.uint8)
    mark(f"lane {number}: pinned memory")
    slot, stream = JsonlSlot(gpu.backend, size), gpu.backend.new_stream()
    seat = lines.add_seat(size, slot.lines)
    mark(f"lane {number}: seat")
    lines.add_lane(host, slot, stream, size, seat)
    mark(f"lane {number}: rest")
pairs = zip(marks, marks[1:])
print(json.dumps({name: round(end - begin, 4) for (_, begin), (name, end) in pairs}))
"""


def time_opening(path: Path) -> dict[str, Any]:
    """Seconds of each step of opening a device, in a process that does nothing else."""
    return _answer(OPENING, [str(path)])


def _answer(script: str, words: list[str]) -> dict[str, Any]:
    """Run a script that prints JSON as its last line."""
    try:
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-c", script, *words],
            capture_output=True, text=True, check=False, timeout=LIMIT,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"error": f"no answer in {LIMIT} s"}
    if done.returncode:
        return {"exit": done.returncode, "error": done.stderr[-500:]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
