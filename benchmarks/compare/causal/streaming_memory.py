#!/usr/bin/env python3
"""Peak memory of a large streaming dataset that is generated and never stored.

    cd benchmarks/compare/causal
    python streaming_memory.py --tokenizer gpt2/tokenizer.json --text en.txt

An IterableDataset yields documents until `--gigabytes` of text; all rows are read and dropped. It
runs in a separate process, measured from outside with all its children.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[3]))
sys.path.append(str(Path(__file__).resolve().parents[1] / "encode"))

from _driver import RESULTS, print_table, write_results
from benchmarks.compare.pack._meter import measure

HERE = Path(__file__).resolve().parent
LIMIT_MIB = 1.5e9 / (1 << 20)
LOCAL = ("tokenizer", "text", "python", "results")


def main() -> None:
    """Measure, print, write the result file; exit 1 above the limit."""
    arguments = parse_arguments()
    rows = [run(arguments, arguments.gigabytes * share) for share in (0.1, 1.0)]
    header = ["GB", "documents", "rows", "tokens", "seconds", "MB/s", "peak MiB", "private MiB"]
    print_table(header, [cells(row) for row in rows])
    measured = argparse.Namespace(**{k: v for k, v in vars(arguments).items() if k not in LOCAL})
    write_results(arguments.results, "causal-streaming-memory", measured, rows)
    peak = max(row["peak_mib"] for row in rows)
    verdict = "under" if peak < LIMIT_MIB else "ABOVE"
    sys.stdout.write(f"peak {peak * (1 << 20) / 1e9:.2f} GB, {verdict} 1.5 GB\n")
    sys.exit(0 if peak < LIMIT_MIB else 1)


def parse_arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--tokenizer", type=Path, required=True, help="a tokenizer.json")
    parser.add_argument("--text", type=Path, required=True, help="UTF-8 text to cut documents from")
    parser.add_argument("--gigabytes", type=float, default=5, help="of text (5)")
    parser.add_argument("--context-length", type=int, default=4096, help="(4096)")
    parser.add_argument("--overlap", type=int, default=0, help="(0)")
    parser.add_argument("--timeout", type=float, default=7200, help="seconds (7200)")
    parser.add_argument("--python", default=sys.executable, help="an interpreter with datasets")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the result file")
    return parser.parse_args()


def run(arguments: argparse.Namespace, gigabytes: float) -> dict[str, Any]:
    """Stream that much text; return the counts and the measurement."""
    request = {
        "tokenizer": str(arguments.tokenizer.resolve()),
        "text": str(arguments.text.resolve()),
        "bytes": int(gigabytes * 1e9),
        "context_length": arguments.context_length,
        "overlap": arguments.overlap,
    }
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "job.log"
        command = [arguments.python, str(HERE / "_stream.py")]
        run = measure(command, json.dumps(request), log, timeout=arguments.timeout)
    if run.failure:
        sys.exit(run.failure)
    facts = json.loads(run.log.splitlines()[-1])
    memory = {"peak_mib": run.peak_mib, "private_mib": run.private_mib, "load": run.load}
    return {"gigabytes": gigabytes, "seconds": run.seconds, **memory, **facts}


def cells(row: dict[str, Any]) -> list[str]:
    """Return one line of the table."""
    counts = [f"{row[name]:,}" for name in ("documents", "rows", "tokens")]
    rate = f"{row['gigabytes'] * 1000 / row['seconds']:.1f}"
    memory = [f"{row[name]:.0f}" for name in ("peak_mib", "private_mib")]
    return [f"{row['gigabytes']:.1f}", *counts, f"{row['seconds']:.1f}", rate, *memory]


if __name__ == "__main__":
    main()
