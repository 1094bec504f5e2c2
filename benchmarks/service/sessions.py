"""Texts that grow: what an append costs after 4 MB, and whether conversations stay equal.

    python benchmarks/service/sessions.py TOKENIZER.json TEXT.txt.xz

Times are those of the processor, so a busy machine changes them little.
"""

from __future__ import annotations

import argparse
import lzma
import random
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / "compare" / "encode"))

from _driver import RESULTS, write_results

from tokenmill import Tokenizer

BYTES = 4_000_000
APPENDS = {256: 800, 4: 4000}
CONVERSATIONS = 1000


def main() -> int:
    """Measure and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("text", type=Path)
    options = parser.parse_args()
    with lzma.open(options.text) if options.text.suffix == ".xz" else options.text.open("rb") as f:
        text = f.read(2 * BYTES).decode(errors="ignore")
    tokenizer = Tokenizer.load(options.tokenizer)
    rows = [append_pieces(tokenizer, text, size) for size in APPENDS]
    rows.append(replay_conversations(tokenizer, text))
    for row in rows:
        print(row)
    facts = {"tokenizer": options.tokenizer.parent.name, "text": options.text.name}
    write_results(RESULTS, "sessions", argparse.Namespace(**facts), rows)
    return 0


def append_pieces(tokenizer: Tokenizer, text: str, size: int) -> dict[str, Any]:
    """Append pieces of `size` characters to 4 MB; compare the ids at the end."""
    session = tokenizer.session()
    first = len(text.encode()[:BYTES].decode(errors="ignore"))
    session.append(text[:first])
    times = []
    for number in range(APPENDS[size]):
        at = first + number * size
        begin = time.thread_time_ns()
        session.append(text[at : at + size])
        times.append((time.thread_time_ns() - begin) / 1000)
    whole = tokenizer.encode(text[: first + APPENDS[size] * size])
    return {
        "characters": size,
        "p50_us": round(float(np.percentile(times, 50)), 2),
        "p99_us": round(float(np.percentile(times, 99)), 2),
        "equal": bool(np.array_equal(session.ids, whole)),
    }


def replay_conversations(tokenizer: Tokenizer, text: str) -> dict[str, Any]:
    """Let conversations grow by random pieces; compare after each of them."""
    choose = random.Random(14)  # noqa: S311
    compared = different = 0
    for _ in range(CONVERSATIONS):
        session, grown = tokenizer.session(), ""
        at = choose.randrange(len(text) - 20_000)
        for _ in range(choose.randrange(2, 12)):
            size = choose.choice([1, 3, 17, 80, 400, 1500])
            grown += text[at : at + size]
            session.append(text[at : at + size])
            at += size
            compared += 1
            different += not np.array_equal(session.ids, tokenizer.encode(grown))
    return {"conversations": CONVERSATIONS, "compared": compared, "different": different}


if __name__ == "__main__":
    sys.exit(main())
