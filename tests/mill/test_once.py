"""Inputs that are not files: stdin, generators, rows in memory. None is mixed with another."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.mill.outputs import digests

from tokenmill._cli import main
from tokenmill._errors import PlanDiffers
from tokenmill._mill.pack import pack
from tokenmill._mill.run import feed, run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tokenmill import Tokenizer

pytestmark = pytest.mark.usefixtures("_small")

ONE = [f"one {i} " + "hello world " * (i % 20) for i in range(600)]
TWO = [f"two {i} " + "hello " * (i % 30) for i in range(500)]
OPTIONS: dict[str, Any] = {"context_length": 64, "shard_tokens": 3000, "workers": 2}


class Stop(Exception):  # noqa: N818
    """What a test stops a run with."""


def piped(texts: list[str], monkeypatch: pytest.MonkeyPatch) -> str:
    """Put lines into a pipe and make it stdin."""
    ours, theirs = os.pipe()
    body = "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()

    def fill() -> None:
        # The reader may have been stopped.
        with contextlib.suppress(BrokenPipeError), open(theirs, "wb") as file:  # noqa: PTH123
            file.write(body)

    threading.Thread(target=fill, daemon=True).start()
    stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(ours)))
    monkeypatch.setattr(sys, "stdin", stdin)
    return "-"


KINDS: dict[str, Callable[..., Any]] = {
    "stdin": piped,
    "generator": lambda texts, _: [(text for text in texts)],
    "rows": lambda texts, _: [[{"text": text} for text in texts]],
    "table": lambda texts, _: pa.table({"text": texts}),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "place", [(feed.Feed, "_write"), (run, "write_documents")], ids=["tokenize", "pack"]
)
def test_stopped_and_resumed(
    kind: str,
    place: tuple[Any, str],
    tokenizer: Tokenizer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make = KINDS[kind]
    pack(make(ONE, monkeypatch), output=tmp_path / "alone", tokenizer=tokenizer, **OPTIONS)
    calls = [0]
    function = getattr(*place)

    def stopping(*arguments: Any) -> Any:
        calls[0] += 1
        if calls[0] == (8 if place[1] == "_write" else 1):
            raise Stop
        return function(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(*place, stopping)
        with pytest.raises(Stop):
            pack(make(ONE, patch), output=tmp_path / "out", tokenizer=tokenizer, **OPTIONS)
    pack(make(ONE, monkeypatch), output=tmp_path / "out", tokenizer=tokenizer, **OPTIONS)
    assert digests(tmp_path / "out") == digests(tmp_path / "alone")


@pytest.mark.parametrize("kind", KINDS)
def test_other_rows_are_not_mixed_with_those_of_a_stopped_run(
    kind: str, tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = KINDS[kind]
    pack(make(TWO, monkeypatch), output=tmp_path / "alone", tokenizer=tokenizer, **OPTIONS)
    with monkeypatch.context() as patch:
        patch.setattr(run, "write_documents", lambda *_: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            pack(make(ONE, patch), output=tmp_path / "out", tokenizer=tokenizer, **OPTIONS)
    again: dict[str, Any] = {"output": tmp_path / "out", "tokenizer": tokenizer, **OPTIONS}
    if kind in ("rows", "table"):  # which can be told apart
        with pytest.raises(PlanDiffers, match="0> modified_ns: "):
            pack(make(TWO, monkeypatch), **again)
        again["force"] = True
    pack(make(TWO, monkeypatch), **again)
    assert digests(tmp_path / "out") == digests(tmp_path / "alone")


@pytest.mark.parametrize("kind", ["rows", "table"])
def test_other_rows_on_a_finished_output(
    kind: str, tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = KINDS[kind]
    first = pack(make(ONE, monkeypatch), output=tmp_path, tokenizer=tokenizer, **OPTIONS)
    again = pack(make(ONE, monkeypatch), output=tmp_path, tokenizer=tokenizer, **OPTIONS)
    assert first.data == again.data
    with pytest.raises(PlanDiffers):
        pack(make([*ONE[:-1], "x"], monkeypatch), output=tmp_path, tokenizer=tokenizer, **OPTIONS)


@pytest.mark.parametrize(
    ("kind", "again"), [("stdin", "starts again from the beginning"), ("file", "resumes")]
)
def test_the_command_tells_whether_it_resumes(
    kind: str,
    again: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    file = tmp_path / "one.txt"
    file.write_text(ONE[1])
    given = piped(ONE, monkeypatch) if kind == "stdin" else str(file)
    monkeypatch.setattr(run.Run, "_pack", stop)
    assert main(["pack", given, "-o", str(tmp_path / "out"), "--context-length", "64"]) == 130
    assert f"stopped; the same command {again}" in capsys.readouterr().err
