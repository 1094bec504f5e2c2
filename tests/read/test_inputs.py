"""Which files sources name, in which order, and of which kind."""

from __future__ import annotations

import io
import json
import random
import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from tests.read.helpers import COMPRESS, read_all

from tokenmill import InputError, MissingDependency, OptionError, SourceNotFound
from tokenmill._read import ReadRules, deal_streams, find_field, find_inputs
from tokenmill._read.formats import by_suffix

if TYPE_CHECKING:
    from pathlib import Path


def make(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b'{"text":"a"}\n')


def names(folder: Path, *sources: object) -> list[str]:
    return [file.path.removeprefix(f"{folder}/") for file in find_inputs(sources).files]


def test_folders_globs_and_files(tmp_path: Path) -> None:
    make(tmp_path, "b/2.jsonl", "b/10.jsonl.gz", "b/c/1.txt", "b/.hidden.jsonl", "b/_work/x.jsonl")
    make(tmp_path, "b/picture.png", "a.jsonl", "Z.jsonl")
    found = find_inputs([tmp_path / "b", f"{tmp_path}/*.jsonl"])
    assert found.left_out == 1
    assert [(file.source, file.path.removeprefix(f"{tmp_path}/")) for file in found.files] == [
        (0, "b/10.jsonl.gz"), (0, "b/2.jsonl"), (0, "b/c/1.txt"), (1, "Z.jsonl"), (1, "a.jsonl"),
    ]  # fmt: skip
    assert names(tmp_path, f"{tmp_path}/**/*.txt") == ["b/c/1.txt"]
    assert names(tmp_path, tmp_path / "b/picture.png") == ["b/picture.png"]
    file = find_inputs([tmp_path / "a.jsonl"]).files[0]
    status = (tmp_path / "a.jsonl").stat()
    assert (file.size, file.modified_ns) == (status.st_size, status.st_mtime_ns)


def test_a_name_with_signs_of_a_glob_is_a_name_first(tmp_path: Path) -> None:
    make(tmp_path, "a[1].jsonl", "a1.jsonl")
    assert names(tmp_path, f"{tmp_path}/a[1].jsonl") == ["a[1].jsonl"]


def test_what_is_wrong_with_sources(tmp_path: Path) -> None:
    make(tmp_path, ".hidden", "a.jsonl", "d/x.png")
    with pytest.raises(SourceNotFound, match=r"no such file.*hint: .* has a\.jsonl, d"):
        find_inputs([tmp_path / "b.jsonl"])
    with pytest.raises(SourceNotFound, match=r"no file matches.*has a\.jsonl, d"):
        find_inputs([f"{tmp_path}/*.parquet"])
    with pytest.raises(SourceNotFound, match=r"1 have others.*has x\.png"):
        find_inputs([tmp_path / "d"])
    with pytest.raises(OptionError, match="given twice, by source 0 and source 1"):
        find_inputs([tmp_path / "a.jsonl", f"{tmp_path}/d/../a.jsonl"])
    with pytest.raises(OptionError, match="at least one input"):
        find_inputs([])
    with pytest.raises(OptionError, match=r"expected a path.*got int"):
        find_inputs([5])


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.jsonl", ("jsonl", None)), ("a.JSONL.GZ", ("jsonl", "gz")), ("a.txt.xz", ("text", "xz")),
        ("a.csv.bz2", ("csv", "bz2")), ("a.tsv", ("tsv", None)), ("a.parquet", ("parquet", None)),
        ("a.arrow", ("arrow", None)), ("a.zst", (None, "zst")), ("a.lz4", (None, "lz4")),
        ("a.dat", None), ("jsonl", None),
    ],
)  # fmt: skip
def test_kinds_by_name(name: str, kind: object) -> None:
    assert by_suffix(f"folder.gz/{name}") == kind


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize(
    ("content", "format_name"),
    [
        (b' \n {"text":1}', "jsonl"), (b"\xef\xbb\xbf{}", "jsonl"), (b"some text {", "text"),
        (b"ARROW1\0\0", "arrow"), (b"\xff\xff\xff\xff\x10", "arrow"), (b"PAR1....", "parquet"),
        (b"", "text"),
    ],
)  # fmt: skip
def test_kinds_by_content(suffix: str, content: bytes, format_name: str, tmp_path: Path) -> None:
    for name in ("nameless", f"named{suffix}"):
        (tmp_path / name).write_bytes(COMPRESS[suffix](content))
        (file,) = find_inputs([tmp_path / name]).files
        assert (file.format, file.compression) == (format_name, suffix[1:] or None)


