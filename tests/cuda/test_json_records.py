"""JSONL on a device against the CPU's reader: every text, place, reason and byte of a fault."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cuda.json_run import JsonKernels, read_there
from tests.cuda.sanitized import run_sanitized
from tests.read.test_jsonl import CASES, FIELDS, JSON, mutate

from tokenmill._cuda.jsonl import JsonlRules

if TYPE_CHECKING:
    from pathlib import Path

TILES = (32, 64, 8192)
SHORT = [case for case in CASES if len(case) < 1000]
# What a mutation of SHORT rarely makes.
HOSTILE = [
    b'{"text":"a"}\r',
    b'\x00{"text":"a"}',
    b'{"text":"a\x00"}',
    b'{"te\\u0078t":"escaped key"}',
    b'{"\\u0074\\u0065\\u0078\\u0074":"all of it"}',
    b'{"text\\u0000":"another"}',
    b'{"tex\\ud800":"half","text":"x"}',
    b'{"\\ud83d\\ude00":1,"text":"\\ud83d\\ude00"}',
    b'{"text":"\\\\\\"\\\\"}',
    b'{"text":"\\\\ud800\\udc00"}',
    b'{"text":"\\\\\\ud83d\\ude00"}',
    b'{"text":"\\ud83d\\\\ude00"}',
    b'{"text":"\\ud83d\\ud83d\\ude00\\ude00"}',
    b'{"text":"\\u00e9\\u0800\\uffff\\u007f"}',
    b'{"text":"\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80"}',
    b'{"text":"\xc0\x80"}',
    b'{"text":"\xf4\x90\x80\x80"}',
    b'{"text":"\xf0\x9f\x98',
    b'\xe4\xb8',
    b'\x80{"text":1}',
    b'\\"text":1',
    b'{"text":"a"}\\',
    b'{"text":1,"text":"b"}',
    b'{"text":"b","text":{"text":"c"}}',
    b'{"a":{"b":{"c":1}},"a":{"b.c":"x"}}',
    b'{"a":[{"b":{"c":"no"}}],"a":{"b":{"c":"yes"}}}',
    b'{"text":"' + b"\\" * 64 + b'"}',
    b'{"text":"' + b"\\" * 65 + b'"}',
    b'{"text":"' + b"\\" * 65 + b'""}',
    b"{" + b" " * 100 + b'"text"' + b"\t" * 40 + b":" + b"\r" * 33 + b'"x"' + b" " * 70 + b"}",
    b'{"text":"a","n":' + b"7" * 100 + b"." + b"8" * 64 + b"e" + b"9" * 64 + b"}",
]  # fmt: skip


@pytest.fixture(scope="module", params=TILES)
def kernels(folder: Path, request: pytest.FixtureRequest) -> JsonKernels:
    return JsonKernels(folder, request.param)


@pytest.fixture(scope="module")
def small(folder: Path) -> JsonKernels:
    return JsonKernels(folder, 64, shuffle=3)


def check(kernels: JsonKernels, lines: list[bytes], rules: JsonlRules) -> None:
    chunk = b"".join(line + b"\n" for line in lines)
    found = kernels.read(chunk, rules, room=32 * len(lines))
    expected = read_there(chunk, rules)
    if found != expected:  # name the line
        for line in lines:
            alone = line + b"\n"
            assert kernels.read(alone, rules) == read_there(alone, rules), line
    assert found == expected


@pytest.mark.parametrize("field", [*FIELDS, "a.b", "te\u00e9.\\x"])
@pytest.mark.parametrize("replace_lone", [False, True])
def test_known_lines(kernels: JsonKernels, field: str, replace_lone: bool) -> None:
    rules = JsonlRules(field, replace_lone_surrogate=replace_lone)
    check(kernels, [*CASES, *HOSTILE], rules)
    for case in (*SHORT, *HOSTILE):
        check(kernels, [case], rules)


@pytest.mark.parametrize("field", FIELDS)
def test_mutated_lines(kernels: JsonKernels, field: str) -> None:
    chance = random.Random(f"device {field}")  # noqa: S311
    for limit in (20, 1 << 30):
        rules = JsonlRules(field, limit, 200, replace_lone_surrogate=limit == 20)
        check(kernels, [mutate(chance.choice(SHORT), chance) for _ in range(2500)], rules)
        check(kernels, [mutate(chance.choice(HOSTILE), chance) for _ in range(2500)], rules)


def test_random_bytes(kernels: JsonKernels) -> None:
    chance = random.Random("device bytes")  # noqa: S311
    lines = [chance.randbytes(chance.randrange(40)).replace(b"\n", b"") for _ in range(2000)]
    check(kernels, lines, JsonlRules("text"))
    letters = b'{}[]":,\\ud8c0ae1 \xe4\xb8\xad'
    lines = [bytes(chance.choices(letters, k=chance.randrange(60))) for _ in range(3000)]
    check(kernels, lines, JsonlRules("ed"))


PIECES = [
    b"\\u4e2d", b"\\ud83d\\ude00", b"\\ud83d", b"\\ude00", b'\\"', b"\\\\", b"\\n", b"a",
    "\u00e9".encode(), "\u4e2d".encode(), "\U0001f600".encode(), b"plain text ", b"\\u0041", b"/",
]  # fmt: skip


def test_pieces_slide_across_every_edge(kernels: JsonKernels) -> None:
    """Each piece at each place of a word and of a tile, alone and in runs."""
    chance = random.Random("edges")  # noqa: S311
    lines = []
    for shift in range(70):
        lines += [b'{"text":"' + b"x" * shift + piece * 3 + b'"}' for piece in PIECES]
        lines.append(b'{"text":"' + b"".join(chance.choices(PIECES, k=40)) + b'"}')
    for replace_lone in (False, True):
        check(kernels, lines, JsonlRules("text", replace_lone_surrogate=replace_lone))


@pytest.mark.parametrize("limit", [1, 7, 100, 101, 102, 600])
def test_the_limits_count_bytes_of_text(kernels: JsonKernels, limit: int) -> None:
    texts = [
        b"x" * 100,
        b"x" * 101,
        b"\\u4e2d" * 34,
        b"\\ud83d\\ude00" * 25,
        b"\\n" * 101,
        b"\\ud800",
    ]
    lines = [b'{"text":"' + text + b'"}' for text in texts]
    for replace_lone in (False, True):
        for longest in (1 << 20, 150, 20):
            check(kernels, lines, JsonlRules("text", limit, longest, False, replace_lone))


def test_blank_lines_and_line_ends(kernels: JsonKernels) -> None:
    lines = [b"", b" ", b'{"text":"a"}\r', b"\r", b"", b'{"text":"b"} ', b"\t", b" x", b"", b""]
    check(kernels, lines, JsonlRules("text"))
    check(kernels, [b""] * 300, JsonlRules("text"))
    check(kernels, [b" " * 200, b'{"text":"' + b"y" * 300 + b'"}'], JsonlRules("text"))


def test_long_lines(kernels: JsonKernels) -> None:
    text = b"word \\u00e9 \\n \xe4\xb8\xad " * 4000
    lines = [b'{"id":1,"text":"' + text + b'","z":[' + b"1," * 2000 + b"2]}", b'{"text":"s"}']
    check(kernels, lines, JsonlRules("text"))
    check(kernels, [b'{"text":"' + text, *lines], JsonlRules("text"))


def test_the_cpu_gets_what_a_device_cannot_decide(kernels: JsonKernels) -> None:
    good = b'{"text":"a"}\n'
    run = b'{"text":"' + b"\\" * 9000 + b'"}\n'
    members = b'{"text":"a","n":[' + b"1," * 70000 + b"1]}\n"
    broken = b'{"text":"\xff"}\n'
    assert kernels.read(good + run, JsonlRules("text")) is None
    assert kernels.read(good + members, JsonlRules("text")) is None
    assert kernels.read(good + b"\n" * 3000, JsonlRules("text")) is None  # more lines than fit
    assert kernels.read(good + broken, JsonlRules("text", replace_bad_utf8=True)) is None
    assert kernels.read(good + broken, JsonlRules("text")) is not None
    deep = JsonlRules(".".join("abcdefgh"))
    assert deep.fits_device
    check(kernels, [b'{"a":{"b":{"c":{"d":{"e":{"f":{"g":{"h":"x"}}}}}}}}'], deep)
    assert not JsonlRules("a.b.c.d.e.f.g.h.i").fits_device


@given(values=st.lists(JSON, max_size=8), field=st.sampled_from(FIELDS), ascii_only=st.booleans())
@settings(max_examples=150)
def test_any_json(small: JsonKernels, values: list[object], field: str, ascii_only: bool) -> None:
    lines = [json.dumps(v, ensure_ascii=ascii_only).encode(errors="replace") for v in values]
    check(small, [line for line in lines if line] or [b"{}"], JsonlRules(field))


def test_kernels_under_sanitizers(folder: Path) -> None:
    run = run_sanitized(folder, "tests.cuda.json_sanitized")
    assert run.stdout.endswith("clean\n"), run.stdout + run.stderr


@pytest.mark.slow
def test_many_mutations(small: JsonKernels) -> None:
    chance = random.Random("many")  # noqa: S311
    for _ in range(40):
        lines = [mutate(chance.choice([*SHORT, *HOSTILE]), chance) for _ in range(4000)]
        lines = [mutate(line, chance) if chance.random() < 0.5 else line for line in lines]
        check(small, lines, JsonlRules(chance.choice(FIELDS), chance.choice([5, 30, 1 << 30])))
