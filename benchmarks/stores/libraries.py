"""obstore against s3fs on the S3 server of the tests: many small ranges, and one large object.

``python benchmarks/stores/libraries.py [--rounds 3]``, in an environment with both libraries, moto,
Flask and flask-cors. Each measurement is a fresh process; the least time of the rounds is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

_TESTS = Path(__file__).resolve().parents[2] / "tests" / "store"
_SMALL, _PIECE, _READS = 1 << 20, 4096, 160
_LARGE, _PART = 32 << 20, 4 << 20
_AT_A_TIME = 8
_SETTINGS = {
    "AWS_ACCESS_KEY_ID": "id",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
}


def ranges_of(task: str) -> tuple[str, list[tuple[int, int]]]:
    """Return the object of a task, and the ranges that are read."""
    if task == "many":
        begins = [i % (_SMALL // _PIECE) * _PIECE for i in range(_READS)]
        return "small", [(begin, begin + _PIECE) for begin in begins]
    return "large", [(begin, begin + _PART) for begin in range(0, _LARGE, _PART)]


def read_with_obstore(endpoint: str, task: str) -> int:
    """Read with threads, as the mill does."""
    import obstore
    from obstore.store import S3Store

    store = S3Store("bucket1", endpoint=endpoint, client_options={"allow_http": True})
    name, ranges = ranges_of(task)
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        read = pool.map(lambda r: len(obstore.get_range(store, name, start=r[0], end=r[1])), ranges)
        return sum(read)


def read_with_s3fs(endpoint: str, task: str) -> int:
    """Read with the batch call that the library has for this."""
    import s3fs

    system = s3fs.S3FileSystem(endpoint_url=endpoint)
    name, ranges = ranges_of(task)
    begins, ends = zip(*ranges, strict=True)
    paths = [f"bucket1/{name}"] * len(ranges)
    found = system.cat_ranges(paths, list(begins), list(ends), batch_size=_AT_A_TIME)
    return sum(map(len, found))


READERS = {"obstore": read_with_obstore, "s3fs": read_with_s3fs}


def measure_here(library: str, task: str, port: str) -> None:
    """Print bytes, wall seconds and CPU seconds of one measurement."""
    import_module(library)  # not measured
    wall, cpu = time.perf_counter(), time.process_time()
    count = READERS[library](f"http://127.0.0.1:{port}", task)
    print(json.dumps([count, time.perf_counter() - wall, time.process_time() - cpu]))


def start(*command: str) -> tuple[subprocess.Popen[str], str]:
    """Start a process that prints its port."""
    process = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True)  # noqa: S603
    assert process.stdout is not None  # noqa: S101
    return process, process.stdout.readline().strip()


def put(port: str, path: str, data: bytes | None = None) -> None:
    """Write to the server without either library."""
    headers = {"Content-Type": "application/octet-stream"}
    url = f"http://127.0.0.1:{port}{path}"
    request = urllib.request.Request(url, data, headers, method="PUT")
    urllib.request.urlopen(request).read()  # noqa: S310


def main() -> None:
    """Measure all combinations in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    os.environ.update(_SETTINGS)
    server, port = start(str(_TESTS / "s3_process.py"))
    proxy, slow_port = start(str(_TESTS / "fault_proxy.py"), port, "50")
    try:
        put(port, "/bucket1")
        put(port, "/bucket1/small", os.urandom(_SMALL))
        put(port, "/bucket1/large", os.urandom(_LARGE))
        for task in ("many", "large"):
            for latency, through in (("0 ms", port), ("50 ms", slow_port)):
                for library in READERS:
                    command = [sys.executable, __file__, library, task, through]
                    runs = [
                        json.loads(subprocess.check_output(command))  # noqa: S603
                        for _ in range(rounds)
                    ]
                    wall, cpu = (min(run[i] for run in runs) for i in (1, 2))
                    print(f"{task:6} {latency:6} {library:8} {wall:.2f} s, CPU {cpu:.2f} s")
    finally:
        proxy.kill()
        server.kill()


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] in READERS:  # noqa: PLR2004
        measure_here(*sys.argv[1:])
    else:
        main()
