"""Batch sizes: by available memory and the size of documents, smaller under pressure, and said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.causal.corpus import QUIET, columns_of, dataset, paragraphs

from tokenmill import CausalLMTokenizer, Tokenizer
from tokenmill._causal import split_run
from tokenmill._causal.encoders import NativeEncoder
from tokenmill._causal.log import Log
from tokenmill._causal.memory import BatchSize, writer_rows
from tokenmill._machine.memory import available_bytes
from tokenmill._platform import cgroups

if TYPE_CHECKING:
    from pathlib import Path

GIB = 1 << 30
VOICE = Log("INFO")


def size_of(given: int | None = None, available: int = 16 * GIB) -> BatchSize:
    return BatchSize(given, VOICE, lambda: available)


@pytest.mark.parametrize(
    ("bytes_each", "available", "expected"),
    [
        (3_000, 16 * GIB, 6000),
        (3_000, 2 * GIB, 6000),
        (20_000, 16 * GIB, 6000),
        (1_000_000, 16 * GIB, 134),
        (1_000_000, 1 * GIB, 67),
        (3_000, 100 << 20, 2184),
        (10**9, 16 * GIB, 1),
        (3_000, 0, 349),
    ],
)
def test_the_batch_size_follows_memory_and_documents(
    bytes_each: int, available: int, expected: int
) -> None:
    size = size_of(available=available)
    size.measure(bytes_each * 100, 100)
    assert size.documents == expected


def test_a_given_batch_size_is_kept_while_memory_lasts() -> None:
    size = size_of(10_000)
    size.measure(10**6, 100)
    size.check()
    assert size.documents == 10_000


@pytest.mark.parametrize("given", [None, 5000])
def test_little_memory_makes_batches_smaller_and_this_is_logged(
    given: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    left = [16 * GIB]
    size = BatchSize(given, VOICE, lambda: left[0])
    size.measure(4_000 * 10, 10)
    before = size.documents
    left[0] = 64 << 20
    size.check()
    assert size.documents == 1048
    said = f"batch_size reduced from {before} to 1048: little memory is left"
    assert caplog.messages == [said]


def test_a_refused_allocation_halves_batches_for_good(caplog: pytest.LogCaptureFixture) -> None:
    size = size_of()
    size.halve()
    assert size.documents == 3000
    size.measure(100, 100)
    assert size.documents == 3000  # short documents do not bring the failure back
    assert caplog.messages == ["batch_size reduced from 6000 to 3000: memory cannot be allocated"]
    for _ in range(20):
        size.halve()
    assert size.documents == 1


def test_a_refused_allocation_gives_the_same_rows_in_smaller_batches(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    texts = dataset(paragraphs())
    made = CausalLMTokenizer(context_length=32, **QUIET)
    expected = columns_of(made.tokenize(texts))
    whole = NativeEncoder.encode

    def encode(self: NativeEncoder, batch: Any) -> Any:
        if len(batch) > 10:
            raise MemoryError
        return whole(self, batch)

    monkeypatch.setattr(NativeEncoder, "encode", encode)
    assert columns_of(made.tokenize(texts)) == expected
    assert "memory cannot be allocated" in caplog.text
    monkeypatch.setattr(NativeEncoder, "encode", lambda *_: (_ for _ in ()).throw(MemoryError()))
    with pytest.raises(MemoryError):
        made.tokenize(texts)


def test_long_texts_are_cut_into_batches_by_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = dataset(["x" * 1_000_000] * 5 + ["short"] * 100 + ["y" * 3_000_000])
    sizes = []
    whole = NativeEncoder.encode

    def encode(self: NativeEncoder, batch: Any) -> Any:
        sizes.append(len(batch))
        return whole(self, batch)

    monkeypatch.setattr(NativeEncoder, "encode", encode)
    monkeypatch.setattr(split_run, "BatchSize", lambda given, log: BatchSize(given, log, lambda: 0))
    made = CausalLMTokenizer(context_length=1000, **QUIET)
    made.tokenize(texts)
    assert sum(sizes) == 106
    assert max(sizes[:5]) == 1


@pytest.mark.parametrize(
    ("kind", "length", "available", "expected"),
    [
        ("Dataset", 4096, 16 * GIB, 10_000),
        ("DatasetDict", 1024, 16 * GIB, 40_000),
        ("DatasetDict", 4096, 16 * GIB, 13_107),
        ("Dataset", 4096, 1 * GIB, 6553),
        ("Dataset", 10**7, 16 * GIB, 5),
        ("Dataset", 10**9, 16 * GIB, 1),
        ("Dataset", 4096, 0, 1),
    ],
)
def test_writer_batches_have_the_usual_rows_unless_memory_is_short(
    kind: str, length: int, available: int, expected: int
) -> None:
    assert writer_rows(kind, length, available) == expected


def test_writer_batches_are_the_record_batches_of_the_result(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(split_run, "writer_rows", lambda *_: 10)
    made = CausalLMTokenizer(context_length=32, **QUIET)
    result = made.tokenize(dataset(paragraphs()), cache_dir=tmp_path)
    *whole, last, padded = [len(chunk) for chunk in result.data.column("input_ids").chunks]
    assert set(whole) == {10}
    assert len(whole) > 5
    assert 0 < last <= 10
    assert padded == 1  # by itself, so that the labels of the others are their ids


def group(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


def test_available_memory_is_read_from_the_machine(machine: Path) -> None:
    assert available_bytes() == 8 * GIB
    (machine / "meminfo").unlink()
    assert available_bytes() == 4 * GIB  # nothing is known


def test_a_group_of_version_2_limits_it(machine: Path) -> None:
    (machine / "self").write_text("0::/a/b\n")
    stat = f"anon 5\ninactive_file {GIB}\n"
    group(machine / "cgroup" / "a" / "b", memory__max="max", memory__current=str(GIB))
    assert available_bytes() == 8 * GIB
    group(
        machine / "cgroup" / "a",
        memory__max=str(4 * GIB),
        memory__current=str(3 * GIB),
        memory__stat=stat,
    )
    assert available_bytes() == 2 * GIB  # what caches hold can be given up
    group(machine / "cgroup" / "a", memory__current=str(9 * GIB))
    assert available_bytes() == 0


def test_a_group_of_version_1_limits_it(machine: Path) -> None:
    (machine / "self").write_text("5:cpu,cpuacct:/x\n4:memory:/job\n")
    group(
        machine / "cgroup" / "memory" / "job",
        **{"memory.limit_in_bytes": str(2 * GIB), "memory.usage_in_bytes": str(GIB)},
    )
    assert available_bytes() == GIB


def test_this_machine_has_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(cgroups, "MEMBERSHIP", str(tmp_path / "none"))  # a group may well be full
    assert available_bytes() > 0
    assert Tokenizer.load().vocab_size == 32_000
