"""Many ranks on one output: the same bytes as one process, whatever happens to some of them."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from tests.mill.children import Child, Order, Outcome, run_child
from tests.mill.corpus import LONGEST, Corpus
from tests.mill.outputs import digests, unfinished_names
from tests.mill.ways import WAYS

from tokenmill._cli import _parser
from tokenmill._errors import (
    BadRecordFound,
    OptionError,
    OutputInUse,
    PlanDiffers,
    RankFailed,
    TooManyBadRecords,
)
from tokenmill._mill.output.work import Work
from tokenmill._mill.pack import pack
from tokenmill._mill.ranks.file_claims import FileClaims, rank_states
from tokenmill._mill.ranks.place import read_place
from tokenmill._mill.ranks.rank_run import STREAMS
from tokenmill._mill.status import status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LEASE = 0.6
KILLED = ("concat", "bestfit", "limits")


class Ranks:
    """An output of one process, and the same by ranks."""

    def __init__(self, way: str, dirty: Corpus, small_json: Path, folder: Path) -> None:
        self.output = folder / "ranks"
        self._inputs: Any = dirty.paths
        if way == "bestfit":
            self._inputs = [
                {"paths": dirty.paths[:1], "weight": "0.7"},
                {"paths": dirty.paths[1:], "weight": "0.3", "max_tokens": 9000},
            ]
        self._options = {
            "tokenizer": str(small_json),
            "workers": 1,
            "shard_tokens": 4000,
            "max_document_bytes": LONGEST,
            **WAYS[way],
        }
        self.alone = run_child(self.order(folder / "alone"))
        assert self.alone.error is None
        self.expected = digests(folder / "alone")

    def order(self, output: Path, how: dict[str, Any] | None = None, **options: Any) -> Order:
        options = {**self._options, "output": str(output), **options}
        return Order(self._inputs, options, **(how or {}))

    def start(self, rank: int, ranks: int, **how: Any) -> Child:
        return Child(self.order(self.output, how, rank=rank, ranks=ranks, lease=LEASE))

    def check(self, outcomes: Sequence[Outcome]) -> None:
        """All have ended well, with the same bytes, and nothing else is left."""
        assert [outcome.error for outcome in outcomes] == [None] * len(outcomes)
        assert digests(self.output) == self.expected
        assert not unfinished_names(self.output)
        assert not (self.output / "_work").exists()


@pytest.mark.parametrize(("ranks", "way"), list(zip([2, 3] * 3, WAYS, strict=True)))
def test_ranks_change_no_byte(
    way: str, ranks: int, dirty: Corpus, small_json: Path, tmp_path: Path
) -> None:
    made = Ranks(way, dirty, small_json, tmp_path)
    children = [made.start(rank, ranks) for rank in range(ranks)]
    made.check([child.outcome() for child in children])


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_many_ranks_change_no_byte(
    way: str, dirty: Corpus, small_json: Path, tmp_path: Path
) -> None:
    made = Ranks(way, dirty, small_json, tmp_path)
    for ranks in (1, 2, 3, 7):
        children = [made.start(rank, ranks) for rank in range(ranks)]
        made.check([child.outcome() for child in children])
        shutil.rmtree(made.output)


def kill_some(made: Ranks, kills: int, rng: random.Random, team: int = 3) -> None:
    """Keep a team at work: kill at random steps, put a new rank in the place of each dead one."""
    done = 0
    started = 0
    while done < kills:
        children = []
        for _ in range(team):
            steps = rng.randint(1, max(2, made.alone.steps // 2))
            children.append(made.start(started % 5, 5, die_at=steps))
            started += 1
        outcomes = [child.outcome() for child in children]
        done += sum(outcome.code == -signal.SIGKILL for outcome in outcomes)
        assert all(o.error is None for o in outcomes)
        if not any(o.code == -signal.SIGKILL for o in outcomes):  # it finished
            made.check(outcomes)
            shutil.rmtree(made.output)
    made.check([child.outcome() for child in [made.start(0, 2), made.start(1, 2)]])


@pytest.mark.parametrize("way", KILLED)
def test_killed_ranks(way: str, dirty: Corpus, small_json: Path, tmp_path: Path) -> None:
    made = Ranks(way, dirty, small_json, tmp_path)
    kill_some(made, 3, random.Random(way))  # noqa: S311


@pytest.mark.slow
@pytest.mark.parametrize("way", KILLED)
def test_thirty_killed_ranks(way: str, dirty: Corpus, small_json: Path, tmp_path: Path) -> None:
    made = Ranks(way, dirty, small_json, tmp_path)
    kill_some(made, 30, random.Random(f"{way} 30"))  # noqa: S311


def test_a_rank_is_added_while_others_die(dirty: Corpus, small_json: Path, tmp_path: Path) -> None:
    made = Ranks("bestfit", dirty, small_json, tmp_path)
    dying = made.start(0, 2, die_at=made.alone.steps // 3)
    added = made.start(7, 9)
    assert dying.outcome().code in (-signal.SIGKILL, 0)  # 0: the other one was much faster
    last = made.start(1, 2)
    made.check([added.outcome(), last.outcome()])


def test_a_rank_that_was_stopped_comes_back_late(
    dirty: Corpus, small_json: Path, tmp_path: Path
) -> None:
    """It is taken for dead and its work is done again; then it continues, and harms nothing."""
    made = Ranks("concat", dirty, small_json, tmp_path)
    for share in (0.3, 0.8):
        steps = max(2, int(made.alone.steps * share))
        late = made.start(0, 2, die_at=steps, signal=signal.SIGSTOP)
        _wait_until_stopped(late.pid)
        other = made.start(1, 2)
        made.check([other.outcome()])
        os.kill(late.pid, signal.SIGCONT)
        made.check([late.outcome()])
        shutil.rmtree(made.output)


def _wait_until_stopped(pid: int) -> None:
    stat = Path(f"/proc/{pid}/stat")
    _wait_until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T")


def test_claims_of_a_dead_rank_are_taken_over(
    dirty: Corpus, small_json: Path, tmp_path: Path
) -> None:
    made = Ranks("concat", dirty, small_json, tmp_path)
    killed = made.start(0, 1, die_at=made.alone.steps // 2)
    assert killed.outcome().code == -signal.SIGKILL
    picture = FileClaims(Work(made.output).ranks).look(STREAMS, 100)
    assert picture.done or picture.open
    (state,) = rank_states(Work(made.output).ranks)
    assert (state["rank"], state["ranks"]) == (0, 1)
    assert state["state"] in ("tokenize", "wait", "pack")
    assert status(made.output)["ranks"][0]["process"] == state["process"]
    made.check([made.start(0, 1).outcome()])


def test_one_process_resumes_what_ranks_began_and_the_other_way_round(
    dirty: Corpus, small_json: Path, tmp_path: Path
) -> None:
    made = Ranks("bestfit", dirty, small_json, tmp_path)
    third = made.alone.steps // 3
    assert made.start(1, 3, die_at=third).outcome().code == -signal.SIGKILL
    alone = made.order(made.output, {"die_at": third})
    assert run_child(alone).code == -signal.SIGKILL
    assert made.start(0, 1, die_at=third).outcome().code == -signal.SIGKILL
    made.check([run_child(made.order(made.output))])


def test_a_finished_output_is_left_alone(dirty: Corpus, small_json: Path, tmp_path: Path) -> None:
    made = Ranks("concat", dirty, small_json, tmp_path)
    made.check([made.start(0, 1).outcome()])
    before = (made.output / "manifest.json").stat().st_mtime_ns
    made.check([made.start(4, 5).outcome()])
    assert (made.output / "manifest.json").stat().st_mtime_ns == before


def _pack(folder: Path, inputs: Any, small_json: Path, **options: Any) -> Any:
    given: dict[str, Any] = {"context_length": 64, "workers": 1, "rank": 0, "ranks": 2}
    return pack(inputs, output=folder, tokenizer=small_json, **{**given, **options})


def test_another_plan_is_refused(dirty: Corpus, small_json: Path, tmp_path: Path) -> None:
    made = Ranks("concat", dirty, small_json, tmp_path)
    made.start(0, 1, die_at=made.alone.steps // 2).outcome()
    with pytest.raises(PlanDiffers, match=r"options\.seed"):
        _pack(made.output, dirty.paths, small_json, seed=9)


def test_an_error_of_the_data_ends_all_ranks(small_json: Path, tmp_path: Path) -> None:
    """The rank that meets it says where; the others say which rank it was, and why."""
    files = []
    for number in range(40):
        path = tmp_path / f"{number:02d}.jsonl"
        text = "hello " * 3000 if number else "short"
        path.write_text(json.dumps({"text": text}) + "\n" + ("{broken\n" if number == 0 else ""))
        files.append(str(path))
    options = {
        "context_length": 64, "workers": 1, "tokenizer": str(small_json),
        "output": str(tmp_path / "out"), "on_bad": {"bad_json": "fail"}, "ranks": 2, "lease": LEASE,
    }  # fmt: skip
    other = Child(Order(files, {**options, "rank": 1}))
    _wait_until((tmp_path / "out/_work/plan.json").exists)
    first = run_child(Order(files, {**options, "rank": 0}))
    second = other.outcome()
    errors = [type(outcome.error) for outcome in (first, second)]
    assert BadRecordFound in errors
    assert all(issubclass(error, BadRecordFound | RankFailed) for error in errors)
    told = rank_states(tmp_path / "out/_work/ranks")
    assert {state["state"] for state in told} == {"failed"}


def _wait_until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 300  # only catches a hang
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_failure_is_told_to_ranks_that_run_and_not_to_those_that_start_later(
    dirty: Corpus, small_json: Path, tmp_path: Path
) -> None:
    from tokenmill._mill.ranks.failures import Failures

    places = [read_place(rank, 2) for rank in (0, 1)]
    assert places[0] is not None
    assert places[1] is not None
    running = Failures(Work(tmp_path), places[0])
    Failures(Work(tmp_path), places[1]).report(OSError("a full disk ends one rank"))
    running.check()
    Failures(Work(tmp_path), places[1]).report(BadRecordFound("bad json", path="a.jsonl", line=7))
    with pytest.raises(RankFailed, match=r"rank 1 of 2 failed: a\.jsonl:7: bad json") as raised:
        running.check()
    assert raised.value.rank == 1
    Failures(Work(tmp_path), places[0]).check()


@pytest.mark.parametrize("budget", [3, "1%"])
def test_the_error_budget_counts_all_ranks(
    budget: int | str, dirty: Corpus, small_json: Path, tmp_path: Path
) -> None:
    with pytest.raises(TooManyBadRecords):
        _pack(tmp_path / "out", dirty.paths, small_json, max_bad=budget, max_document_bytes=LONGEST)


def test_inputs_without_documents_are_an_error(small_json: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"other": "x"}\n')
    with pytest.raises(BadRecordFound, match="field 'text'"):
        _pack(tmp_path / "out", [path], small_json, field="text")


def test_what_ranks_cannot_do(
    dirty: Corpus, small_json: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    with pytest.raises(OptionError, match="force"):
        _pack(out, dirty.paths, small_json, force=True)
    with pytest.raises(OptionError, match="stdin or an iterator"):
        _pack(out, [(text for text in ["a text"])], small_json)
    for wrong in ({"rank": 2}, {"rank": -1}, {"rank": "two"}, {"ranks": 0}, {"ranks": None}):
        with pytest.raises(OptionError, match="rank"):
            _pack(out, dirty.paths, small_json, **wrong)
    with pytest.raises(OptionError, match="lease"):
        _pack(out, dirty.paths, small_json, lease=0)
    with Work(out).locked(), pytest.raises(OutputInUse):
        _pack(out, dirty.paths, small_json)
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "1")
    with pytest.raises(OptionError, match="SLURM_PROCID"):
        _pack(out, dirty.paths, small_json, rank="auto", ranks=None)
    with pytest.raises(OptionError, match="expected a rank with it"):
        _pack(out, dirty.paths, small_json, rank=None)


def test_the_rank_of_a_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    def place(rank: int | str, ranks: int | None = None) -> tuple[int, int]:
        found = read_place(rank, ranks)
        assert found is not None
        return found.rank, found.ranks

    monkeypatch.setenv("JOB_COMPLETION_INDEX", "3")
    assert place("auto", 8) == (3, 8)
    with pytest.raises(OptionError, match="number of ranks"):
        place("auto")
    monkeypatch.setenv("SLURM_PROCID", "5")
    monkeypatch.setenv("SLURM_NTASKS", "16")
    assert place("auto") == (5, 16)
    assert place("2", 4) == (2, 4)


def test_the_command_line(small_json: Path, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "hello world"}\n' * 50)
    base = [sys.executable, "-m", "tokenmill"]
    command = [
        *base, "pack", "a.jsonl", "-o", "out", "-t", str(small_json), "--context-length", "16",
        "--rank", "auto",
    ]  # fmt: skip
    environment = {**os.environ, "SLURM_PROCID": "0", "SLURM_NTASKS": "2"}
    ran = subprocess.run(  # noqa: S603
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert re.search(r"^rank +0  of 2: read", ran.stderr, re.MULTILINE)
    wrong = subprocess.run(  # noqa: S603
        [*command[:-1], "3"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert wrong.returncode == 2
    assert "--ranks" in wrong.stderr


DEPLOY = Path(__file__).parents[2] / "deploy"


def test_the_job_of_kubernetes_has_as_many_ranks_as_pods() -> None:
    job = yaml.safe_load((DEPLOY / "kubernetes/pack-job.yaml").read_text())
    (container,) = job["spec"]["template"]["spec"]["containers"]
    options = _parser().parse_args(container["args"])
    assert (options.rank, options.ranks) == ("auto", job["spec"]["completions"])
    assert job["spec"]["completionMode"] == "Indexed"
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert options.output.startswith(mounts["data"] + "/")
    assert {volume["name"] for volume in job["spec"]["template"]["spec"]["volumes"]} == set(mounts)


def test_the_job_of_slurm_runs(small_json: Path, tmp_path: Path) -> None:
    """Two jobs of an array, without Slurm: its variables are all that the script needs."""
    (tmp_path / "corpus").mkdir()
    for number in range(4):
        (tmp_path / f"corpus/{number}.jsonl").write_text('{"text": "hello world"}\n' * 300)
    environment = {
        **os.environ, "INPUT": str(tmp_path / "corpus"), "OUTPUT": str(tmp_path / "out"),
        "TOKENIZER": str(small_json), "SLURM_CPUS_PER_TASK": "1", "SLURM_ARRAY_TASK_MIN": "3",
        "SLURM_ARRAY_TASK_MAX": "4", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }  # fmt: skip
    jobs = [
        subprocess.Popen(  # noqa: S603
            ["bash", DEPLOY / "slurm/pack.sbatch"],  # noqa: S607
            env={**environment, "SLURM_ARRAY_TASK_ID": task},
            stderr=subprocess.PIPE,
            text=True,
        )
        for task in ("3", "4")
    ]
    for number, job in enumerate(jobs):
        told = job.communicate()[1]
        assert job.returncode == 0, told
        assert re.search(rf"^rank +{number}  of 2: read", told, re.M) or "finished" in told
    assert (tmp_path / "out/manifest.json").exists()
