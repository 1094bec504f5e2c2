"""Everything that `pack` may find in its output when it is called again."""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
from typing import TYPE_CHECKING, Any

import pytest
from tests.mill.children import Order, run_child
from tests.mill.corpus import LONGEST, Corpus
from tests.mill.outputs import digests, unfinished_names

from tokenmill._errors import OptionError, OutputError, OutputInUse, PlanDiffers
from tokenmill._files import UNFINISHED
from tokenmill._mill import pack as pack_module
from tokenmill._mill.output.work import Work
from tokenmill._mill.pack import pack
from tokenmill._mill.run import feed, run, shards

if TYPE_CHECKING:
    from pathlib import Path

    from tokenmill import Tokenizer

pytestmark = pytest.mark.usefixtures("_small")

OPTIONS: dict[str, Any] = {
    "context_length": 128,
    "shard_tokens": 4000,
    "max_document_bytes": LONGEST,
    "workers": 2,
    "format": "bin,npy",
}


class Stop(Exception):  # noqa: N818
    """What a test stops a run with."""


@pytest.fixture
def mill(dirty: Corpus, tokenizer: Tokenizer) -> Any:
    def call(output: Path, **options: Any) -> Any:
        chosen = {**OPTIONS, **options}
        return pack(dirty.paths, output=output, tokenizer=tokenizer, **chosen)

    return call


@pytest.fixture
def expected(mill: Any, tmp_path: Path) -> dict[str, str]:
    mill(tmp_path / "alone")
    return digests(tmp_path / "alone")


def stop_at(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, call: int) -> None:
    """Stop a run when a function is called for the n-th time."""
    function, calls = getattr(owner, name), [0]
    lock = threading.Lock()

    def stopping(*arguments: Any, **named: Any) -> Any:
        with lock:
            calls[0] += 1
            if calls[0] >= call:
                raise Stop
        return function(*arguments, **named)

    monkeypatch.setattr(owner, name, stopping)


def interrupted(monkeypatch: pytest.MonkeyPatch, mill: Any, output: Path, *place: Any) -> None:
    with monkeypatch.context() as patch:
        stop_at(patch, *place)
        with pytest.raises(Stop):
            mill(output)