def lines_that_do_not_shrink() -> bytes:
    """Return JSONL whose compressed blocks, of bz2 nearly a megabyte, exceed the first bytes."""
    digits = random.Random(0).randbytes(400_000).hex()  # noqa: S311
    lines = [{"body": digits[begin : begin + 200_000]} for begin in range(0, 800_000, 200_000)]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


@pytest.mark.parametrize("suffix", COMPRESS)
def test_kinds_by_content_behind_large_blocks(suffix: str, tmp_path: Path) -> None:
    (tmp_path / "nameless").write_bytes(COMPRESS[suffix](lines_that_do_not_shrink()))
    found = read_all([tmp_path / "nameless"], ReadRules())
    assert [len(text) for text in found.texts] == [200_000] * 4


def test_an_unreadable_file_without_a_name_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deny(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    make(tmp_path, "nameless")
    monkeypatch.setattr("tokenmill._read.sources.open", deny, raising=False)
    with pytest.raises(InputError, match="cannot be read: Permission denied"):
        find_inputs([tmp_path / "nameless"])
    (kept,) = find_inputs([f"{tmp_path}/*"], keep_unreadable=True).files
    assert kept.format == "text"


def test_a_dataset_on_disk(tmp_path: Path) -> None:
    make(tmp_path, "set/data-1.arrow", "set/data-0.arrow", "set/old.arrow", "set/dataset_info.json")
    state = {"_data_files": [{"filename": "data-0.arrow"}, {"filename": "data-1.arrow"}]}
    (tmp_path / "set/state.json").write_text(json.dumps(state))
    assert names(tmp_path, tmp_path / "set") == ["set/data-0.arrow", "set/data-1.arrow"]
    (tmp_path / "set/state.json").write_text(json.dumps({**state, "_indices_files": [{}]}))
    with pytest.raises(InputError, match="flatten_indices"):
        find_inputs([tmp_path / "set"])
    (tmp_path / "dataset_dict.json").write_text('{"splits": ["set"]}')
    with pytest.raises(SourceNotFound, match=r"several splits.*name one: .*/set"):
        find_inputs([tmp_path])


def test_urls(tmp_path: Path) -> None:
    make(tmp_path, "a.jsonl", "b.jsonl.png", "d/c.jsonl", "d/_x.jsonl")
    url = f"file://{tmp_path}"
    assert read_all([f"{url}/a.jsonl"], ReadRules()).texts == [b"a"]
    assert names(tmp_path, url) == [f"{url}/a.jsonl", f"{url}/d/c.jsonl"]
    assert find_inputs([url]).left_out == 2
    assert len(names(tmp_path, f"{url}/**/*.jsonl")) >= 2
    with pytest.raises(SourceNotFound, match="nothing to read there"):
        find_inputs([f"{url}/nothing.jsonl"])
    with pytest.raises(InputError, match="Protocol not known: nowhere"):
        find_inputs(["nowhere://a.jsonl"])


def test_what_a_library_behind_a_url_raises_is_an_input_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class LineBroke(Exception):  # noqa: N818 -- libraries do not only raise OSError
        pass

    def fail(*_: object, **__: object) -> None:
        raise LineBroke("line broke")

    make(tmp_path, "a.jsonl")
    files = find_inputs([f"file://{tmp_path}/a.jsonl"]).files
    monkeypatch.setattr("fsspec.implementations.local.LocalFileSystem._open", fail)
    with pytest.raises(InputError, match=r"a\.jsonl: cannot be read: LineBroke: line broke"):
        find_field(files, ReadRules())
    monkeypatch.setattr("fsspec.implementations.local.LocalFileSystem.isdir", fail)
    with pytest.raises(InputError, match="LineBroke"):
        find_inputs([f"file://{tmp_path}"])


def test_the_first_file_that_can_tell_names_the_field(tmp_path: Path) -> None:
    (tmp_path / "0.jsonl").write_bytes(b"")
    (tmp_path / "1.jsonl").write_bytes(b'{bad\n[1]\n{"body": null, "n": 1}\n')
    (tmp_path / "2.jsonl").write_bytes(b'{"body": "a"}\n')
    (tmp_path / "3.jsonl").write_bytes(b'{"a": "1", "b": "2"}\n')
    files = find_inputs([tmp_path]).files
    assert find_field(files, ReadRules()) == "body"
    with pytest.raises(OptionError, match=r"3\.jsonl: cannot detect .* a, b hold strings"):
        find_field([*files[:2], files[3], files[2]], ReadRules())
    with pytest.raises(OptionError, match=r"0\.jsonl: cannot detect .* no record was found"):
        find_field(files[:2], ReadRules())


def test_what_is_no_jsonl_names_no_field(tmp_path: Path) -> None:
    (tmp_path / "array.json").write_text('[\n{"text": "a"},\n{"text": "b"}\n]')
    with pytest.raises(InputError, match="got an array; hint: convert it to lines"):
        find_field(find_inputs([tmp_path / "array.json"]).files, ReadRules())
    (tmp_path / "dirty.json").write_text('[1]\n{"text": "a"}\n')
    assert find_field(find_inputs([tmp_path / "dirty.json"]).files, ReadRules()) == "text"
    (tmp_path / "wide.json").write_bytes('{"text": "a"}\n'.encode("utf-16"))
    with pytest.raises(OptionError, match="no record was found"):
        find_field(find_inputs([tmp_path / "wide.json"]).files, ReadRules())


def test_fsspec_is_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(MissingDependency, match=r"pip install 'tokenmill\[remote\]'"):
        find_inputs(["hf://datasets/a/b.jsonl"])


def read_from_a_pipe(data: bytes) -> subprocess.CompletedProcess[bytes]:
    code = (
        "from tests.read.helpers import read_all; from tokenmill._read import *;"
        "files = find_inputs(['-']).files; (stream,) = deal_streams(files, ReadRules());"
        "print(stream.resumable, read_all(['-'], ReadRules(block_bytes=100)).texts)"
    )
    return subprocess.run([sys.executable, "-c", code], input=data, capture_output=True)  # noqa: S603, PLW1510


@pytest.mark.parametrize("suffix", COMPRESS)
def test_stdin(suffix: str) -> None:
    done = read_from_a_pipe(COMPRESS[suffix](b'{"text":"a"}\n' * 3))
    assert done.stdout == b"False [b'a', b'a', b'a']\n"


@pytest.mark.parametrize("suffix", COMPRESS)
def test_stdin_of_long_lines(suffix: str) -> None:
    lines = lines_that_do_not_shrink()
    texts = [json.loads(line)["body"].encode() for line in lines.splitlines()]
    done = read_from_a_pipe(COMPRESS[suffix](lines))
    assert done.stdout == f"False {texts}\n".encode()


def test_stdin_of_tables() -> None:
    table = pa.table({"text": ["a", "b"]})
    for new in (pa.ipc.new_file, pa.ipc.new_stream):
        sink = pa.BufferOutputStream()
        with new(sink, table.schema) as writer:
            writer.write_table(table)
        assert read_from_a_pipe(sink.getvalue().to_pybytes()).stdout == b"False [b'a', b'b']\n"
    assert b"a Parquet file cannot be read from a pipe" in read_from_a_pipe(b"PAR1....").stderr


def test_stdin_is_alone_and_its_stream_not_resumable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    make(tmp_path, "a.jsonl", "b.jsonl")
    stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"plain text")))
    monkeypatch.setattr(sys, "stdin", stdin)
    files = find_inputs([tmp_path / "a.jsonl", "-", tmp_path / "b.jsonl"]).files
    streams = deal_streams(files, ReadRules())
    assert [stream.resumable for stream in streams] == [True, False, True]
    assert read_all(["-"], ReadRules()).texts == [b"plain text"]
