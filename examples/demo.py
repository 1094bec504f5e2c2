"""Encode the sample with the tokenizer in the package: counts, speed, and back to text."""

from __future__ import annotations

import time
from pathlib import Path

import tokenmill

DATA = Path(__file__).parent / "data"


def main() -> None:
    """Show each file, then all of them as one batch."""
    tokenizer = tokenmill.Tokenizer.load()
    print(tokenizer.describe(), end="\n\n")

    files = sorted(DATA.glob("*.txt"))
    texts = [path.read_bytes() for path in files]
    print(f"{'file':<28} {'bytes':>9} {'ids':>9} {'bytes/id':>9}  back")
    for path, text in zip(files, texts, strict=True):
        ids = tokenizer.encode(text)
        back = "same" if tokenizer.decode_bytes(ids) == text else "DIFFERENT"
        ratio = len(text) / max(len(ids), 1)
        print(f"{path.name:<28} {len(text):>9,} {len(ids):>9,} {ratio:>9.2f}  {back}")

    begin = time.perf_counter()
    batch = tokenizer.encode_batch(texts, dtype="uint16")
    seconds = time.perf_counter() - begin
    megabytes = sum(map(len, texts)) / 1e6
    print(f"\nall at once: {len(batch.ids):,} ids, {megabytes / seconds:.0f} MB/s")

    sentence = "Raw text in, tokens out."
    words = [tokenizer.token_bytes(int(i)).decode() for i in tokenizer.encode(sentence)]
    print(f"{sentence!r} -> {words}")


if __name__ == "__main__":
    main()
