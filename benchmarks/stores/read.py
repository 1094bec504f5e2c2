"""`pack` of the same files from the disk and from an S3 server on loopback with latency, in turn.

``python benchmarks/stores/read.py TOKENIZER TEXT --work FOLDER [--mb 400] [--latency 50]``
Each run is a fresh process; shards are compared before a time is printed.

A store is another machine: its work is not the reader's. `--cores 2 --server-cores 4` keeps the
two apart, and needs six cores. Without them they share what there is.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from backports import zstd

_SERVER = Path(__file__).with_name("folder_server.py")
_DOCUMENT = 3000
_FILES = 8


def write_corpus(text: Path, folder: Path, megabytes: int, kind: str) -> None:
    """Write JSONL files of different documents, as many bytes as asked for."""
    folder.mkdir(parents=True, exist_ok=True)
    body = text.read_text("utf-8")
    pieces = [body[i : i + _DOCUMENT] for i in range(0, len(body), _DOCUMENT)]
    rng = random.Random(0)  # noqa: S311
    for number in range(_FILES):
        lines, size = [], 0
        while size < megabytes * 1_000_000 // _FILES:
            lines.append(json.dumps({"text": rng.choice(pieces)}, ensure_ascii=False).encode())
            size += len(lines[-1]) + 1
        data = b"\n".join(lines) + b"\n"
        name = f"{number:02}.{kind}"
        (folder / name).write_bytes(zstd.compress(data, 3) if kind.endswith("zst") else data)


def split_cores(mine: int, others: int) -> tuple[set[int], set[int]]:
    """Return the cores of `pack` and of the server: all of them, or apart."""
    usable = sorted(os.sched_getaffinity(0))
    if not mine or not others:
        return set(usable), set(usable)
    if mine + others > len(usable):
        sys.exit(f"{mine} and {others} cores were asked for; there are {len(usable)}")
    return set(usable[:mine]), set(usable[mine : mine + others])


def run_once(source: str, options: argparse.Namespace, port: int) -> tuple[float, float, str]:
    """Return wall seconds and CPU seconds of one `pack`, and a hash of its shards."""
    output = options.work / "out"
    shutil.rmtree(output, ignore_errors=True)
    environment = {
        **os.environ,
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "id",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
    }
    command = [
        sys.executable, "-m", "tokenmill", "pack", source, "-t", str(options.tokenizer),
        "-o", str(output),
        "--context-length", "4096", "--quiet",
    ]  # fmt: skip
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    subprocess.run(command, check=True, env=environment)  # noqa: S603
    wall = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    digest = hashlib.sha256()
    for path in sorted((output / "bin").iterdir()):
        digest.update(path.name.encode() + path.read_bytes())
    return wall, cpu, digest.hexdigest()


def main() -> None:
    """Measure both kinds of files and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("text", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--mb", type=int, default=400)
    parser.add_argument("--latency", type=float, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cores", type=int, default=0, metavar="N", help="of `pack`")
    parser.add_argument("--server-cores", type=int, default=0, metavar="N")
    parser.add_argument("--kinds", nargs="+", default=["jsonl", "jsonl.zst"], metavar="KIND")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    results = {}
    for kind in options.kinds:
        folder = options.work / kind.replace(".", "-")
        write_corpus(options.text, folder, options.mb, kind)
        results[kind] = measure(folder, kind, options)
    if options.output:
        facts = {
            "mb": options.mb,
            "latency_ms": options.latency,
            "cores": options.cores,
            "results": results,
        }
        options.output.write_text(json.dumps(facts, indent=1) + "\n")


def measure(folder: Path, kind: str, options: argparse.Namespace) -> dict[str, object]:
    """Run local and remote in turn, and print the ratio of their speeds."""
    command = [sys.executable, str(_SERVER), str(folder), str(options.latency)]
    times: dict[str, list[tuple[float, float]]] = {"local": [], "store": []}
    mine, others = split_cores(options.cores, options.server_cores)
    os.sched_setaffinity(0, others)  # children keep it
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603
        assert server.stdout is not None  # noqa: S101
        port = int(server.stdout.readline())
        os.sched_setaffinity(0, mine)
        sources = {"local": f"{folder}/*.{kind}", "store": f"s3://bucket/*.{kind}"}
        seen = set()
        for _ in range(options.rounds + 1):
            for name, source in sources.items():
                wall, cpu, digest = run_once(source, options, port)
                times[name].append((wall, cpu))
                seen.add(digest)
        server.terminate()
    os.sched_setaffinity(0, mine | others)
    if len(seen) != 1:
        sys.exit("the shards differ")
    for runs in times.values():
        del runs[0]  # the first fills the caches
    ratios = [a[0] / b[0] for a, b in zip(times["local"], times["store"], strict=True)]
    best = min(t[0] for t in times["local"]) / min(t[0] for t in times["store"])
    cpu = sum(t[1] for t in times["store"]) / sum(t[1] for t in times["local"])
    print(
        f"{kind}: store / local speed {statistics.median(ratios):.3f} (median of pairs), "
        f"{best:.3f} (best of each); CPU of the run {cpu:.3f} times; "
        + ", ".join(f"{n} {min(t[0] for t in r):.2f} s" for n, r in times.items()),
        flush=True,
    )
    return {"times": times, "median": statistics.median(ratios), "best": best, "cpu": cpu}


if __name__ == "__main__":
    main()
