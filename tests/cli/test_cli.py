"""The command line, as a shell sees it."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "hello world\nhello again\n"


def tokenmill(*arguments: str | Path, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(  # noqa: S603
        [sys.executable, "-m", "tokenmill", *map(str, arguments)],
        input=data,
        capture_output=True,
        check=False,
    )


def ids_of(output: bytes) -> list[list[int]]:
    return [[int(word) for word in line.split()] for line in output.decode().splitlines()]


def test_encode_prints_one_line_a_file(small_json: Path, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("hello world")
    (tmp_path / "b").write_text("")
    result = tokenmill("encode", "-t", small_json, tmp_path / "a", tmp_path / "b")
    assert (result.returncode, result.stderr) == (0, b"")
    assert ids_of(result.stdout) == [[259, 264], []]


def test_encode_takes_each_line_as_a_text(small_json: Path) -> None:
    result = tokenmill("encode", "-t", small_json, "--documents", "line", data=TEXT.encode())
    rows = ids_of(result.stdout)
    assert len(rows) == 2
    assert rows[0] == [259, 264]


@pytest.mark.parametrize("dtype", ["uint16", "uint32"])
def test_encode_and_decode_are_inverse_in_binary(small_json: Path, dtype: str) -> None:
    options = ("-t", small_json, "--binary", "--dtype", dtype)
    raw = tokenmill("encode", *options, data=TEXT.encode()).stdout
    assert np.frombuffer(raw, dtype=np.dtype(dtype).newbyteorder("<"))[0] == 259
    assert tokenmill("decode", *options, data=raw).stdout == TEXT.encode()


def test_encode_and_decode_are_inverse_as_text(small_json: Path) -> None:
    data = "h\u00e9llo \U0001f600\n\n tail ".encode()
    ids = tokenmill("encode", "-t", small_json, data=data).stdout
    assert tokenmill("decode", "-t", small_json, data=ids).stdout == data


def test_decode_writes_a_line_for_each_line(small_json: Path) -> None:
    ids = tokenmill("encode", "-t", small_json, "--documents", "line", data=TEXT.encode()).stdout
    result = tokenmill("decode", "-t", small_json, "--documents", "line", data=ids)
    assert result.stdout == TEXT.encode()


def test_decode_names_the_line_of_a_word_that_is_no_id(small_json: Path) -> None:
    result = tokenmill("decode", "-t", small_json, data=b"1 2\n3 x4\n")
    assert (result.returncode, result.stdout) == (1, b"")
    assert b"-:2: expected ids as decimal numbers, got 'x4'" in result.stderr


def test_decode_refuses_half_an_id(small_json: Path) -> None:
    result = tokenmill("decode", "-t", small_json, "--binary", data=b"\x01\x00\x00\x00\x01")
    assert result.returncode == 1
    assert b"5 bytes are not a whole number of uint32 ids" in result.stderr


def test_count_prints_each_file_and_the_total(small_json: Path, tmp_path: Path) -> None:
    names = [tmp_path / "a", tmp_path / "b"]
    names[0].write_text("hello world")
    names[1].write_text("hello")
    result = tokenmill("count", "-t", small_json, *names)
    assert result.stdout.decode() == f"2\t{names[0]}\n1\t{names[1]}\n3\ttotal\n"


def test_count_adds_special_tokens_on_request(small_json: Path) -> None:
    result = tokenmill("count", "-t", small_json, "--add-special-tokens", data=b"hello")
    assert result.stdout == b"2\t-\n"


def test_info_describes_for_people_and_programs(small_json: Path) -> None:
    assert b"built-in rule" in tokenmill("info", small_json).stdout
    assert json.loads(tokenmill("info", small_json, "--json").stdout)["path"] == "native"


@pytest.mark.parametrize("flags", [(), ("--compress",)])
def test_compile_writes_a_file_that_encodes_alike(
    small_json: Path, tmp_path: Path, flags: tuple[str, ...]
) -> None:
    out = tmp_path / "small.mill"
    result = tokenmill("compile", small_json, out, *flags)
    assert (result.returncode, result.stdout) == (0, b"")
    assert b"wrote" in result.stderr
    from_mill = tokenmill("encode", "-t", out, data=TEXT.encode()).stdout
    assert from_mill == tokenmill("encode", "-t", small_json, data=TEXT.encode()).stdout


def test_bytes_that_are_not_utf8_are_an_error_or_replaced(small_json: Path) -> None:
    result = tokenmill("encode", "-t", small_json, data=b"ab\xff")
    assert result.returncode == 1
    assert result.stderr.startswith(b"tokenmill: ")
    assert result.stderr.count(b"\n") == 1
    replaced = tokenmill("encode", "-t", small_json, "--errors", "replace", data=b"ab\xff").stdout
    assert tokenmill("decode", "-t", small_json, data=replaced).stdout == "ab\ufffd".encode()


@pytest.mark.parametrize("command", ["encode", "count"])
@pytest.mark.parametrize(
    ("documents", "place"), [("file", b"%b, byte 5: "), ("line", b"%b:2, byte 2: ")]
)
def test_bytes_that_are_not_utf8_are_placed_and_the_option_is_named(
    small_json: Path, tmp_path: Path, command: str, documents: str, place: bytes
) -> None:
    (tmp_path / "good").write_bytes(b"ok")
    bad = tmp_path / "bad"
    bad.write_bytes(b"ok\nab\xff")
    files = (tmp_path / "good", bad)
    result = tokenmill(command, "-t", small_json, "--documents", documents, *files)
    assert result.returncode == 1
    assert result.stderr.startswith(b"tokenmill: " + place % str(bad).encode())
    assert b"; hint: pass --errors replace" in result.stderr
    assert b"errors=" not in result.stderr


@pytest.mark.parametrize("command", ["encode", "count"])
def test_help_names_what_to_do_with_bytes_that_are_not_utf8(command: str) -> None:
    assert b"--errors {strict,replace}" in tokenmill(command, "--help").stdout


def test_a_forbidden_special_token_is_placed_and_the_option_is_named(small_json: Path) -> None:
    options = ("-t", small_json, "--special-in-text", "raise")
    result = tokenmill("count", *options, data=b"hello</s>")
    assert result.returncode == 1
    assert result.stderr.startswith(b"tokenmill: -, byte 5: ")
    assert b"; hint: pass --special-in-text encode" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("fly",),
        ("encode", "--dtype", "int8"),
        ("compile", "a"),
        ("count", "--threads", "x"),
        ("count", "--threads", "0"),
    ],
)
def test_a_wrong_command_is_status_2(arguments: tuple[str, ...]) -> None:
    result = tokenmill(*arguments)
    assert (result.returncode, result.stdout) == (2, b"")
    assert b"usage:" in result.stderr


@pytest.mark.parametrize(
    "arguments", [("encode", "no-such-file"), ("encode", "-t", "no-such-file")]
)
def test_a_missing_file_is_status_1(arguments: tuple[str, ...]) -> None:
    result = tokenmill(*arguments, data=b"x")
    assert (result.returncode, result.stdout) == (1, b"")
    assert b"no-such-file: " in result.stderr
    assert b"; hint: " in result.stderr
    assert b"Traceback" not in result.stderr


def test_a_reader_that_leaves_is_no_error(small_json: Path, tmp_path: Path) -> None:
    (tmp_path / "big").write_text("hello world\n" * 20000)
    command = [sys.executable, "-m", "tokenmill", "encode", "-t", str(small_json)]
    with subprocess.Popen(  # noqa: S603
        [*command, "--documents", "line", str(tmp_path / "big")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


def test_interrupting_is_quiet() -> None:
    code = (
        "import os, signal, sys\nfrom tokenmill._cli import main\n"
        "class Keyboard:\n"
        "    buffer = property(lambda self: self)\n"
        "    def read(self): os.kill(os.getpid(), signal.SIGINT); return b''\n"
        # A job in the background of a shell ignores the signal, and so would its children.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "sys.stdin = Keyboard()\n"
        "sys.exit(main(['encode']))"
    )
    result = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, check=False
    )
    assert (result.returncode, result.stdout, result.stderr) == (130, b"", b"")


def modules_of(code: str) -> set[str]:
    """Return the names of all modules that are there when a program ends."""
    listing = (
        "import atexit, sys; atexit.register(lambda: sys.stderr.write(' '.join(sys.modules)))\n"
    )
    result = subprocess.run(  # noqa: S603
        [sys.executable, "-c", listing + code], capture_output=True, check=True, text=True
    )
    return set(result.stderr.split())


def test_help_imports_little() -> None:
    """What its time depends on: parts of Python, and of this package what defines commands."""
    found = modules_of("from tokenmill._cli import main; main(['--help'])") - modules_of("")
    ours = {name for name in found if name.partition(".")[0] == "tokenmill"}
    shared = ("_errors", "_hints", "_lazy", "_numbers")
    rooms = {"tokenmill", *(f"tokenmill.{name}" for name in shared)}
    assert {name for name in ours - rooms if not name.startswith("tokenmill._cli")} == set()
    others = {name.partition(".")[0] for name in found - ours}
    assert others <= sys.stdlib_module_names
    assert len(found - ours) < 120


def test_help_takes_less_than_150_ms_of_processor_time() -> None:
    """Not wall time, which depends on what else the machine is doing.

    On a processor that is slow, or shared, Python without any program is the measure.
    """

    def seconds(*arguments: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], capture_output=True, check=True)  # noqa: S603
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime

    taken, empty = 1.0, 0.0
    for _ in range(15):
        taken = min(taken, seconds("-m", "tokenmill", "--help"))
        empty = max(empty, seconds("-c", ""))
        if taken < max(0.150, 12 * empty):
            break
    assert taken < max(0.150, 12 * empty), (taken, empty)
