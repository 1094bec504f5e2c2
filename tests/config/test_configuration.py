"""tokenmill.toml: what it may hold, who reads it, what wins over it; it changes no byte."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.slow_cut import TEXTS, write_jsonl

from tokenmill import LoadError, OptionError, Tokenizer, pack
from tokenmill._calls import threads
from tokenmill._calls.threads import available
from tokenmill._cli import main, serve
from tokenmill._cli._parser import CommandParser
from tokenmill._config import VARIABLE, Configuration, configured, read_configuration
from tokenmill._mill.plan.memory import affordable_workers
from tokenmill._mill.plan.task import prepare_task

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EVERYTHING = """
threads = 3
tables = "small"
block_bytes = 131072
device = "cpu"

[serve]
workers = 2
"""


@pytest.fixture
def use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Write a configuration and let this process use it; each one has a name of its own."""
    for name in ("TOKENMILL_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(threads, "allowed_cpus", lambda: set(range(8)))
    monkeypatch.setattr(threads, "_quota", lambda: None)

    def write(text: str) -> Path:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.toml"
        path.write_text(text)
        monkeypatch.setenv(VARIABLE, str(path))
        return path

    return write


def test_every_key_is_read(use: Callable[[str], Path]) -> None:
    wanted = Configuration(3, "small", 131072, "cpu", 2)
    assert read_configuration(use(EVERYTHING)) == wanted
    assert configured() == wanted


def test_an_empty_file_sets_nothing(use: Callable[[str], Path]) -> None:
    assert read_configuration(use("")) == Configuration()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("thread = 2", "unknown key 'thread'; hint: did you mean threads?"),
        ("[serve]\nworker = 2", "unknown key 'serve.worker'; hint: did you mean serve.workers?"),
        ("context_length = 2", "unknown key 'context_length'; hint: one of threads, tables"),
        ("threads = 0", "threads: expected a whole number from 1 to 4096, got 0"),
        ("threads = true", "threads: expected a whole number"),
        ('tables = "huge"', "tables: expected one of 'usual', 'small', 'tiny', got 'huge'"),
        ("block_bytes = 1000", "block_bytes: expected a whole number from 65536"),
        ("device = 1", "device: expected a device such as"),
        ("serve = 2", "unknown key 'serve'"),
        ("[serve]", "unknown key 'serve'"),
    ],
)
def test_what_is_wrong_is_named(use: Callable[[str], Path], text: str, problem: str) -> None:
    path = use(text)
    with pytest.raises(OptionError) as caught:
        read_configuration(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert problem in str(caught.value)


def test_files_that_are_missing_or_broken(use: Callable[[str], Path], tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="cannot be read: No such file"):
        read_configuration(tmp_path / "none.toml")
    with pytest.raises(LoadError, match="Invalid value"):
        read_configuration(use("threads = "))


def test_threads_are_an_upper_limit_and_the_variable_wins(
    use: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    use("threads = 3")
    assert available() == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert available() == 3
    monkeypatch.setenv("TOKENMILL_THREADS", "5")
    assert available() == 5
    monkeypatch.delenv("TOKENMILL_THREADS")
    use("threads = 99")
    assert available() == 8
    use("")
    assert available() == 2


def test_load_takes_tables_from_the_file_unless_they_are_given(
    use: Callable[[str], Path],
) -> None:
    use('tables = "tiny"')
    assert Tokenizer.load().ready.tables == "tiny"
    assert Tokenizer.load(tables="usual").ready.tables == "usual"
    assert Tokenizer.load().encode("the same ids").tolist() == (
        Tokenizer.load(tables="usual").encode("the same ids").tolist()
    )


def test_pack_takes_blocks_threads_and_device_from_the_file(
    use: Callable[[str], Path], tmp_path: Path
) -> None:
    write_jsonl(tmp_path / "a.jsonl", TEXTS)
    use(EVERYTHING)
    task = prepare_task(tmp_path / "a.jsonl", context_length=16)
    assert task.plan.rules.block_bytes == 131072
    assert affordable_workers(None, None, task.tokenizer) == 3
    assert affordable_workers(4, None, task.tokenizer) == 4
    use('device = "abacus"')
    with pytest.raises(OptionError, match="abacus"):
        pack(tmp_path / "a.jsonl", output=tmp_path / "out", context_length=16)
    pack(tmp_path / "a.jsonl", output=tmp_path / "out", context_length=16, device="cpu")


def test_larger_blocks_leave_room_for_fewer_workers() -> None:
    tokenizer = Tokenizer.load()
    usual = affordable_workers(64, "2GB", tokenizer)
    assert affordable_workers(64, "2GB", tokenizer, 32 << 20) < usual
    assert affordable_workers(64, "2GB", tokenizer, 1 << 20) > usual


def test_no_configuration_changes_a_byte(use: Callable[[str], Path], tmp_path: Path) -> None:
    write_jsonl(tmp_path / "a.jsonl", [f"{n} {text}" for n in range(60) for text in TEXTS])
    outputs = []
    for number, text in enumerate(["", EVERYTHING, 'threads = 1\ntables = "tiny"']):
        use(text)
        folder = tmp_path / f"out{number}"
        pack(tmp_path / "a.jsonl", output=folder, context_length=64)
        outputs.append({file.name: file.read_bytes() for file in folder.rglob("*.bin")})
    assert outputs[0] == outputs[1] == outputs[2]
    assert outputs[0]


def test_the_option_wins_over_the_variable(
    use: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_jsonl(tmp_path / "a.jsonl", TEXTS)
    wrong, right = use("thread = 1"), use("")
    monkeypatch.setenv(VARIABLE, str(wrong))
    command = ["pack", str(tmp_path / "a.jsonl"), "-o", str(tmp_path / "out"), "--json"]
    command += ["--context-length", "16"]
    assert main(command) == 2
    assert "did you mean threads?" in capsys.readouterr().err
    assert main([*command, "--config", str(right)]) == 0
    assert json.loads(capsys.readouterr().out)["shards"] == 1
    assert main([*command, "--config", str(tmp_path / "none")]) == 2


def test_serve_takes_workers_and_tables_from_the_file(use: Callable[[str], Path]) -> None:
    def chosen(*arguments: str) -> Any:
        parser = CommandParser()
        serve.register(parser.add_subparsers())
        return serve._serve_options(parser.parse_args(["serve", *arguments]))

    use(EVERYTHING)
    assert (chosen().workers, chosen().service["tables"]) == (2, "small")
    assert chosen("--workers", "5").workers == 5
    assert "tables" not in chosen("--profile", "edge").service
    use("")
    assert (chosen().workers, chosen().profile) == (1, "inference")
