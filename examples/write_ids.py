"""Write the ids of the sample as one raw uint16 file through a memory map, then read it back."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import tokenmill

DATA = Path(__file__).parent / "data"


def main() -> None:
    """Count first, so that the file has its final size; then encode into it."""
    tokenizer = tokenmill.Tokenizer.load()
    texts = [path.read_bytes() for path in sorted(DATA.glob("*.txt"))]
    total = int(tokenizer.count_batch(texts).sum())
    with TemporaryDirectory() as folder:
        path = Path(folder) / "train.bin"
        out = np.memmap(path, dtype=np.uint16, mode="w+", shape=(total,))
        offsets = tokenizer.encode_into(texts, out)
        out.flush()
        print(f"{path.name}: {path.stat().st_size:,} bytes, {len(texts)} texts, {total:,} ids")

        ids = np.fromfile(path, dtype=np.uint16)
        for begin, end, text in zip(offsets[:-1], offsets[1:], texts, strict=True):
            same = tokenizer.decode_bytes(ids[begin:end]) == text
            print(f"{begin:>8} to {end:>8}  {'same' if same else 'DIFFERENT'}")


if __name__ == "__main__":
    main()
