#!/usr/bin/env python3
"""Writes the texts of `tokenmill bench`, a few pages of English, Chinese and code.

    python tools/make_bench_texts.py

They are kept as they are: results of `bench` can only be compared if the texts are the same.
English and Chinese are public domain (examples/data/README.md), the code is our own.
"""

from __future__ import annotations

import json
import lzma
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "src/tokenmill/data/bench_texts.json.xz"
PARTS = {
    "english": [("examples/data/us_constitution.txt", 20_000),
                ("examples/data/devils_dictionary.txt", 20_000)],
    "chinese": [("examples/data/tang_poems.txt", 12_000)],
    "code": [("src/tokenmill/_mill/plan/plan.py", 6_000),
             ("src/tokenmill/_serve/connection.py", 8_000),
             ("core/pipeline/session.cpp", 8_000),
             ("core/encode/long_word.cpp", 6_000)],
}  # fmt: skip


def main() -> None:
    """Cut the texts at line ends and write them."""
    texts = {
        name: "\n".join(_lines(ROOT / path, most) for path, most in parts)
        for name, parts in PARTS.items()
    }
    data = json.dumps(texts, ensure_ascii=False).encode()
    OUTPUT.write_bytes(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))


def _lines(path: Path, most: int) -> str:
    text = path.read_text(encoding="utf-8")[:most]
    return text[: text.rindex("\n") + 1]


if __name__ == "__main__":
    main()
