"""`tokenmill bench latency|throughput|pack|peers|targets|gpu`, as a shell sees them."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tokenmill import Tokenizer, __version__
from tokenmill._bench import launch, peer_rounds, rounds
from tokenmill._bench.scenarios import cases_of
from tokenmill._bench.throughput import thread_steps
from tokenmill._cli import main

FAST = ("--repeat", "2", "--seconds", "0.1", "--threads", "1")


def bench(*arguments: str | Path) -> int:
    return main(["bench", *map(str, arguments)])


def result(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def test_latency_has_a_row_for_each_scenario_and_size(
    small_json: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = "sentence,Chinese,growing-chat,decode streams"
    options = ("--scenarios", wanted, "--sizes", "1KB,20kb", *FAST, "--json", tmp_path / "a.json")
    assert bench("latency", "-t", small_json, *options, "--html", tmp_path / "a.html") == 0
    shown = capsys.readouterr()
    facts = result(tmp_path / "a.json")
    names = [row["name"] for row in facts["rows"]]
    assert names == ["sentence", "Chinese 1 KB", "Chinese 20 KB", "growing chat", "decode streams"]
    for row in facts["rows"]:
        assert len(row["samples"]) == 2
        assert row["ids"]
        for sample in row["samples"]:
            steps = [sample[name] for name in ("p50", "p90", "p95", "p99", "slowest")]
            assert steps == sorted(steps)
            assert min(sample["cpu_seconds"], sample["low"]) > 0
            assert sample["peak_mib"] > 10
    assert {"machine", "versions", "tokenizer", "method", "threads"} <= set(facts)
    assert "Chinese 20 KB" in shown.out
    assert max(map(len, shown.out.splitlines())) <= 100
    assert shown.err == ""
    assert "<svg" in (tmp_path / "a.html").read_text(encoding="utf-8")


def test_tokens_and_bytes_are_those_of_one_call(small_json: Path, tmp_path: Path) -> None:
    options = ("--scenarios", "sentence,batch,decode streams", *FAST, "--json", tmp_path / "a.json")
    assert bench("latency", "-t", small_json, *options) == 0
    sentence, batch, streams = result(tmp_path / "a.json")["rows"]
    texts = cases_of(["sentence"], ())[0][0].texts
    counts = Tokenizer.load(small_json).count_batch(texts)
    assert sentence["tokens"] == pytest.approx(counts.sum() / len(texts))
    assert sentence["texts"] == 1
    assert batch["texts"] == 64
    assert streams["texts"] == streams["tokens"] == 1024


def test_a_slow_build_is_called_worse_and_the_status_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a slowdown so large that no machine hides it."""
    options = ("--scenarios", "sentence", "--repeat", "4", "--seconds", "0.1", "--threads", "1")
    old = tmp_path / "old.json"
    assert bench("latency", *options, "--json", old) == 0
    capsys.readouterr()
    monkeypatch.setenv("TOKENMILL_BENCH_SLOWDOWN", "20")
    new = tmp_path / "new.json"
    assert bench("latency", *options, "--compare", old, "--json", new) == 1
    shown = capsys.readouterr().out
    assert re.search(r"sentence +\+[\d.]+ % \(.*\)  worse", shown)
    assert re.search(r"all rows +\+[\d.]+ % \(.*\)  worse", shown)
    assert result(new)["comparison"]["overall"]["verdict"] == "worse"


def test_another_installation_is_measured_in_turn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--scenarios", "sentence", *FAST, "--json", tmp_path / "a.json")
    bench("latency", *options, "--baseline", sys.executable)
    assert f"compared with tokenmill {__version__}, " in capsys.readouterr().out
    assert len(result(tmp_path / "a.json")["rows"]) == 1


