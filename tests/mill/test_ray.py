"""`pack` on a Ray cluster of several nodes: the same bytes, whatever dies."""

from __future__ import annotations

import json
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.mill import ray_hook
from tests.mill.corpus import LONGEST, Corpus
from tests.mill.outputs import digests, unfinished_names
from tests.mill.ways import WAYS

from tokenmill._errors import BadRecordFound
from tokenmill._mill.pack import pack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

ray = pytest.importorskip("ray", reason="200 MB: pip install 'tokenmill[ray]'")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("_small"),
    # Of Ray itself: sockets and processes that it leaves to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning",
                               "ignore::FutureWarning",
                               "ignore::pytest.PytestUnraisableExceptionWarning"),
]  # fmt: skip

ROOT = Path(__file__).parents[2]
# A node that is killed is noticed sooner than usual, and one that is only slow is not.
_HEALTH = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 500,
    "health_check_timeout_ms": 10_000,
    "health_check_failure_threshold": 4,
}


class SmallCluster:
    """Three nodes of one CPU each, and one without, on which the driver is."""

    def __init__(self, deaths: Path) -> None:
        from ray.cluster_utils import Cluster

        self.deaths = deaths
        self._cluster = Cluster(
            initialize_head=True,
            head_node_args={"num_cpus": 0, "include_dashboard": False, "_system_config": _HEALTH},
        )
        self._nodes = [self._cluster.add_node(num_cpus=1) for _ in range(3)]
        self._cluster.wait_for_nodes()
        ray.init(
            address=self._cluster.address,
            log_to_driver=False,
            runtime_env={
                "worker_process_setup_hook": "tests.mill.ray_hook.prepare",
                "env_vars": {"PYTHONPATH": str(ROOT), ray_hook.FOLDER: str(deaths)},
            },
        )

    @property
    def address(self) -> str:
        return str(self._cluster.address)

    def kill_node(self) -> None:
        """Kill a whole node, and add another one."""
        self._cluster.remove_node(self._nodes.pop(0), allow_graceful=False)
        self._nodes.append(self._cluster.add_node(num_cpus=1))

    def close(self) -> None:
        ray.shutdown()
        self._cluster.shutdown()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallCluster]:
    made = SmallCluster(tmp_path_factory.mktemp("deaths"))
    yield made
    made.close()


class Made:
    """An output of one process, and the same by Ray."""

    def __init__(self, way: str, dirty: Corpus, small_json: Path, folder: Path) -> None:
        self.inputs: Any = dirty.paths
        if way == "bestfit":
            self.inputs = [
                {"paths": dirty.paths[:1], "weight": "0.7"},
                {"paths": dirty.paths[1:], "weight": "0.3", "max_tokens": 9000},
            ]
        self.output = folder / "ray"
        self._options = {
            "tokenizer": small_json, "shard_tokens": 4000, "max_document_bytes": LONGEST,
            **WAYS[way],
        }  # fmt: skip
        pack(self.inputs, output=folder / "alone", workers=2, **self._options)
        self.expected = digests(folder / "alone")

    def pack(self) -> None:
        pack(self.inputs, output=self.output, engine="ray", **self._options)

    def check(self) -> None:
        # A worker of a killed node may live a little longer, and leave a file in the work folder:
        # the same command removes it.
        _wait_until(self._is_clean)
        assert digests(self.output) == self.expected
        assert not unfinished_names(self.output)

    def _is_clean(self) -> bool:
        self.pack()
        return not (self.output / "_work").exists()


def _wait_until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 300  # only catches a hang
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize("way", WAYS)
def test_three_nodes_change_no_byte(
    way: str, cluster: SmallCluster, dirty: Corpus, small_json: Path, tmp_path: Path
) -> None:
    ray_hook.order_deaths(cluster.deaths, [])
    made = Made(way, dirty, small_json, tmp_path)
    made.pack()
    made.check()


def kill_some(made: Made, cluster: SmallCluster, kills: int, rng: random.Random) -> int:
    """Pack again and again, with deaths of workers, and of a node in every other run."""
    done = 0
    while done < kills:
        ray_hook.order_deaths(cluster.deaths, [rng.randint(1, 40) for _ in range(6)])
        kills_node = done == 0 or rng.random() < 0.4
        with ThreadPoolExecutor(1) as pool:
            packing = pool.submit(made.pack)
            if kills_node:  # here, because Ray starts nodes in the main thread only
                _wait_until(partial(_has_begun, made.output, packing))
                cluster.kill_node()
            packing.result()
        done += ray_hook.count_deaths(cluster.deaths) + kills_node
        ray_hook.order_deaths(cluster.deaths, [])
        made.check()
        shutil.rmtree(made.output)
    return done


