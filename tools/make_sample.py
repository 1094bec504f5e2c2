"""Make examples/data/corpus from the texts next to it: `python tools/make_sample.py [FOLDER]`.

Documents are cut at the boundaries of the texts. Among them are bad lines, one or two of every kind
that real corpora have, always in the same places.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import sys
from pathlib import Path

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

DATA = Path(__file__).resolve().parent.parent / "examples" / "data"
ENTRY = re.compile(r"\n\n(?=[A-Z][A-Z' -]+, )")
LINES_A_MESSAGE = 4

# What comes before the document with that number: a broken line, or nothing.
DIRTY = {
    12: b'{"id": "cut", "text": "A download that was stopped in the mid',
    41: b'{"id": "twice", "text": "One record"} {"text": "and another on the same line"}',
    77: b'{"id": "renamed", "body": "This one calls its text body."}',
    105: b'{"id": "null", "text": null}',
    138: b'{"id": "number", "text": 1911}',
    170: b"",
    171: b'["a list", "not an object"]',
    204: b'{"id": "latin-1", "text": "A caf\xe9 from a file that was never UTF-8."}',
    240: b'{"id": "half", "text": "Half of an emoji: \\ud83d."}',
    275: b'{"id": "empty", "text": ""}',
    300: b'{"id": "blank", "text": ""}',
}
DIRTY_POEMS = {
    100: b'{"id": "poem", "title": "A title, and the poem is missing"}',
    200: b"<!-- page 2 -->",
}


def make() -> dict[str, bytes]:
    """Return the files of the corpus by name."""
    dictionary = json_lines(ENTRY.split(read("devils_dictionary")), "devil", DIRTY)
    poems = json_lines(read("tang_poems").split("\n\n"), "tang", DIRTY_POEMS)
    constitution = json_lines(re.split(r"\n{3,}", read("us_constitution")), "law", {})
    return {
        "constitution.jsonl.zst": zstd.compress(constitution, 19),
        "dictionary.jsonl": dictionary,
        "messages.csv.gz": gzip.compress(table(read("postgresql_messages_ru")), mtime=0),
        "poems.jsonl.gz": gzip.compress(poems, mtime=0),
    }


def read(name: str) -> str:
    """Return one of the texts."""
    return (DATA / f"{name}.txt").read_text(encoding="utf-8")


def json_lines(texts: list[str], name: str, dirty: dict[int, bytes]) -> bytes:
    """Write one document per line, with the bad lines between them."""
    lines: list[bytes] = []
    for number, text in enumerate(text for text in texts if text.strip()):
        lines += [dirty[number]] if number in dirty else []
        record = {"id": f"{name}-{number:03d}", "text": text.strip()}
        lines.append(json.dumps(record, ensure_ascii=False).encode())
    return b"\n".join(lines) + b"\n"


def table(text: str) -> bytes:
    """Write a few messages per row, and a row that lacks a column."""
    lines = text.splitlines()
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["id", "text"])
    for begin in range(0, len(lines), LINES_A_MESSAGE):
        if begin == 10 * LINES_A_MESSAGE:
            writer.writerow(["a row without its text"])
        writer.writerow([f"message-{begin:03d}", "\n".join(lines[begin : begin + LINES_A_MESSAGE])])
    return out.getvalue().encode()


def main() -> None:
    """Write the files."""
    folder = Path(sys.argv[1]) if sys.argv[1:] else DATA / "corpus"
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in make().items():
        (folder / name).write_bytes(content)
        print(f"{len(content):>8,}  {folder / name}")


if __name__ == "__main__":
    main()
