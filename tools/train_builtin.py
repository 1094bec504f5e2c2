#!/usr/bin/env python3
"""Trains the tokenizer that ships in the package: freely licensed text -> builtin.json.xz.

    python tools/train_builtin.py tools/builtin_sources.json ROOT

ROOT holds one folder per source, named as in the list (for Debian packages: `dpkg-deb -x FILE
ROOT/PACKAGE`). The same text gives the same tokenizer, byte for byte. Two minutes and 1.5 GB of
memory for 141 MB of text on one core (AMD EPYC, 2026-11-15). Needs `tokenizers`, which the package
does not.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import html
import json
import lzma
import re
import struct
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

REPOSITORY = Path(__file__).resolve().parent.parent
VOCAB_SIZE = 32_000
SPECIAL_TOKENS = ("<|endoftext|>", "<|pad|>", "<|im_start|>", "<|im_end|>")
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
# Longer tokens are lines of dashes and repeated boilerplate; they help no other text.
MAX_TOKEN_BYTES = 24
DOCUMENT_BYTES = 1 << 16


@dataclass(frozen=True)
class Source:
    """One row of the source list: where text comes from and how much of it is taken."""

    name: str
    group: str
    files: tuple[str, ...]
    form: str
    megabytes: float
    repeat: int  # how often the text counts
    version: str
    licence: str


@dataclass(frozen=True)
class Taken:
    """What was actually read from a source."""

    source: Source
    size_bytes: int
    sha256: str


def main() -> None:
    """Read the sources, train, write the tokenizer and the page that documents it."""
    arguments = parse_arguments()
    sources = [as_source(row) for row in json.loads(arguments.sources.read_text())]
    documents: list[str] = []
    taken = [take(source, arguments.root, documents) for source in sources]
    tokenizer = train(documents)
    write_compressed(tokenizer, arguments.out)
    arguments.page.write_text(replace_table(arguments.page.read_text(), taken, arguments.out))
    total = sum(row.size_bytes for row in taken)
    sys.stderr.write(f"{arguments.out}: {tokenizer.get_vocab_size()} tokens from {total} bytes\n")


def parse_arguments() -> argparse.Namespace:
    """Return the command line, with the committed files as defaults."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("sources", type=Path, help="list of sources with weights (JSON)")
    parser.add_argument("root", type=Path, help="folder with one folder per source")
    parser.add_argument(
        "--out", type=Path, default=REPOSITORY / "src/tokenmill/data/builtin.json.xz"
    )
    parser.add_argument("--page", type=Path, default=REPOSITORY / "docs/concepts/builtin.md")
    return parser.parse_args()


def as_source(row: dict[str, Any]) -> Source:
    """Turn one JSON object of the list into a Source."""
    return Source(**{**row, "files": tuple(row["files"])})


def take(source: Source, root: Path, documents: list[str]) -> Taken:
    """Append up to `source.megabytes` of text to `documents`.

    Files are visited in the order of the hash of their path: a sample of the whole package, the
    same on every machine, instead of its first chapters.
    """
    budget = int(source.megabytes * 1e6)
    digest = hashlib.sha256()
    size = 0
    for text in texts(source, root / source.name):
        data = text.encode()[: budget - size].decode(errors="ignore")
        for begin in range(0, len(data), DOCUMENT_BYTES):
            documents.extend([data[begin : begin + DOCUMENT_BYTES]] * source.repeat)
        digest.update(data.encode())
        size += len(data.encode())
        if size >= budget - 4:
            break
    if size == 0:
        sys.exit(f"{root / source.name}: no text matches {source.files}; hint: unpack the package")
    sys.stderr.write(f"{source.name:28} {source.group:10} {size / 1e6:6.2f} MB\n")
    return Taken(source, size, digest.hexdigest())


def texts(source: Source, folder: Path) -> Iterator[str]:
    """Yield the text of every matching file, without markup."""
    paths = {path for pattern in source.files for path in folder.glob(pattern) if path.is_file()}
    real = {path for path in paths if not path.is_symlink()}
    for path in sorted(real, key=lambda path: path_key(path.relative_to(folder))):
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        text = EXTRACT[source.form](data)
        if text:
            yield text


