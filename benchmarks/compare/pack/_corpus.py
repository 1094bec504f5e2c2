"""Makes the input files from one text, the same bytes every time, in a separate process.

The driver must stay small, because a child starts with its parent's peak memory.
"""

from __future__ import annotations

import json
import random
import sys
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

SEED = 20_261_115
SHORTEST, LONGEST = 200, 6000  # characters of a document
DIRTY_LONGEST = 1000
BAD_EVERY = 1000
DIRTY_LIMIT_BYTES = 65_536
ROW_GROUP = 4096
SUFFIXES = {"jsonl": ".jsonl", "zst": ".jsonl.zst", "parquet": ".parquet"}


class Document(NamedTuple):
    """A text and its place in the corpus."""

    number: int
    text: str


def main() -> None:
    """Make what the request on stdin asks for."""
    request = json.load(sys.stdin)
    folder = Path(request["folder"])
    folder.mkdir(parents=True, exist_ok=True)
    MAKERS[request.pop("make")](request, folder)


def make_clean(request: dict[str, Any], folder: Path) -> None:
    """Write the whole corpus, its first part cut into pieces, and one single document."""
    text = read_text(request["text"])
    whole = folder / "whole.jsonl"
    write_jsonl(whole, documents(text, LONGEST), request["megabytes"] * 1e6)
    lines = first_lines(whole, request["slice_megabytes"] * 1e6)
    (folder / "slice.jsonl").write_bytes(b"".join(lines))
    (folder / "one").mkdir()  # its own folder: datatrove reads whole folders
    (folder / "one" / "document.jsonl").write_bytes(lines[0])
    for kind in request["formats"]:
        convert(whole, folder / f"whole{SUFFIXES[kind]}", kind)
        pieces = folder / f"pieces-{kind}"
        pieces.mkdir(exist_ok=True)
        for number, piece in enumerate(cut(lines, request["pieces"])):
            plain = folder / "piece.jsonl"
            plain.write_bytes(b"".join(piece))
            convert(plain, pieces / f"{number:03}{SUFFIXES[kind]}", kind)
            plain.unlink(missing_ok=True)


def make_dirty(request: dict[str, Any], folder: Path) -> None:
    """Write good documents, alone and with each kind of bad line and all kinds; one folder each."""
    text = read_text(request["text"])
    stream = documents(text, DIRTY_LONGEST)
    good = [as_line(next(stream)) for _ in range(request["documents"])]
    bad = bad_lines(text)
    mixes = {"good": [], "all": list(bad.values()), **{kind: [line] for kind, line in bad.items()}}
    for kind, chosen in mixes.items():
        (folder / kind).mkdir()
        with (folder / kind / "documents.jsonl").open("wb") as file:
            for number, line in enumerate(good):
                file.write(line)
                if number % BAD_EVERY == BAD_EVERY // 2:
                    file.writelines(chosen)


def bad_lines(text: str) -> dict[str, bytes]:
    """Return one bad line of every kind."""
    whole = as_line(Document(-1, text[:SHORTEST]))
    return {
        "bad_json": whole[: len(whole) // 2] + b"\n",
        "missing_field": b'{"id": -1, "title": "no text"}\n',
        "null_field": b'{"id": -1, "text": null}\n',
        "wrong_type": b'{"id": -1, "text": 42}\n',
        "bad_utf8": b'{"id": -1, "text": "a caf\xe9 in Latin-1"}\n',
        "lone_surrogate": b'{"id": -1, "text": "half a \\ud83d pair"}\n',
        "empty_text": b'{"id": -1, "text": ""}\n',
        "too_long": as_line(Document(-1, text[:DIRTY_LIMIT_BYTES] * 2)),
    }


def read_text(path: str) -> str:
    """Return the text; a document needs some."""
    text = Path(path).read_text(encoding="utf-8")
    if len(text) < LONGEST:
        sys.exit(f"{path}: expected at least {LONGEST} characters, got {len(text)}")
    return text


def documents(text: str, longest: int) -> Iterator[Document]:
    """Yield documents of random length forever; the text starts again when it is used up."""
    chance = random.Random(SEED)  # noqa: S311  test data, not a secret
    number = begin = 0
    while True:
        length = chance.randint(SHORTEST, longest)
        if begin + length > len(text):
            begin = number % SHORTEST  # other cuts than in the round before
        yield Document(number, text[begin : begin + length])
        begin += length
        number += 1


def as_line(document: Document) -> bytes:
    """Return a line of JSON; every third one writes other letters than ASCII as escapes."""
    row = {"id": document.number, "text": document.text, "meta": {"source": "text"}}
    return json.dumps(row, ensure_ascii=document.number % 3 == 0).encode() + b"\n"


def write_jsonl(path: Path, stream: Iterator[Document], size: float) -> None:
    """Write documents until the file has `size` bytes."""
    written = 0
    with path.open("wb") as file:
        while written < size:
            written += file.write(as_line(next(stream)))


def first_lines(path: Path, size: float) -> list[bytes]:
    """Return the lines of about the first `size` bytes; at least one."""
    with path.open("rb") as file:
        return file.readlines(max(1, int(size)))


def cut(lines: list[bytes], pieces: int) -> list[list[bytes]]:
    """Return the lines in `pieces` runs of about equal length; [a, b, c], 2 -> [[a], [b, c]]."""
    bounds = [len(lines) * number // pieces for number in range(pieces + 1)]
    return [lines[begin:end] for begin, end in pairwise(bounds)]


def convert(plain: Path, path: Path, kind: str) -> None:
    """Write a JSONL file as another kind of file."""
    if kind == "zst":
        to_zstd(plain, path)
    elif kind == "parquet":
        to_parquet(plain, path)
    elif plain != path:
        path.write_bytes(plain.read_bytes())


def to_zstd(plain: Path, path: Path) -> None:
    """Compress as one frame, at the usual level."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    with plain.open("rb") as source, zstd.open(path, "wb", level=3) as sink:
        while data := source.read(1 << 20):
            sink.write(data)


def to_parquet(plain: Path, path: Path) -> None:
    """Write number, text and source as columns, compressed with zstd."""
    import pyarrow as pa
    from pyarrow import parquet

    schema = pa.schema([("id", pa.int64()), ("text", pa.string()), ("source", pa.string())])
    with plain.open("rb") as file, parquet.ParquetWriter(path, schema, compression="zstd") as sink:
        while rows := [json.loads(line) for line in islice(file, ROW_GROUP)]:
            columns = [[row["id"] for row in rows], [row["text"] for row in rows]]
            sink.write_table(pa.table([*columns, ["text"] * len(rows)], schema=schema))


MAKERS = {"clean": make_clean, "dirty": make_dirty}

if __name__ == "__main__":
    main()
