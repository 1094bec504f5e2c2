"""What every wheel must do before it is published: load, encode, decode, pack, verify.

It needs nothing but the package, and takes a second. Ids are written down, not computed.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import tokenmill

TEXT = "Hello world, caf\u00e9 \u4f60\u597d"
IDS_BEGIN = [19816, 2257]  # of "hello world" with the tokenizer in the package


def main() -> None:
    """Raise if anything is wrong."""
    tokenizer = tokenmill.Tokenizer.load()
    _expect(tokenizer.encode("hello world").tolist(), IDS_BEGIN)
    ids = tokenizer.encode(TEXT)
    _expect(tokenizer.decode(ids), TEXT)
    batch = tokenizer.encode_batch([TEXT] * 100, threads=2)
    _expect([row.tolist() for row in batch], [ids.tolist()] * 100)
    long = TEXT * 100_000  # threads share it
    _expect(tokenizer.decode(tokenizer.encode(long)), long)
    with tempfile.TemporaryDirectory() as name:
        texts, output = Path(name, "texts.jsonl"), Path(name, "packed")
        lines = [json.dumps({"text": f"{TEXT} {n}"}) for n in range(300)]
        texts.write_text("\n".join(lines), encoding="utf-8")
        manifest = tokenmill.pack(
            texts, output=output, tokenizer=tokenizer, context_length=64, progress="none"
        )
        _expect(manifest.documents["out"], 300)
        _expect(tokenmill.verify(output).problems, [])
    gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    target = tokenizer.ready.model.target
    print(f"works: {sys.version.split()[0]} on {sys.platform}, {target}, GIL {gil}")  # noqa: T201


def _expect(got: object, expected: object) -> None:
    if got != expected:
        sys.exit(f"got {str(got)[:300]}, expected {str(expected)[:300]}")


if __name__ == "__main__":
    main()
