"""What a request costs in asyncio: `tokenmill.Service`, a thread for each call, and `tokenizers`.

python benchmarks/service/run.py TOKENIZER.json TEXT.txt [--save RESULT.json]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import subprocess
import sys
import time
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
import tokenizers

from tokenmill import Service, Tokenizer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Call = Callable[[str], Awaitable[Any]]

SIZES = {"tiny (100 bytes)": 100, "1k tokens (4.5 KB)": 4500, "32k tokens (144 KB)": 144_000}
HOPS = (1000, 4000, 8000, 16_000, 32_000, 64_000)
SECONDS = 0.6  # of one measurement
ROUNDS = 3
PINGER = """
import os, sys, time
while True:
    time.sleep(0.002)
    os.write(1, int(time.monotonic_ns()).to_bytes(8, "little"))
"""


async def rate(call: Call, texts: list[str], clients: int) -> float:
    """Return requests a second of so many clients that each wait for their answer."""
    end = time.perf_counter() + SECONDS

    async def client(first: int) -> int:
        done = 0
        while time.perf_counter() < end:
            await call(texts[(first + done) % len(texts)])
            done += 1
            if done % 16 == 0:
                await asyncio.sleep(0)
        return done

    begin = time.perf_counter()
    counts = await asyncio.gather(*(client(i * 7) for i in range(clients)))
    return sum(counts) / (time.perf_counter() - begin)


async def lag_beside(call: Call, text: str, clients: int) -> dict[str, float]:
    """Return how late the loop reads what another process sends it, in ms, and requests a second.

    The other process writes down when it sends, so nothing that is late is left out.
    """
    loop = asyncio.get_running_loop()
    lags: list[float] = []
    pinger = subprocess.Popen([sys.executable, "-c", PINGER], stdout=subprocess.PIPE)  # noqa: S603
    pipe: Any = pinger.stdout
    os.set_blocking(pipe.fileno(), False)

    def read() -> None:
        data, now = os.read(pipe.fileno(), 65536), time.monotonic_ns()
        lags.extend((now - np.frombuffer(data, np.int64)) / 1e6)

    await asyncio.sleep(0.3)  # it starts; what it has sent until now does not count
    os.read(pipe.fileno(), 65536)
    loop.add_reader(pipe.fileno(), read)
    per_second = await rate(call, [text], clients)
    loop.remove_reader(pipe.fileno())
    pinger.kill()
    pinger.wait()
    pipe.close()
    p50, p99 = np.percentile(lags, [50, 99])
    return {"p50_ms": float(p50), "p99_ms": float(p99), "max_ms": float(max(lags)),
            "requests_per_second": per_second}  # fmt: skip


def bare(call: Callable[[str], Any], texts: list[str]) -> float:
    """Return microseconds of a plain call, the best of three."""
    best = float("inf")
    for _ in range(ROUNDS):
        begin, count = time.perf_counter(), 0
        while time.perf_counter() - begin < SECONDS / 6:
            call(texts[count % len(texts)])
            count += 1
        best = min(best, (time.perf_counter() - begin) / count)
    return best * 1e6


async def costs(tokenizer: Tokenizer, text: str) -> list[dict[str, float]]:
    """Return microseconds of a plain call, of an inline one, and of one through a thread."""
    rows = []
    options: dict[str, Any] = {"max_text_bytes": 1 << 30}
    async with (
        Service(tokenizer, inline_bytes=1 << 30, **options) as inline,
        Service(tokenizer, inline_bytes=0, **options) as threaded,
    ):
        for size in (100, *HOPS):
            texts = pieces(text, size)[:64]
            row = {"bytes": size, "plain_us": bare(tokenizer.encode, texts)}
            for name, service in (("inline_us", inline), ("thread_us", threaded)):
                best = max([await rate(service.encode, texts, 1) for _ in range(ROUNDS)])
                row[name] = 1e6 / best
            rows.append(row)
            show(row)
    return rows


def pieces(text: str, size: int) -> list[str]:
    """Cut up to 64 texts of one size."""
    return [text[i : i + size] for i in range(0, min(len(text) - size, 64 * size), size)]


def show(row: dict[str, Any]) -> None:
    """Print a row."""
    cells = [f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()]
    print("  " + "  ".join(cells), flush=True)


async def main(path: str, text: str) -> dict[str, Any]:
    """Measure everything on one event loop, answers first."""
    tokenizer, peer = Tokenizer.load(path), tokenizers.Tokenizer.from_file(path)
    sample = text[:200_000]
    expected = peer.encode(sample, add_special_tokens=False).ids
    result: dict[str, Any] = {"rates": [], "lag": []}
    async with Service(tokenizer) as service:
        if (await service.encode(sample)).tolist() != expected:
            sys.exit("the ids differ")
        print("cost of one call")
        result["costs"] = await costs(tokenizer, text)
        calls: dict[str, Call] = {
            "tokenmill.Service": service.encode,
            "asyncio.to_thread(tokenmill)": lambda t: asyncio.to_thread(tokenizer.encode, t),
            "tokenizers async_encode": lambda t: peer.async_encode(t, add_special_tokens=False),
        }
        print("requests a second")
        for name, size in SIZES.items():
            for clients in (1, 64):
                row: dict[str, Any] = {"size": name, "clients": clients}
                for library, call in calls.items():
                    texts = pieces(text, size)
                    found = [await rate(call, texts, clients) for _ in range(ROUNDS)]
                    row[library] = median(found)
                result["rates"].append(row)
                show(row)
        print("lag of the event loop during 1 MB texts, 4 clients")
        for library, call in calls.items():
            lag = {"library": library, **await lag_beside(call, text[:1_000_000], 4)}
            result["lag"].append(lag)
            show(lag)
    return result


def facts() -> dict[str, Any]:
    """Return machine, date, commit and versions."""
    info = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    cpu = next(line.partition(":")[2].strip() for line in info if line.startswith("model name"))
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    names = ("tokenmill", "tokenizers", "numpy")
    return {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "cpu": cpu,
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "commit": commit,
        "versions": {name: version(name) for name in names},
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tokenizer")
    parser.add_argument("text", type=Path)
    parser.add_argument("--save", type=Path)
    given = parser.parse_args()
    measured = asyncio.run(main(given.tokenizer, given.text.read_text(encoding="utf-8")))
    if given.save:
        report = facts() | {"tokenizer": Path(given.tokenizer).parent.name} | measured
        given.save.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
