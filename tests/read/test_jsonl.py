"""Lines of JSON against Python's json module, on every target."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference.jsonl import read_line

from tokenmill import _core
from tokenmill._read.blocks import REASONS

TARGETS = _core.targets()
FIELDS = ("text", "meta.text", "a.b.c")
REPAIR = frozenset({"bad_utf8", "lone_surrogate"})
CASES = [
    b'{"text":"a"}',
    b' \t{ "text" : "a" } \r',
    b'{"text":"a\\u0062\\ud83d\\ude00\\/\\b\\f\\n\\r\\t\\"\\\\"}',
    b'{"text":"\\ud800"}',
    b'{"text":"\\udc00\\ud800"}',
    b'{"text":"\\ud800\\u0041"}',
    b'{"text":"\\ud800x"}',
    b'{"text":"ok","other":"\\ud800"}',
    b'{"text":"\\ud83d\\ud83d\\ude00"}',
    b'{"\\ud800":1,"te\\u0078t":"k"}',
    b"[1,2]",
    b'"text"',
    b"null",
    b'{"text":null}',
    b'{"text":1}',
    b'{"text":{"text":"no"}}',
    b'{"text":""}',
    b"{}",
    b'{"x":{"text":"no"}}',
    b'{"a":{"text":"x"},"text":"y","text":"z"}',
    b'{"text":"y","text":null}',
    b'{"meta":{"text":"q"},"meta.text":"w"}',
    b'{"meta":{"text":"q"},"meta":5}',
    b'{"meta":{"text":"q"},"meta":{"text":"r"}}',
    b'{"meta":{"text":"q"},"meta":{}}',
    b'{"meta":[{"text":"q"}]}',
    b'{"meta":null}',
    b'{"a":{"b":{"c":"deep"}}}',
    b'{"a":{"b.c":"dotted"}}',
    b'{"a":{"b.c":"dotted","b":{"c":"x"}},"a":{"b":{"c":"y"}}}',
    b'{"a":{"b":{"c":"y"},"b":[]}}',
    b'{"a.b":{"c":"no"}}',
    b'{"text":"\xff"}',
    b'{"text":"a\xe2\x82"}',
    b'{"text":"\xed\xa0\x80"}',
    b'{"text":"ok","b":"\xff"}',
    b'{"text":"ok"}\xff',
    b"\xef\xbb\xbf{}",
    b"  ",
    b"",
    b"\r",
    b'{"text":"a",}',
    b'{"text":"a"',
    b'{"text":"a"}}',
    b'{"text":"a"} x',
    b'{"text":"a"}{"text":"b"}',
    b'{"text":"a\x01"}',
    b'{"text":"a\x7f"}',
    b'{"text":"a\x00b"}',
    b'{"text":"a\\x"}',
    b'{"text":"a\\u12"}',
    b'{"text":"a\\u12G4"}',
    b'{"text":"a\\',
    b'{"text":"a\\u',
    b"{text:1}",
    b"{'text':1}",
    b'{"text" "a"}',
    b'{"text":}',
    b'{,"text":1}',
    b"[1,]",
    b"[,1]",
    b"[1 2]",
    b'{"n":[0,-0,1.5,-1e5,2E+3,4e-2,1e,"x"]}',
    b'{"text":"a","n":[0,-0,1.5,-1e5,2E+3,4e-2,12345678901234567890123]}',
    b'{"text":"a","n":01}',
    b'{"text":"a","n":1.}',
    b'{"text":"a","n":.5}',
    b'{"text":"a","n":-}',
    b'{"text":"a","n":+1}',
    b'{"text":"a","n":1e+}',
    b'{"text":"a","n":0x1}',
    b'{"text":-Infinity,"b":NaN,"c":Infinity}',
    b'{"text":"a","b":-NaN}',
    b'{"text":"a","b":-Infinite}',
    b'{"text":"a","b":nul}',
    b'{"text":"a","b":truefalse}',
    b'{"text":"a","b":[true,false,null]}',
    b'{"text":"' + b"a" * 200 + b"\\n" + b"b" * 100 + b'"}',
    b'{"text":"' + b"\\u4e2d" * 100 + b'"}',
    b'{"text":"' + b"\\\\" * 100 + b'"}',
    b'{"text":"a","d":' + b"[" * 800 + b"]" * 800 + b"}",
    b'{"text":"a","d":' + b'{"k":' * 800 + b"1" + b"}" * 800 + b"}",
    b'{"text":"a","d":' + b"[" * 5000 + b"]" * 5000 + b"}",
    b'{"text":"a","d":' + b"[" * 200000,
]


def read(
    lines: list[bytes],
    field: str,
    target: str,
    limit: int = 1 << 30,
    replace: frozenset[str] = REPAIR,
) -> list[object]:
    """Return (text, reason) of each line, None for blank ones."""
    text, offsets, numbers, begins, bad, counts = _core.read_jsonl(
        b"\n".join(lines), field, limit, 1 << 40,
        "bad_utf8" in replace, "lone_surrogate" in replace, target,
    )  # fmt: skip
    result: list[object] = [None] * len(lines)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    for i, number in enumerate(numbers.tolist()):
        result[number] = bytes(text[offsets[i] : offsets[i + 1]]), None
        assert begins[i] == starts[number]
    for number, begin, length, fault, reason in bad.reshape(-1, 5).tolist():
        result[number] = None, REASONS[reason]
        assert (begin, length) == (starts[number], len(lines[number]))
        assert 0 <= fault <= length
    assert counts[0] == len(lines) - (0 if lines[-1] else 1)
    return result


def expect(
    lines: list[bytes], field: str, limit: int = 1 << 30, replace: frozenset[str] = REPAIR
) -> list[object]:
    found = [read_line(line, field, limit, replace) for line in lines]
    return [None if line is None else (line.text, line.reason) for line in found]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("replace", [frozenset(), REPAIR])
def test_known_lines(target: str, field: str, replace: frozenset[str]) -> None:
    assert read(CASES, field, target, replace=replace) == expect(CASES, field, replace=replace)
    for case in CASES:  # alone: no byte follows it
        assert read([case], field, target, replace=replace) == expect(
            [case], field, replace=replace
        )


def mutate(line: bytes, chance: random.Random) -> bytes:
    """Change a few bytes: to characters of JSON, or to any."""
    data = bytearray(line)
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(data) + 1)
        kind = chance.randrange(5)
        byte = chance.choice(b'"\\{}[]:,ud08eE+-. \t\x01\x80\xc3\xe2\xff')
        if kind == 0:
            del data[at : at + chance.randrange(1, 4)]
        elif kind == 1:
            data.insert(at, byte)
        elif kind == 2:
            del data[at:]
        elif kind == 3:
            data[at : at + 1] = bytes([chance.randrange(256)])
        else:
            begin = chance.randrange(len(data) + 1)
            data[at:at] = data[begin : begin + 12]
    return bytes(data).replace(b"\n", b" ")


@pytest.mark.parametrize("target", TARGETS)
def test_mutated_lines(target: str) -> None:
    chance = random.Random(f"jsonl {target}")  # noqa: S311
    short = [case for case in CASES if len(case) < 1000]
    for field in FIELDS:
        for replace in (frozenset[str](), REPAIR):
            lines = [mutate(chance.choice(short), chance) for _ in range(3000)]
            assert read(lines, field, target, 20, replace) == expect(lines, field, 20, replace)


@pytest.mark.parametrize("target", TARGETS)
def test_random_bytes(target: str) -> None:
    chance = random.Random(f"bytes {target}")  # noqa: S311
    lines = [chance.randbytes(chance.randrange(40)).replace(b"\n", b"") for _ in range(2000)]
    assert read(lines, "text", target) == expect(lines, "text")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda values: (
        st.lists(values, max_size=4)
        | st.dictionaries(
            st.sampled_from(["text", "meta", "a", "b", "c", "b.c", "meta.text"]), values
        )
    ),
    max_leaves=12,
)


@given(st.lists(JSON, min_size=1, max_size=20), st.sampled_from(FIELDS), st.booleans())
def test_generated_values(values: list[object], field: str, is_ascii: bool) -> None:
    lines = [json.dumps(v, ensure_ascii=is_ascii).encode(errors="surrogatepass") for v in values]
    for target in TARGETS:
        assert read(lines, field, target) == expect(lines, field)


@pytest.mark.parametrize("target", TARGETS)
def test_strings_of_every_length_at_every_place(target: str) -> None:
    """Stops at each byte of a block, and strings that end where the memory ends."""
    lines = []
    for length in range(140):
        for tail in (b"", b"\\n", b"\\u00e9", "\u00e9".encode(), b"\x1f", b"\xff"):
            lines.append(b'{"text":"' + b"x" * length + tail + b'"}')  # noqa: PERF401
    assert read(lines, "text", target) == expect(lines, "text")
    for line in lines:
        assert read([line], "text", target) == expect([line], "text")


def test_the_limits_are_exact() -> None:
    line = b'{"text":"abcd\\u00e9"}'
    for limit in (5, 6, 7):
        assert read([line], "text", "scalar", limit) == expect([line], "text", limit)
    *_, bad, _ = _core.read_jsonl(line, "text", 100, len(line) - 1)
    assert REASONS[bad[4]] == "too_long"
    *_, bad, _ = _core.read_jsonl(line, "text", 100, len(line))
    assert len(bad) == 0


def test_a_nesting_of_1024_is_read_and_one_more_is_not() -> None:
    for depth, is_good in ((1023, True), (1024, False)):
        line = b'{"text":"a","d":' + b"[" * depth + b"]" * depth + b"}"
        (found,) = read([line], "text", "scalar")
        assert found == ((b"a", None) if is_good else (None, "bad_json"))