def path_key(path: Path) -> str:
    """Return a stable shuffle key."""
    return hashlib.sha256(path.as_posix().encode()).hexdigest()


def plain(data: bytes) -> str:
    """Return the text unchanged; skip a file unless it is UTF-8 except for a few bytes."""
    text = data.decode(errors="ignore")
    return text if len(text.encode()) >= 0.99 * len(data) else ""


def from_html(data: bytes) -> str:
    """Return the text between the tags."""
    text = plain(data)
    text = re.sub(r"(?is)<(script|style|head|nav)\b.*?</\1>|<!--.*?-->", " ", text)
    text = html.unescape(re.sub(r"(?s)<[^>]{1,2000}>", "", text))
    return re.sub(r"\n\s*\n+", "\n\n", text).strip()


def from_man(data: bytes) -> str:
    """Return a manual page without macros, fonts and escapes."""
    lines = (line for line in plain(data).splitlines() if not line.startswith(('.\\"', "'\\")))
    text = "\n".join(re.sub(r"^\.[A-Za-z]{1,3}\s?", "", line) for line in lines)
    return re.sub(r"\\f(\(..|\[.*?\]|.)|\\&", "", text).replace("\\-", "-")


def from_mo(data: bytes) -> str:
    """Return the translations of a compiled gettext catalogue, one per line."""
    order = "<" if data[:4] == b"\xde\x12\x04\x95" else ">"
    count, _, table = struct.unpack_from(f"{order}3I", data, 8)
    lines = []
    for index in range(1, count):
        length, begin = struct.unpack_from(f"{order}2I", data, table + 8 * index)
        lines.append(plain(data[begin : begin + length]).replace("\0", "\n"))
    return "\n".join(lines)


EXTRACT: dict[str, Callable[[bytes], str]] = {
    "plain": plain,
    "html": from_html,
    "man": from_man,
    "mo": from_mo,
}


def train(documents: Iterable[str]) -> Tokenizer:
    """Train byte-level BPE; special tokens come last.

    Last, because then the first 256 ids are the bytes, id 256 + k is merge k, and ids and ranks are
    the same number; a different set of special tokens changes no other id.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB_SIZE - len(SPECIAL_TOKENS),
        min_frequency=2,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        max_token_length=MAX_TOKEN_BYTES,
        show_progress=False,
    )
    tokenizer.train_from_iterator(documents, trainer)
    tokenizer.add_special_tokens(list(SPECIAL_TOKENS))
    if tokenizer.get_vocab_size() != VOCAB_SIZE:
        sys.exit(f"expected {VOCAB_SIZE} tokens, got {tokenizer.get_vocab_size()}; hint: more text")
    return tokenizer


def write_compressed(tokenizer: Tokenizer, path: Path) -> None:
    """Write an ordinary tokenizer.json, compressed with xz."""
    data = tokenizer.to_str(pretty=False).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))


def replace_table(page: str, taken: list[Taken], out: Path) -> str:
    """Return the page with a new table between its two markers."""
    begin, end = "<!-- begin sources -->\n", "<!-- end sources -->"
    head, _, rest = page.partition(begin)
    _, _, tail = rest.partition(end)
    if not tail:
        sys.exit(f"the page must hold the markers {begin.strip()} and {end}; hint: restore it")
    lines = [
        "| source | version | text | MB | times | licence | sha256 of the text taken |",
        "|---|---|---|---|---|---|---|",
        *(table_row(row) for row in taken),
        "",
        f"In all {sum(row.size_bytes for row in taken) / 1e6:.1f} MB. "
        f"Result: `{out.name}`, {out.stat().st_size} bytes, sha256 "
        f"`{hashlib.sha256(out.read_bytes()).hexdigest()}`.",
        "",
    ]
    return head + begin + "\n".join(lines) + end + tail


def table_row(row: Taken) -> str:
    """Return one line of the table of sources."""
    source = row.source
    cells = (
        source.name,
        source.version,
        source.group,
        f"{row.size_bytes / 1e6:.2f}",
        str(source.repeat),
        source.licence,
        f"`{row.sha256[:16]}`",
    )
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    main()