def _has_begun(output: Path, packing: Future[None]) -> bool:
    """Return whether some parts are there, or it is too late."""
    return len(list((output / "_work/parts").glob("*.json"))) > 2 or packing.done()


@pytest.mark.parametrize("way", ["concat", "bestfit", "limits"])
def test_killed_workers_and_nodes(
    way: str, cluster: SmallCluster, dirty: Corpus, small_json: Path, tmp_path: Path
) -> None:
    made = Made(way, dirty, small_json, tmp_path)
    assert kill_some(made, cluster, 3, random.Random(way)) >= 3  # noqa: S311


@pytest.mark.parametrize("way", ["concat", "bestfit"])
def test_thirty_killed_workers_and_nodes(
    way: str, cluster: SmallCluster, dirty: Corpus, small_json: Path, tmp_path: Path
) -> None:
    made = Made(way, dirty, small_json, tmp_path)
    assert kill_some(made, cluster, 30, random.Random(f"{way} 30")) >= 30  # noqa: S311


def test_an_error_of_the_data_comes_from_a_node_with_its_place(
    cluster: SmallCluster, small_json: Path, tmp_path: Path
) -> None:
    ray_hook.order_deaths(cluster.deaths, [])
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": "hello"}) + "\n{broken\n")
    with pytest.raises(BadRecordFound, match=r"a\.jsonl:2") as raised:
        pack(
            [path], output=tmp_path / "out", tokenizer=small_json, context_length=64,
            on_bad={"bad_json": "fail"}, engine="ray",
        )  # fmt: skip
    assert raised.value.line == 2


def test_an_address_where_nobody_answers(tmp_path: Path, small_json: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "hello world"}\n')
    ran = _run(tmp_path, small_json, "--address", "127.0.0.1:1")
    assert ran.returncode == 2, ran.stderr
    assert "--address" in ran.stderr


def _run(folder: Path, small_json: Path, *more: str) -> Any:
    command = [
        sys.executable, "-m", "tokenmill", "pack", "a.jsonl", "-o", "out", "-t", str(small_json),
        "--context-length", "16", "--engine", "ray", *more,
    ]  # fmt: skip
    return subprocess.run(  # noqa: S603
        command, cwd=folder, capture_output=True, text=True, check=False
    )


def test_the_command_line_on_this_machine_alone(small_json: Path, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "hello world"}\n' * 50)
    ran = _run(tmp_path, small_json, "--workers", "1", "--json", "--address", "local")
    assert ran.returncode == 0, ran.stderr
    facts = json.loads(ran.stdout)
    assert facts["documents"]["out"] == 50
    assert facts["engine"]["nodes"] == facts["engine"]["workers"] == 1
    again = _run(tmp_path, small_json)
    assert "already finished" in again.stderr


def test_ctrl_c_and_the_same_command_again(small_json: Path, tmp_path: Path) -> None:
    """It stops while workers read, leaves nothing unfinished, and resumes."""
    megabytes = 250
    base = [sys.executable, "-m", "tokenmill", "pack", "source", "-t", str(small_json)]
    base += ["--context-length", "512", "--workers", "1", "-o"]
    on_ray = [*base, "out", "--engine", "ray", "--address", "local"]
    code, told = _interrupt(on_ray, tmp_path, megabytes)
    while code == 0:  # it was faster
        megabytes *= 2
        shutil.rmtree(tmp_path / "out")
        code, told = _interrupt(on_ray, tmp_path, megabytes)
    assert code == 130, told
    assert "the same command resumes from here" in told
    assert not unfinished_names(tmp_path / "out")
    again = subprocess.run(  # noqa: S603
        on_ray, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert again.returncode == 0, again.stderr
    assert re.search(r"^resumed ", again.stderr, re.MULTILINE)
    subprocess.run([*base, "alone"], cwd=tmp_path, check=True)  # noqa: S603
    assert digests(tmp_path / "out") == digests(tmp_path / "alone")


def _interrupt(command: list[str], folder: Path, megabytes: int) -> tuple[int, str]:
    """Run a command, and press Ctrl-C as soon as a part is there."""
    text = json.dumps({"text": "hello world " * 800}) + "\n"
    (folder / "source").mkdir(exist_ok=True)
    for number in range(10):
        (folder / f"source/{number}.jsonl").write_text(text * (megabytes * 10))
    child = subprocess.Popen(  # noqa: S603
        command, cwd=folder, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    parts = folder / "out/_work/parts"
    _wait_until(lambda: any(parts.glob("*.json")) or child.poll() is not None)
    child.send_signal(signal.SIGINT)
    told = child.communicate()[1]
    return child.returncode, told
