"""A run by nodes of a cluster, without Ray: the same bytes as one process, whatever nodes do."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.mill.corpus import LONGEST, Corpus
from tests.mill.fake_cluster import FakeCluster, WorkerLostError
from tests.mill.outputs import digests, unfinished_names
from tests.mill.ways import WAYS

from tokenmill._cli import _parser
from tokenmill._errors import (
    BadRecordFound,
    InputError,
    NodeFailed,
    OptionError,
    OutputError,
    TooManyBadRecords,
)
from tokenmill._mill.cluster import cluster_run
from tokenmill._mill.cluster.handout import ClusterTask, Handout, by_size
from tokenmill._mill.cluster.ray_cluster import _knock
from tokenmill._mill.output.work import Work
from tokenmill._mill.pack import pack, pack_task
from tokenmill._mill.plan.task import prepare_task
from tokenmill._mill.status import status

pytestmark = pytest.mark.usefixtures("_small")


class Packing:
    """One plan, packed by one process and by a cluster."""

    def __init__(
        self, inputs: Any, small_json: Path, folder: Path, put: Any, **options: Any
    ) -> None:
        self.inputs = inputs
        self.options = {
            "tokenizer": small_json, "workers": 1, "shard_tokens": 4000,
            "max_document_bytes": LONGEST, **options,
        }  # fmt: skip
        self.output = folder / "cluster"
        self._folder = folder
        self._put = put

    def alone(self) -> dict[str, str]:
        pack(self.inputs, output=self._folder / "alone", **self.options)
        return digests(self._folder / "alone")

    def by(self, cluster: FakeCluster, **more: Any) -> dict[str, str]:
        self._put(cluster_run, "RayCluster", lambda _: cluster)
        pack(self.inputs, output=self.output, engine="ray", **{**self.options, **more})
        assert cluster.is_closed
        assert not unfinished_names(self.output)
        assert not (self.output / "_work").exists()
        return digests(self.output)


@pytest.fixture
def packing(
    dirty: Corpus, small_json: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Packing:
    return Packing(
        dirty.paths, small_json, tmp_path, monkeypatch.setattr,
        context_length=128, overlap=17, format="bin",
    )  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_a_cluster_changes_no_byte(
    way: str, dirty: Corpus, small_json: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs: Any = dirty.paths
    if way == "bestfit":
        inputs = [
            {"paths": dirty.paths[:1], "weight": "0.7"},
            {"paths": dirty.paths[1:], "weight": "0.3", "max_tokens": 9000},
        ]
    made = Packing(inputs, small_json, tmp_path, monkeypatch.setattr, **WAYS[way])
    cluster = FakeCluster({"a": 1, "b": 2, "c": 1})
    assert made.by(cluster, workers=None) == made.alone()
    assert {node for node, _, _ in cluster.calls} == {"a", "b", "c"}


def test_a_lost_node_loses_and_doubles_nothing_and_others_may_join(packing: Packing) -> None:
    """Its tasks are done by others, while what it had begun continues and harms nothing."""
    cluster = FakeCluster({"a": 1, "b": 1})
    held, seen = threading.Event(), []

    def before(node: str, method: str, arguments: tuple[Any, ...]) -> None:
        if method == "tokenize" and node == "a":
            seen.append(arguments)
            cluster.lose("a")
            cluster.cpus["c"] = 1
            held.wait(60)  # until another node has done something of it

    def released(node: str, method: str, arguments: tuple[Any, ...]) -> None:
        before(node, method, arguments)
        if seen and node != "a" and arguments in seen:
            held.set()

    cluster.before = released
    assert packing.by(cluster) == packing.alone()
    assert held.is_set()
    assert {node for node, method, _ in cluster.calls if method == "make_shard"} >= {"c"}


def test_a_node_that_cannot_write_is_set_aside(packing: Packing) -> None:
    cluster = FakeCluster({"a": 1, "b": 1})

    def before(node: str, method: str, _: tuple[Any, ...]) -> None:
        if node == "a" and method == "tokenize":
            raise OutputError("the disk is full", path="/somewhere")

    cluster.before = before
    with pytest.warns(RuntimeWarning, match="takes no more part in this run: .*disk is full"):
        assert packing.by(cluster) == packing.alone()


def test_if_no_node_can_do_it_the_error_is_told(packing: Packing) -> None:
    cluster = FakeCluster({"a": 1, "b": 1})

    def before(_: str, method: str, __: tuple[Any, ...]) -> None:
        if method == "tokenize":
            raise InputError("cannot be read", path="a.jsonl")

    cluster.before = before
    with (
        pytest.warns(RuntimeWarning, match="takes no more part"),
        pytest.raises(InputError, match="cannot be read"),
    ):
        packing.by(cluster)
    assert cluster.is_closed


def test_a_task_that_ends_every_worker_ends_the_run(packing: Packing) -> None:
    cluster = FakeCluster(dict.fromkeys("abcdefgh", 1))

    def before(node: str, method: str, arguments: tuple[Any, ...]) -> None:
        if (method, arguments) == ("tokenize", (1,)):
            raise WorkerLostError(node)

    cluster.before = before
    with pytest.raises(NodeFailed, match="tokenize 1: 3 nodes lost their worker"):
        packing.by(cluster)


def test_a_stopped_run_resumes_on_a_cluster_and_alone(packing: Packing) -> None:
    for stop_at in (("tokenize", 2), ("make_shard", 1), ("make_shard", 3)):
        cluster = FakeCluster({"a": 1, "b": 1})
        counts: Counter[str] = Counter()

        def before(
            _: str, method: str, __: Any, at: Any = stop_at, counts: Counter[str] = counts
        ) -> None:
            counts[method] += 1
            if (method, counts[method]) == at:
                raise KeyboardInterrupt

        cluster.before = before
        with pytest.raises(KeyboardInterrupt):
            packing.by(cluster)
        assert cluster.is_closed
        assert not unfinished_names(packing.output)
        assert status(packing.output)["run"]["state"] == "stopped"
    pack(packing.inputs, output=packing.output, **packing.options)
    assert digests(packing.output) == packing.alone()


def test_an_error_of_the_data_comes_with_its_place(
    small_json: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": "hello"}) + "\n{broken\n")
    made = Packing([path], small_json, tmp_path, monkeypatch.setattr, context_length=64)
    with pytest.raises(BadRecordFound, match=r"a\.jsonl:2") as raised:
        made.by(FakeCluster({"a": 1}), on_bad={"bad_json": "fail"})
    assert raised.value.line == 2


@pytest.mark.parametrize("budget", [3, "1%"])
def test_the_error_budget_counts_all_nodes(packing: Packing, budget: int | str) -> None:
    with pytest.raises(TooManyBadRecords):
        packing.by(FakeCluster({"a": 1, "b": 1}), max_bad=budget)
    assert (packing.output / "quarantine.jsonl").stat().st_size


def test_counts_are_those_of_one_process(packing: Packing, tmp_path: Path) -> None:
    cluster = FakeCluster({"a": 2, "b": 1})
    packing._put(cluster_run, "RayCluster", lambda _: cluster)
    options = {k: v for k, v in packing.options.items() if k not in ("tokenizer", "workers")}
    made = []
    for name, more in (("alone", {"workers": 1}), ("cluster", {"engine": "ray"})):
        output = tmp_path / name
        task = prepare_task(
            packing.inputs, tokenizer=packing.options["tokenizer"], output=output, **options
        )
        made.append(pack_task(task, output=output, **more))
    alone, on_cluster = (result.meter for result in made)
    for name in ("input_bytes", "documents", "tokens", "bad", "reasons", "shards", "total_tokens"):
        assert getattr(alone, name) == getattr(on_cluster, name), name
    ray = made[1].engine
    assert ray is not None
    assert (ray.nodes, ray.threads, ray.lost) == (2, 3, 0)
    assert made[1].manifest.stats is not None


def test_a_finished_output_needs_no_cluster(packing: Packing) -> None:
    expected = packing.by(FakeCluster({"a": 1}))
    packing._put(cluster_run, "RayCluster", pytest.fail)
    pack(packing.inputs, output=packing.output, engine="ray", **packing.options)
    assert digests(packing.output) == expected


def test_a_node_with_another_version_or_another_folder_is_refused(
    packing: Packing, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tokenmill._mill.cluster import node_worker

    with monkeypatch.context() as patch:
        patch.setattr(node_worker, "__version__", "0.0.1")
        with pytest.raises(NodeFailed, match=r"as on the driver, got 0\.0\.1"):
            packing.by(FakeCluster({"a": 1}))
    cluster = FakeCluster({"a": 1})
    cluster.before = lambda *_: Work(packing.output).plan.unlink(missing_ok=True)
    with (
        pytest.warns(RuntimeWarning, match="takes no more part"),
        pytest.raises(OutputError, match="does not see the plan"),
    ):
        packing.by(cluster)


def test_what_ray_cannot_do(packing: Packing) -> None:
    def refused(match: str, inputs: Any = None, **options: Any) -> None:
        given = {"engine": "ray", **packing.options, **options}
        given.setdefault("output", packing.output)
        with pytest.raises(OptionError, match=match):
            pack(inputs or packing.inputs, **given)

    refused("engine", engine="dask")
    refused("address: expected the engine ray", engine="local", address="auto")
    refused("rank", rank=0, ranks=2)
    refused("device: nodes of Ray tokenize on their CPUs", device="cuda")
    refused("ray job submit", address="ray://head:10001")
    refused("output: expected a folder", output="s3://bucket/packed")
    refused("stdin, an iterator or a dataset", [(text for text in ["a text"])])


def test_an_address_where_nobody_listens_is_noticed_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        _knock(f"127.0.0.1:{port}")
    with pytest.raises(OSError, match="refused"):
        _knock(f"127.0.0.1:{port}")
    for name in (None, "auto", "local"):
        _knock(name)


def test_nodes_get_their_own_tasks_first_and_help_the_busiest() -> None:
    handout = Handout()
    tasks = [ClusterTask("m", (n,), home) for n, home in enumerate("aabbb")]
    handout.add([*tasks, ClusterTask("m", (9,))])
    order = [handout.take("a") for _ in range(3)]
    assert [task.arguments[0] for task in order if task is not None] == [0, 1, 9]
    assert handout.take("a") == tasks[4]
    assert handout.take("b") == tasks[2]
    handout.put_back(tasks[2])
    assert handout.take("b") == tasks[2]
    assert len(handout) == 1
    assert handout.clear() == [tasks[3]]
    assert handout.take("a") is None


def test_only_outsized_streams_leave_the_order_of_the_plan() -> None:
    sizes = [1.0, 1, 9, 1, 1, 12, 1, 2]
    assert by_size(range(8), sizes) == [5, 2, 0, 1, 3, 4, 6, 7]
    assert by_size([], sizes) == []


def test_the_job_of_ray_is_a_command_that_runs_on_it(tmp_path: Path) -> None:
    """Without Ray: what it is asked to run must be a command of ours, and need no CPU itself."""
    fake = tmp_path / "ray"
    fake.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    fake.chmod(0o755)
    job = Path(__file__).parents[2] / "deploy/ray/pack.sh"
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "OUTPUT": "/all/see"}
    ran = subprocess.run(  # noqa: S603
        ["bash", job],  # noqa: S607
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    words = ran.stdout.splitlines()
    split = words.index("--")
    assert words[:split] == ["job", "submit", "--entrypoint-num-cpus", "0"]
    assert words[split + 1 : split + 3] == ["tokenmill", "pack"]
    options = _parser().parse_args(words[split + 2 :])
    assert (options.engine, options.address) == ("ray", "auto")
    assert options.output == "/all/see"
