"""Which files sources name, in which order, and of which kind."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.read.helpers import COMPRESS, read_all

from tokenmill import InputError, MissingDependency, OptionError, SourceNotFound
from tokenmill._read import ReadRules, deal_streams, find_inputs
from tokenmill._read.formats import by_content, by_suffix

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
    make(tmp_path, "a.jsonl", "d/x.png")
    with pytest.raises(SourceNotFound, match=r"no such file.*hint: .* holds a\.jsonl, d"):
        find_inputs([tmp_path / "b.jsonl"])
    with pytest.raises(SourceNotFound, match=r"no file matches.*holds a\.jsonl, d"):
        find_inputs([f"{tmp_path}/*.parquet"])
    with pytest.raises(SourceNotFound, match=r"1 have others.*holds x\.png"):
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
def test_kinds_by_content(suffix: str) -> None:
    compression = suffix[1:] or None
    pack = COMPRESS[suffix]
    assert by_content(pack(b' \n {"text":1}')) == ("jsonl", compression)
    assert by_content(pack(b"\xef\xbb\xbf{}")) == ("jsonl", compression)
    assert by_content(pack(b"some text {")) == ("text", compression)
    assert by_content(pack(b"ARROW1\0\0")) == ("arrow", compression)
    assert by_content(pack(b"PAR1....")) == ("parquet", compression)
    assert by_content(b"") == ("text", None)


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


def test_fsspec_is_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(MissingDependency, match=r"pip install 'tokenmill\[remote\]'"):
        find_inputs(["hf://datasets/a/b.jsonl"])


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_stdin(suffix: str) -> None:
    code = (
        "from tests.read.helpers import read_all; from tokenmill._read import *;"
        "files = find_inputs(['-']).files; (stream,) = deal_streams(files, ReadRules());"
        "print(stream.resumable, read_all(['-'], ReadRules(block_bytes=100)).texts)"
    )
    data = COMPRESS[suffix](b'{"text":"a"}\n' * 3)
    done = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True, check=True)  # noqa: S603
    assert done.stdout == b"False [b'a', b'a', b'a']\n"


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