def test_throughput_has_cold_and_warm_rows_by_threads(
    small_json: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--texts", "code", "--size", "50KB", "--thread-counts", "1,2", *FAST)
    assert bench("throughput", "-t", small_json, *options, "--json", tmp_path / "a.json") == 0
    facts = result(tmp_path / "a.json")
    assert [row["name"] for row in facts["rows"]] == [
        "code, 1 thread, cold", "code, 1 thread, warm", "code, 2 threads, cold",
        "code, 2 threads, warm",
    ]  # fmt: skip
    assert len({row["ids"] for row in facts["rows"]}) == 1
    assert facts["rows"][0]["labels"]["scaling"] == 1.0
    assert all(row["samples"][0]["calls"] == 1 for row in facts["rows"][::2])
    assert "scaling" in capsys.readouterr().out


def test_thread_counts_double_up_to_the_most() -> None:
    assert [thread_steps(n) for n in (1, 2, 6, 8)] == [(1,), (1, 2), (1, 2, 4, 6), (1, 2, 4, 8)]


def test_peers_are_compared_before_any_time_is_shown(
    small_json: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--size", "20KB", *FAST, "--json", tmp_path / "a.json")
    assert (
        bench("peers", "-t", small_json, "--only", "tokenmill,tokenizers,tiktoken", *options) == 0
    )
    facts = result(tmp_path / "a.json")
    assert [row["name"] for row in facts["rows"]] == [
        "tokenmill, cold", "tokenmill, warm", "tokenizers, cold", "tokenizers, warm",
    ]  # fmt: skip
    assert len({row["ids"] for row in facts["rows"]}) == 1
    value, low, high = facts["rows"][3]["labels"]["ratio"]
    assert low <= value <= high
    shown = capsys.readouterr().out
    assert "tiktoken not measured: needs a .tiktoken file" in shown
    assert f"all return the same ids ({facts['rows'][0]['ids']})" in shown


@pytest.fixture
def lying(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `tokenizers` give another first id."""
    run = launch.run_process

    def lie(body: dict[str, Any], threads: int, *, where: str) -> dict[str, Any]:
        report: dict[str, Any] = run(body, threads, where=where)
        if where == "tokenizers":
            path = Path(body["answer"]).with_suffix(".ids")
            path.write_bytes(b"\1\0\0\0" + path.read_bytes()[4:])
        return report

    monkeypatch.setattr(peer_rounds, "run_process", lie)


LIARS = ("--only", "tokenmill,tokenizers", "--size", "3KB", *FAST)


@pytest.mark.usefixtures("lying")
def test_a_reference_with_other_ids_stops_the_command(
    small_json: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench("peers", "-t", small_json, *LIARS) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "document 0: tokenmill and tokenizers give different ids" in shown.err


@pytest.mark.usefixtures("lying")
def test_any_other_peer_with_other_ids_is_left_out_and_named(
    small_json: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(peer_rounds, "REFERENCES", frozenset())
    assert bench("peers", "-t", small_json, *LIARS) == 0
    shown = capsys.readouterr().out
    assert "tokenizers not measured: document 0: tokenmill and tokenizers give different" in shown
    assert not re.search("^tokenizers, ", shown, re.MULTILINE)


def test_a_peer_that_is_not_installed_is_named(
    small_json: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(peer_rounds, "find_spec", lambda _name: None)
    options = ("--only", "tokenmill,gigatoken", "--size", "3KB", *FAST)
    assert bench("peers", "-t", small_json, *options) == 0
    assert "gigatoken not measured: is not installed (pip install gigatoken)" in (
        capsys.readouterr().out
    )


def test_pack_reports_the_job_and_its_stages(
    small_json: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text(
        "".join(json.dumps({"text": f"hello {n} world " * 9}) + "\n" for n in range(50))
    )
    options = ("--context-length", "32", "--repeat", "2", "--threads", "1", "--folder", tmp_path)
    assert bench("pack", path, "-t", small_json, *options, "--json", tmp_path / "a.json") == 0
    facts = result(tmp_path / "a.json")
    job, *stages = facts["rows"]
    assert (job["name"], job["texts"], job["size_bytes"]) == ("whole job", 50, path.stat().st_size)
    assert job["samples"][0]["cpu_seconds"] > 0
    assert {"read", "parse", "merge"} <= {row["name"] for row in stages}
    assert all(row["is_part"] and len(row["samples"]) == 2 for row in stages)
    assert list(tmp_path.glob("tokenmill-bench-*")) == []
    assert "whole job" in capsys.readouterr().out


def test_what_pack_refuses_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text('{"text": "hello"}\n')
    assert bench("pack", path, "--pack-options=--seed x", "--repeat", "1") == 1
    assert "tokenmill pack: " in capsys.readouterr().err


def test_targets_are_met_or_missed_and_the_status_says_so(
    small_json: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "limits.toml"
    path.write_text('[mine]\ntokens_per_second = 1\nmemory_mb = 100_000\ntables = "tiny"\n')
    options = ("-t", small_json, "--repeat", "2", "--seconds", "0.1")
    assert bench("targets", *options, "--limits", path, "--json", tmp_path / "a.json") == 0
    shown = capsys.readouterr().out
    assert len(re.findall(r"^mine .* met$", shown, re.MULTILINE)) == 2
    path.write_text("[mine]\nmemory_mb = 1\n")
    assert bench("targets", *options, "--limits", path, "--json", tmp_path / "a.json",
                 "--html", tmp_path / "a.html") == 1  # fmt: skip
    assert re.search(r"^mine .* below 1 MB +missed$", capsys.readouterr().out, re.MULTILINE)
    (check,) = result(tmp_path / "a.json")["targets"]
    assert (check["metric"], check["is_met"], check["limit"]) == ("memory_mb", False, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no limits"),
        ("edge = 3\n", "expected a table of limits, got edge = 3"),
        ("[edge]\nspeed = 3\n", "unknown limit 'edge.speed'; hint: one of tokens_per_second"),
        ("[edge]\nmemory_mb = -3\n", "edge.memory_mb: expected a number above 0, got -3"),
        ("[edge]\nmemory_mb = true\n", "expected a number above 0, got True"),
        ('[edge]\ntables = "huge"\n', "expected one of 'usual', 'small', 'tiny', got 'huge'"),
        ("[edge\n", "limits.toml"),
    ],
)
def test_a_wrong_file_of_limits_is_refused_before_measuring(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    path = tmp_path / "limits.toml"
    path.write_text(text)
    assert bench("targets", "--limits", path) in (1, 2)
    assert message in capsys.readouterr().err


def test_an_unknown_profile_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("targets", "--profile", "desk") == 2
    assert "expected one of training, inference, realtime, edge, got 'desk'" in (
        capsys.readouterr().err
    )


@pytest.mark.skipif(find_spec("cupy") is not None, reason="CuPy is installed")
def test_gpu_without_a_device_says_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("gpu") == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "the package cupy is not installed" in shown.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("latency", "--scenarios", "poem"), "expected any of sentence, chat turn"),
        (("latency", "--sizes", "1TB"), "expected a size such as 10KB or 5MB, got '1TB'"),
        (("latency", "--seconds", "-1"), "expected a number of seconds above 0, got '-1'"),
        (("peers", "--only", "magic"), "expected any of tokenmill, gigatoken"),
        (("gpu", "--device", "x"), "expected the number of a device, got 'x'"),
    ],
)
def test_a_wrong_option_of_a_kind_is_refused(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        bench(*arguments)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_files_that_cannot_be_used_are_refused_before_measuring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(rounds, "run_rounds", lambda *_: pytest.fail("measured"))
    (tmp_path / "bad.json").write_text('{"format": 99}')
    (tmp_path / "text.json").write_text("hello")
    for option, value, message in (
        ("--json", tmp_path / "no" / "a.json", "its folder does not exist"),
        ("--html", tmp_path / "no" / "a.html", "its folder does not exist"),
        ("--compare", tmp_path / "none.json", "cannot be read: No such file"),
        ("--compare", tmp_path / "bad.json", "its format is 99, expected 1"),
        ("--compare", tmp_path / "text.json", "is not a result of this command"),
        ("--baseline", tmp_path / "python", "--baseline: no such program"),
    ):
        assert bench("latency", option, value) in (1, 2)
        assert message in capsys.readouterr().err


def test_ctrl_c_ends_at_once_and_leaves_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tokenmill", "bench", "latency", "--seconds", "60"]
    environment = {"TMPDIR": str(tmp_path), "PATH": "", "HOME": str(tmp_path)}
    process = subprocess.Popen(  # noqa: S603 -- our own command
        command, env=environment, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("tokenmill-bench-*")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, printed = process.communicate(timeout=60)
    assert process.returncode == 130
    assert printed == ""
    assert list(tmp_path.glob("tokenmill-bench-*")) == []


@pytest.mark.parametrize("kind", ["latency", "throughput", "pack", "gpu", "peers", "targets"])
def test_the_reference_lists_every_option_of_a_kind(
    kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        bench(kind, "--help")
    options = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", capsys.readouterr().out))
    page = Path(__file__).resolve().parents[2] / "docs/reference/cli.md"
    section = page.read_text(encoding="utf-8").split("## `tokenmill bench [WHAT]")[1]
    section = section.split("\n## `tokenmill serve")[0]
    missing = [name for name in sorted(options - {"-h", "--help"}) if f"`{name}" not in section]
    assert missing == []
