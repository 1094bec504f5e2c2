"""`pack` reads inputs from a store: the same bytes as from files, and errors instead of others."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from tests.mill.conftest import _small, tokenizer
from tests.mill.outputs import digests
from tests.store.corpora import every_format, fill, shrink_ranges
from tests.store.fault_proxy import INTERNAL_ERROR, Fault
from tests.store.web_server import WebServer

from tokenmill import InputError, PlanDiffers, SourceNotFound, StoreError, pack
from tokenmill import _store as store
from tokenmill._read import find_inputs
from tokenmill._read.sources import open_source
from tokenmill._read.store_listing import as_pattern

if TYPE_CHECKING:
    from pathlib import Path

    from tests.store.fault_proxy import FaultProxy

    from tokenmill import Tokenizer
    from tokenmill._store import Address

__all__ = ["_small", "tokenizer"]

OPTIONS: dict[str, Any] = {
    "context_length": 64, "eos": 266, "format": "bin", "workers": 2, "shard_tokens": 3000,
    "max_bad": "100%", "max_document_bytes": 900, "text_mode": "line",
}  # fmt: skip


@dataclass(frozen=True)
class Mill:
    """Input files, and runs of `pack` into folders next to them."""

    files: list[Path]
    folder: Path
    tokenizer: Tokenizer

    def pack(self, inputs: Any, name: str, **options: Any) -> Path:
        output = self.folder / name
        pack(inputs, output=output, tokenizer=self.tokenizer, **{**OPTIONS, **options})
        return output

    def local(self, files: list[Path] | None = None, **options: Any) -> Path:
        return self.pack([str(file) for file in files or self.files], "local", **options)


@pytest.fixture
def mill(tmp_path: Path, tokenizer: Tokenizer) -> Mill:
    folder = tmp_path / "inputs"
    folder.mkdir()
    return Mill(every_format(folder), tmp_path, tokenizer)


@pytest.fixture
def ranges(_small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    shrink_ranges(monkeypatch.setattr)


def shards_of(output: Path) -> dict[str, str]:
    """Return the hashes of all shards: the manifest and the tables name the inputs."""
    return digests(output / "bin")


def documents_of(output: Path) -> Any:
    return json.loads((output / "manifest.json").read_bytes())["documents"]


@pytest.mark.usefixtures("ranges")
@pytest.mark.parametrize("options", [{}, {"shuffle": "docs", "validation": 0.2}])
def test_every_format_is_packed_as_from_files(mill: Mill, bucket: Address, options: Any) -> None:
    addresses = fill(bucket, "data", mill.files)
    local, remote = mill.local(**options), mill.pack(addresses, "remote", **options)
    assert shards_of(remote) == shards_of(local)
    assert documents_of(remote) == documents_of(local)


def test_usual_sizes_give_the_same_bytes(mill: Mill, bucket: Address) -> None:
    addresses = fill(bucket, "data", mill.files)
    local = mill.local()
    assert shards_of(mill.pack(addresses, "remote")) == shards_of(local)


def test_globs_and_folders_find_what_they_find_in_files(mill: Mill, bucket: Address) -> None:
    fill(bucket, "data", mill.files)
    fill(bucket, "data/deeper/_hidden", mill.files[:1])
    fill(bucket, "data/deeper/more", mill.files[:2])
    store.put(bucket / "data" / "notes.xyz", b"x")
    names = sorted(file.name for file in mill.files)

    def found(source: str) -> list[str]:
        listed = find_inputs([f"{bucket}/{source}"]).files
        return [file.path.removeprefix(f"{bucket}/data/") for file in listed]

    assert sorted(found("data/*.jsonl*")) == [name for name in names if ".jsonl" in name]
    assert found("d*/[m-n].*") == ["m.arrow", "n.csv"]
    deeper = sorted(f"deeper/more/{file.name}" for file in mill.files[:2])
    assert sorted(found("data/**/more/*")) == deeper
    assert sorted(found("data")) == sorted([*names, *deeper])
    assert find_inputs([f"{bucket}/data"]).left_out == 1
    for nothing in ("other", "data/*.abc", "data/nothing.jsonl"):
        with pytest.raises(SourceNotFound, match="nothing to read there"):
            found(nothing)


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("a/*.txt", ["a/b.txt"], ["a/b/c.txt", "a/.b.txt", "b/a.txt"]),
        ("a/**/c.txt", ["a/c.txt", "a/b/c.txt", "a/b/b/c.txt"], ["a/.b/c.txt", "c.txt"]),
        ("a/**", ["a/b", "a/b/c"], ["a", "b/a"]),
        ("?[0-9][!a]", ["x1b"], ["x1a", "xyb", "x1/"]),
        ("a+(b)*", ["a+(b)", "a+(b)c"], ["aab"]),
    ],
)
def test_a_pattern_matches_as_in_a_shell(
    pattern: str, matching: list[str], others: list[str]
) -> None:
    expression = as_pattern(pattern)
    assert all(expression.fullmatch(key) for key in matching)
    assert not any(expression.fullmatch(key) for key in others)


@pytest.mark.usefixtures("ranges")
@pytest.mark.parametrize(
    "fault",
    [
        Fault("status", status=500, body=INTERNAL_ERROR, times=4, after=5, method="GET"),
        Fault("status", times=4, after=5, method="GET"),
        Fault("reset", times=4, after=5, method="GET"),
        Fault("short", times=4, after=5, method="GET"),
    ],
    ids=lambda fault: f"{fault.kind}-{fault.status}",
)
def test_faults_change_no_byte(
    mill: Mill, bucket: Address, proxy: FaultProxy,
    fault: Fault,
) -> None:  # fmt: skip
    addresses = fill(bucket, "data", mill.files)
    local = mill.local()
    before = store.request_counts()
    proxy.faults.append(fault)
    assert shards_of(mill.pack(addresses, "remote")) == shards_of(local)
    assert store.request_counts().since(before).repeated["get"] == 4


@pytest.mark.usefixtures("ranges")
def test_a_slow_store_changes_no_byte(mill: Mill, bucket: Address, proxy: FaultProxy) -> None:
    jsonl = [file for file in mill.files if file.suffix == ".jsonl"][1:3]
    addresses = fill(bucket, "data", jsonl)
    local = mill.local(jsonl)
    proxy.delay = 0.2
    assert shards_of(mill.pack(addresses, "remote")) == shards_of(local)


@pytest.mark.usefixtures("ranges")
def test_a_store_that_breaks_down_ends_the_run_and_the_next_one_resumes(
    mill: Mill, bucket: Address, proxy: FaultProxy,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    addresses = fill(bucket, "data", mill.files)
    local = mill.local()
    monkeypatch.setenv("TOKENMILL_STORE_ATTEMPTS", "2")
    proxy.faults.append(Fault("status", times=10**6, after=25, method="GET"))
    with pytest.raises(StoreError, match="failed 2 times"):
        mill.pack(addresses, "remote")
    assert not (mill.folder / "remote" / "manifest.json").exists()
    proxy.faults.clear()
    assert shards_of(mill.pack(addresses, "remote")) == shards_of(local)


@pytest.mark.usefixtures("ranges")
@pytest.mark.parametrize("suffix", [".jsonl", ".parquet", ".zst"])
def test_an_object_that_changes_during_the_run_is_an_error(
    mill: Mill, bucket: Address, proxy: FaultProxy,
    suffix: str,
) -> None:  # fmt: skip
    file = next(file for file in mill.files if file.suffix == suffix)
    (address,) = fill(bucket, "data", [file])
    # The tag of another version, as if it had been replaced between two ranges.
    proxy.faults.append(Fault("etag", times=10**6, after=1, method="GET", part=file.name))
    with pytest.raises(InputError, match="changed since the run was planned"):
        mill.pack(address, "out")
    assert not (mill.folder / "out" / "manifest.json").exists()


@pytest.mark.usefixtures("ranges")
def test_an_object_that_changed_between_runs_is_another_plan(
    mill: Mill, bucket: Address, proxy: FaultProxy,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    file = mill.files[0]
    (address,) = fill(bucket, "data", [file])
    monkeypatch.setenv("TOKENMILL_STORE_ATTEMPTS", "1")
    proxy.faults.append(Fault("status", times=10**6, after=14, method="GET"))
    with pytest.raises(StoreError):
        mill.pack(address, "out")
    proxy.faults.clear()
    content = bytearray(file.read_bytes())
    content[-3:-2] = b" "
    store.put(store.parse_address(address), bytes(content))  # as long as before
    with pytest.raises(PlanDiffers, match="tag"):
        mill.pack(address, "out")


def test_a_store_that_is_down_is_never_a_bad_file(
    mill: Mill, bucket: Address, proxy: FaultProxy,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    parquet = [file for file in mill.files if file.suffix == ".parquet"]
    addresses = fill(bucket, "data", parquet)
    monkeypatch.setenv("TOKENMILL_STORE_ATTEMPTS", "1")
    proxy.faults.append(Fault("status", times=10**6, after=1, method="GET"))
    with pytest.raises(StoreError):
        mill.pack(addresses, "out")


@pytest.mark.usefixtures("ranges")
def test_an_object_is_read_about_once(mill: Mill, bucket: Address) -> None:
    jsonl = [file for file in mill.files if file.suffix in (".jsonl", ".zst")]
    addresses = fill(bucket, "data", jsonl)
    before = store.request_counts()
    mill.pack(addresses, "out", field="text")
    made = store.request_counts().since(before)
    size = sum(file.stat().st_size for file in jsonl)
    assert size <= made.bytes_in <= 1.25 * size + 10_000
    assert made.requests["head"] == len(jsonl)


@pytest.mark.usefixtures("ranges")
@pytest.mark.parametrize("etag", ["strong", "weak", "none"])
def test_a_web_server_is_read_like_a_store(mill: Mill, etag: str) -> None:
    odd = mill.files[0].with_name("a b+c%.jsonl")
    odd.write_bytes(mill.files[1].read_bytes())
    files = [*mill.files, odd]
    with WebServer(odd.parent, etag) as web:
        urls = [f"{web.url}/{quote(file.name)}" for file in files]
        assert shards_of(mill.pack(urls, "remote")) == shards_of(mill.local(files))
        with pytest.raises(SourceNotFound, match="is the URL right"):
            mill.pack(f"{web.url}/nothing.jsonl", "other")


@pytest.mark.usefixtures("ranges")
@pytest.mark.parametrize("etag", ["strong", "weak"])
def test_a_file_that_changes_on_a_web_server_is_an_error(mill: Mill, etag: str) -> None:
    file = mill.files[0]
    with WebServer(file.parent, etag) as web:
        found = find_inputs([f"{web.url}/{file.name}"]).files[0]
        content = file.read_bytes()
        file.write_bytes(content[:-2] + b" " + content[-1:])
        with pytest.raises(InputError, match="changed since the run was planned"):
            open_source(found).read(10)


def test_a_web_server_without_ranges_is_refused_in_words(mill: Mill) -> None:
    with WebServer(mill.files[0].parent, has_ranges=False) as web:
        url = f"{web.url}/{mill.files[0].name}"
        with pytest.raises(StoreError, match=r"whole files only.*download"):
            mill.pack(url, "other")


RANK = """
import sys
from tokenmill._cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_ranks_read_the_same_objects(mill: Mill, bucket: Address, small_json: Path) -> None:
    addresses = fill(bucket, "data", mill.files)
    options = [
        "--context-length", "64", "--eos", "266", "--format", "bin", "--shard-tokens", "3000",
        "--max-bad", "100%", "--max-document-bytes", "900", "--text-mode", "line", "--quiet",
    ]  # fmt: skip
    output = mill.folder / "ranks"
    command = [sys.executable, "-c", RANK, "pack", *addresses, "-o", str(output)]
    started = [
        subprocess.Popen(  # noqa: S603
            [*command, "-t", str(small_json), *options, "--rank", str(rank), "--ranks", "2"]
        )
        for rank in range(2)
    ]
    assert [process.wait(timeout=300) for process in started] == [0, 0]
    assert shards_of(output) == shards_of(mill.local())
