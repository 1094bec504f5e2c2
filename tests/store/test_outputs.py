"""Finished outputs in a store: read through the cache, with the same result as from a folder."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.mill.conftest import tokenizer
from tests.mill.outputs import digests

import tokenmill
from tokenmill import CorruptShard, OptionError, PackedDataset, SourceNotFound, _mirror
from tokenmill import _store as store
from tokenmill._mirror import here, local_output

if TYPE_CHECKING:
    import os
    from pathlib import Path
    from typing import Any

    from tests.store.fault_proxy import FaultProxy

    from tokenmill import Tokenizer
    from tokenmill._store import Address

__all__ = ["tokenizer"]

pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TOKENMILL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "outputs"


@pytest.fixture
def packed(tmp_path: Path, tokenizer: Tokenizer) -> Path:
    """An output of several shards in two formats."""
    texts = [f"hello world {number} " * (number % 40 + 1) for number in range(300)]
    (tmp_path / "a.txt").write_text("\n".join(texts), encoding="utf-8")
    options: dict[str, Any] = {"context_length": 64, "eos": 266, "format": ["bin", "mds"]}
    tokenmill.pack(
        tmp_path / "a.txt", output=tmp_path / "packed", tokenizer=tokenizer, text_mode="line",
        shard_tokens=8000, **options,
    )  # fmt: skip
    return tmp_path / "packed"


@pytest.fixture
def address(packed: Path, bucket: Address) -> Address:
    for path in packed.rglob("*"):
        if path.is_file() and path.name[0] != ".":
            store.put_file(bucket / "packed" / path.relative_to(packed).as_posix(), path)
    return bucket / "packed"


def rows_of(output: str | os.PathLike[str]) -> list[np.ndarray[Any, Any]]:
    dataset = PackedDataset(output, torch=False)
    return [row["input_ids"] for row in dataset]


def assert_equal_rows(output: Address, packed: Path) -> None:
    np.testing.assert_array_equal(rows_of(str(output)), rows_of(packed))


def test_a_dataset_reads_from_a_store_and_fetches_each_file_once(
    packed: Path, address: Address
) -> None:
    before = store.request_counts()
    assert_equal_rows(address, packed)
    first = store.request_counts()
    assert_equal_rows(address, packed)
    again = store.request_counts().since(first)
    shards = len(list((packed / "bin").iterdir()))
    assert shards > 2
    made = first.since(before)
    assert made.requests == {"get": 1 + 2 * shards, "head": 2 * shards}  # ids and index
    assert again.requests == {"get": 1}  # the manifest
    assert not list(local_output(str(address)).rglob("*.mds"))


def test_rows_come_when_they_are_asked_for(address: Address) -> None:
    dataset = PackedDataset(str(address), torch=False)
    before = store.request_counts()
    dataset[0]
    dataset[1]
    made = store.request_counts().since(before)
    assert made.requests == {"get": 2, "head": 2}


FORKED = """
import os, pickle, sys
from tokenmill import PackedDataset
dataset = PackedDataset(sys.argv[1], torch=False)
child = os.fork()
if child == 0:
    rows = [row["input_ids"].tolist() for row in dataset]
    open(sys.argv[2], "wb").write(pickle.dumps(rows))
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert pickle.loads(open(sys.argv[2], "rb").read()) == [r["input_ids"].tolist() for r in dataset]
"""


def test_a_forked_worker_reads_too(address: Address, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-c", FORKED, str(address), str(tmp_path / "rows")]
    subprocess.run(command, check=True, timeout=300)  # noqa: S603


def test_processes_fetch_a_file_once(address: Address, proxy: FaultProxy, packed: Path) -> None:
    code = (
        "import sys; from tokenmill import PackedDataset\n"
        "print(sum(row['input_ids'].sum() for row in PackedDataset(sys.argv[1], torch=False)))"
    )
    command = [sys.executable, "-c", code, str(address)]
    started = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603
        for _ in range(3)
    ]
    sums = {process.communicate(timeout=300)[0] for process in started}
    assert sums == {f"{sum(int(row.sum()) for row in rows_of(packed))}\n"}
    shards = len(list((packed / "bin").iterdir()))
    assert proxy.count("GET", "/bin/") == shards
    assert proxy.count("GET", "/index/") == shards


def test_the_cache_is_bounded(
    packed: Path, address: Address, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = [path.stat().st_size for path in (packed / "bin").iterdir()]
    folder = local_output(str(address))
    monkeypatch.setenv("TOKENMILL_STORE_CACHE_GB", str(max(sizes) * 2.5 / 1e9))
    monkeypatch.setattr(_mirror, "_GRACE_NS", 0)
    names = sorted(path.name for path in (packed / "bin").iterdir())
    for name in names:
        assert here(folder / "bin" / name).read_bytes() == (packed / "bin" / name).read_bytes()
    kept = list(cache.rglob("*.bin"))
    assert sum(path.stat().st_size for path in kept) <= max(sizes) * 2.5 < sum(sizes)
    assert folder / "bin" / names[-1] in kept
    with pytest.raises(OptionError, match="TOKENMILL_STORE_CACHE_GB"):
        PackedDataset(str(address))
    monkeypatch.setattr(_mirror, "_GRACE_NS", 10**18)
    assert tokenmill.verify(str(address)).ok  # what was removed comes again


def test_a_damaged_object_is_refused_and_not_kept(packed: Path, address: Address) -> None:
    name = sorted(path.name for path in (packed / "bin").iterdir())[0]
    content = bytearray((packed / "bin" / name).read_bytes())
    content[5] ^= 1
    store.put(address / "bin" / name, bytes(content))
    with pytest.raises(CorruptShard, match="expected xxh3-128"):
        rows_of(str(address))
    assert not list(local_output(str(address)).rglob(name))
    report = tokenmill.verify(str(address))
    assert [problem.where for problem in report.problems] == [f"bin/{name}"]


def test_verify_and_inspect_read_from_a_store(
    packed: Path, address: Address, tokenizer: Tokenizer
) -> None:
    report = tokenmill.verify(str(address))
    assert report.ok
    assert report.output == str(address)
    assert report.files == tokenmill.verify(packed).files
    store.put(address / "bin" / "stranger", b"x")
    assert tokenmill.verify(str(address)).warnings == ["bin/stranger: not part of the output"]
    assert tokenmill.inspect(str(address), row=7, tokenizer=tokenizer) == (
        tokenmill.inspect(packed, row=7, tokenizer=tokenizer)
    )
    found = tokenmill.inspect(str(address), document=3, tokenizer=tokenizer)
    assert found == tokenmill.inspect(packed, document=3, tokenizer=tokenizer)


def test_outputs_of_a_store_are_converted_and_merged(
    packed: Path, address: Address, tmp_path: Path
) -> None:
    for name, source in (("near", packed), ("far", str(address))):
        tokenmill.rewrite(source, output=tmp_path / name, format="npy", shard_tokens=5000)
    assert digests(tmp_path / "far" / "npy") == digests(tmp_path / "near" / "npy")
    manifest = tokenmill.rewrite([str(address), packed], output=tmp_path / "both", format="bin")
    assert manifest.data["made_from"] == [str(address), str(packed)]
    assert tokenmill.verify(tmp_path / "both").ok


def test_a_new_version_of_an_output_is_not_the_old_one(
    packed: Path, address: Address, tmp_path: Path, tokenizer: Tokenizer
) -> None:
    old = rows_of(str(address))
    (tmp_path / "b.txt").write_text("another text\n" * 500, encoding="utf-8")
    again = tmp_path / "again"
    tokenmill.pack(
        tmp_path / "b.txt", output=again, tokenizer=tokenizer, context_length=64, eos=266
    )
    for path in again.rglob("*"):
        if path.is_file() and path.name[0] != ".":
            store.put_file(address / path.relative_to(again).as_posix(), path)
    new = rows_of(str(address))
    np.testing.assert_array_equal(new, rows_of(again))
    assert len(new) != len(old)


def test_what_is_no_output_is_said_to_be_none(
    bucket: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    for call in (PackedDataset, tokenmill.verify, tokenmill.inspect):
        with pytest.raises(SourceNotFound, match=r"nothing: no manifest\.json here"):
            call(f"{bucket}/nothing")
    monkeypatch.setenv("TOKENMILL_CACHE", "off")
    store.put(bucket / "some" / "manifest.json", b"{}")
    with pytest.raises(OptionError, match="cache, which is off"):
        PackedDataset(f"{bucket}/some")