@pytest.mark.parametrize(
    "place",
    [
        (feed.Feed, "_write", 9),  # in the middle of tokenizing
        (shards.Sharding, "plan", 3),  # in the middle of packing
        (shards, "write_index", 2),  # shards named, index and record not
        (shards, "keep_record", 4),  # a shard and its index without their record
        (run, "write_documents", 1),
        (Work, "write_manifest", 1),  # everything but the manifest
        (Work, "finish", 1),  # the manifest is written, the work folder not removed
    ],
    ids=lambda place: place[1],
)
def test_stopped_anywhere_and_resumed(
    place: Any,
    mill: Any,
    expected: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    interrupted(monkeypatch, mill, tmp_path / "out", *place)
    assert not unfinished_names(tmp_path / "out")
    mill(tmp_path / "out")
    assert digests(tmp_path / "out") == expected
    assert not (tmp_path / "out" / "_work").exists()


@pytest.mark.parametrize("overlap", [0, 17])
def test_ids_in_memory_are_made_again_unless_shards_have_them(
    overlap: int, mill: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first run keeps ids in memory and loses them; a shard that is gone is made again."""
    options = {"overlap": overlap, "format": "bin"}
    mill(tmp_path / "alone", **options)
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(pack_module, "kept_room", lambda *_: 1 << 30)
        stop_at(patch, Work, "write_manifest", 1)  # everything but the manifest
        with pytest.raises(Stop):
            mill(out, **options)
    parts = [json.loads(path.read_text()) for path in (out / "_work" / "parts").glob("*.json")]
    assert parts
    assert not any(part["sections"]["ids"][1] for part in parts)
    (out / "bin" / "shard-00001.bin").unlink()
    with pytest.raises(OutputError, match=r"kept ids in its memory.* run the command once"):
        mill(out, rank=0, ranks=1, **options)  # ranks read parts of others
    took: list[int] = []
    take = feed.Feed.take

    def noted(self: feed.Feed, memory: Any) -> Any:
        took.append(self.stream)
        return take(self, memory)

    monkeypatch.setattr(feed.Feed, "take", noted)
    mill(out, **options)
    assert digests(out) == digests(tmp_path / "alone")
    assert 0 < len(set(took)) < len({part["stream"] for part in parts})


def test_parts_and_shards_are_not_made_twice(
    mill: Any,
    expected: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    interrupted(monkeypatch, mill, tmp_path / "out", Work, "write_manifest", 1)
    made = []
    make = shards.Sharding.make

    def noted(self: Any, number: int, meter: Any) -> Any:
        made.append(number)
        return make(self, number, meter)

    monkeypatch.setattr(shards.Sharding, "make", noted)
    monkeypatch.setattr(feed.Feed, "take", lambda _: pytest.fail("nothing is left to read"))
    (tmp_path / "out" / "bin" / "shard-00001.bin").unlink()
    mill(tmp_path / "out")
    assert made == [1]
    assert digests(tmp_path / "out") == expected


@pytest.mark.parametrize("damage", ["truncate", "remove", "record"])
def test_damaged_work_is_made_again(
    damage: str,
    mill: Any,
    expected: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "out"
    interrupted(monkeypatch, mill, out, Work, "write_manifest", 1)
    parts = sorted((out / "_work" / "parts").glob("*.tokens"))
    for path in (
        parts[1],
        parts[-1],
        out / "bin" / "shard-00002.bin",
        out / "index" / "shard-00003.rows",
    ):
        if damage == "truncate":
            os.truncate(path, path.stat().st_size // 2)
        elif damage == "remove":
            path.unlink()
        elif path.suffix == ".tokens":
            path.with_suffix(".json").unlink()
    mill(out)
    assert digests(out) == expected


@pytest.mark.parametrize("damage", ["truncate", "remove"])
def test_damaged_order_is_made_again(
    damage: str,
    mill: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mill(tmp_path / "alone", shuffle="docs")
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        stop_at(patch, shards, "write_index", 3)
        with pytest.raises(Stop):
            mill(out, shuffle="docs")
    bucket = sorted((out / "_work" / "order").glob("*.run"))[1]
    os.truncate(bucket, 40) if damage == "truncate" else bucket.unlink()
    mill(out, shuffle="docs")
    assert digests(out) == digests(tmp_path / "alone")


def test_unfinished_files_are_swept_and_others_stay(
    mill: Any,
    expected: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "out"
    interrupted(monkeypatch, mill, out, shards, "write_index", 2)
    for name in ("bin/shard-00000.bin", "_work/parts/00000000-000000.tokens", "manifest.json"):
        (out / (name + UNFINISHED)).write_bytes(b"half")
    other = "inner/bin/shard-00000.bin" + UNFINISHED  # a run in a folder of this one
    own = {other: b"not ours", "my/data.part": b"mine", "my/notes.txt": b"and this"}
    for name, body in own.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_bytes(body)
    mill(out)
    found = digests(out)
    assert {name: found.pop(name) for name in own}
    assert found == expected


def test_finished_output_is_left_alone(
    mill: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = mill(tmp_path / "out")
    monkeypatch.setattr(run.Run, "execute", lambda _: pytest.fail("it was finished"))
    times = {p: p.stat().st_mtime_ns for p in (tmp_path / "out").rglob("*") if p.name != ".lock"}
    again = mill(tmp_path / "out", workers=7, max_bad=0)
    assert again.data == first.data
    assert {p: p.stat().st_mtime_ns for p in times} == times


@pytest.mark.parametrize("finished", [True, False])
def test_another_command_is_refused_with_the_differences(  # noqa: PLR0917
    finished: bool,
    mill: Any,
    dirty: Corpus,
    tokenizer: Tokenizer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "out"
    if finished:
        mill(out)
    else:
        interrupted(monkeypatch, mill, out, Work, "write_manifest", 1)
    before = digests(out)
    with pytest.raises(
        PlanDiffers, match=r"options\.context_length: 128 in the output, 64 now"
    ) as caught:
        mill(out, context_length=64, seed=3)
    assert caught.value.differences == (
        "options.context_length: 128 in the output, 64 now",
        "options.seed: 0 in the output, 3 now",
    )
    with pytest.raises(PlanDiffers) as caught:
        pack(dirty.paths[0], output=out, tokenizer=tokenizer, **OPTIONS)
    gone = tuple(f"inputs: {path} is missing now" for path in sorted(map(str, dirty.paths[1:])))
    assert caught.value.differences[: len(gone)] == gone
    assert digests(out) == before


def test_force_starts_over_and_keeps_what_is_not_ours(
    mill: Any,
    expected: dict[str, str],
    tmp_path: Path,
) -> None:
    out = tmp_path / "out"
    mill(out, context_length=64, format="bin,parquet,megatron", validation=0.5)
    (out / "mine").mkdir()
    (out / "mine" / "thesis.txt").write_text("years of work")
    mill(out, force=True)
    assert (out / "mine" / "thesis.txt").read_text() == "years of work"
    shutil.rmtree(out / "mine")
    assert digests(out) == expected


def test_force_killed_at_every_step_leaves_nothing_that_misleads(
    dirty: Corpus, small_json: Path, tmp_path: Path
) -> None:
    """Another command must not use what a killed `force` leaves."""
    inputs, out = dirty.paths[1:4], tmp_path / "out"
    common = {"tokenizer": str(small_json), "shard_tokens": 4000, "workers": 1}
    old = {**common, "output": str(out), "context_length": 64, "shuffle": "docs"}
    new = {**common, "output": str(out), "context_length": 32, "eos": False}
    run_child(Order(inputs, {**new, "output": str(tmp_path / "alone")}))
    expected = digests(tmp_path / "alone")
    steps = run_child(Order(inputs, old)).steps
    # Killed while packing, while removing the work, and finished; then at each removal.
    for die_at, step in ((steps - 30, 12), (steps - 9, 5), (None, 2), (None, 12)):
        shutil.rmtree(out)
        assert run_child(Order(inputs, old, die_at)).code == (-signal.SIGKILL if die_at else 0)
        run_child(Order(inputs, {**old, "force": True}, die_at=step))
        outcome = run_child(Order(inputs, new))
        if outcome.error is not None:
            assert isinstance(outcome.error, PlanDiffers)
            assert run_child(Order(inputs, {**new, "force": True})).error is None
        assert digests(out) == expected


def test_two_runs_at_once(mill: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    refused = []

    start = run.Run.start

    def second(first: run.Run) -> None:
        start(first)
        with pytest.raises(OutputInUse, match="another run is writing here") as caught:
            mill(out, force=True)
        refused.append(str(caught.value))

    monkeypatch.setattr(run.Run, "start", second)
    mill(out)
    assert str(out) in refused[0]
    assert "hint: " in refused[0]


def test_output_that_is_a_file(mill: Any, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(OptionError, match="out: expected a folder"):
        mill(tmp_path / "out")


def test_output_inside_of_the_input_folder(tokenizer: Tokenizer, tmp_path: Path) -> None:
    """Files that a run writes are not inputs when the same call is repeated."""
    (tmp_path / "a.jsonl").write_text('{"text": "hello world"}\n{"text": 1}\n' * 100)
    first = pack(tmp_path, output=tmp_path / "packed", tokenizer=tokenizer, context_length=32)
    again = pack(tmp_path, output=tmp_path / "packed", tokenizer=tokenizer, context_length=32)
    assert again.data == first.data
    assert len(first.data["plan"]["inputs"]) == 1


def test_names_that_are_not_utf8(tokenizer: Tokenizer, tmp_path: Path) -> None:
    name = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.jsonl")
    with open(name, "w") as file:  # noqa: PTH123 -- as it is
        file.write('{"text": "hello world"}\n{"text": 1}\n' * 100)
    options: dict[str, Any] = {
        "tokenizer": tokenizer,
        "context_length": 32,
        "format": "datatrove,bin",
    }
    manifest = pack(name, output=tmp_path / "out", **options)
    again = pack(name, output=tmp_path / "out", **options)
    assert again.data == manifest.data
    line = json.loads((tmp_path / "out" / "quarantine.jsonl").read_bytes().splitlines()[0])
    assert line["file"] == name
