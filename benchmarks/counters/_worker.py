"""Does what run.py asks for, line by line, and answers with the CPU seconds that it took."""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenmill import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable

_DOCUMENT = 3000  # bytes
_SHORT = 100
_SHORT_CALLS = 20_000


def read_documents(path: Path, size: int) -> list[bytes]:
    """Return the first bytes of a text as documents, cut between characters."""
    with (lzma.open if path.suffix == ".xz" else open)(path, "rb") as file:
        text = file.read(size).decode("utf-8", "ignore")
    return [text[i : i + _DOCUMENT].encode() for i in range(0, len(text), _DOCUMENT)]


def encode_shorts(tokenizer: Tokenizer, texts: list[str]) -> None:
    """Encode short texts, one a call."""
    encode = tokenizer.encode
    for text in texts:
        encode(text)


def encode_cold(tokenizer: Tokenizer, documents: list[bytes]) -> None:
    """Encode as if for the first time."""
    tokenizer.release()
    tokenizer.encode_batch(documents, threads=1)


def cases_of(
    tokenizer: Tokenizer, texts: dict[str, list[bytes]]
) -> dict[str, tuple[Callable[[], Any], str]]:
    """Return the work by name, and what it is."""
    found: dict[str, tuple[Callable[[], Any], str]] = {}
    for name, documents in texts.items():
        size = f"{sum(map(len, documents)) / 1e6:.1f} MB in documents of 3 KB"
        shorts = [document.decode()[:_SHORT] for document in documents]
        shorts = (shorts * (_SHORT_CALLS // len(shorts) + 1))[:_SHORT_CALLS]
        found[f"{name} warm"] = partial(tokenizer.encode_batch, documents, threads=1), size
        found[f"{name} cold"] = partial(encode_cold, tokenizer, documents), size
        found[f"{name} one call"] = partial(encode_shorts, tokenizer, shorts), "100 characters"
    return found


def main() -> None:
    """Answer until the input ends."""
    core, megabytes, source, *paths = sys.argv[1:]
    os.sched_setaffinity(0, {int(core)})
    tokenizer = Tokenizer.load(source or None)
    size = int(float(megabytes) * 1e6)
    texts = {Path(path).name.partition(".")[0]: read_documents(Path(path), size) for path in paths}
    cases = cases_of(tokenizer, texts)
    for line in sys.stdin:
        case = line.strip()
        if case == "about":
            digest = hashlib.sha256()
            for documents in texts.values():
                digest.update(tokenizer.encode_batch(documents, threads=1).ids.tobytes())
            answer: Any = {
                "ids": digest.hexdigest(),
                "counts": tokenizer.stats().words.looked_up,
                "cases": {name: what for name, (_, what) in cases.items()},
            }
        else:
            begin = time.thread_time()
            cases[case][0]()
            answer = time.thread_time() - begin
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
