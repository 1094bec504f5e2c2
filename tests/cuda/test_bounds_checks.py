"""What the boundary kernels flag: malformed text, normalizers, added tokens, any garbage."""

from __future__ import annotations

import os
import pickle
import random
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.cuda.bounds_run import BoundsRunner
from tests.cuda.test_bounds import facts_by_name, runs_of_classes
from tests.strategies import class_strings

from tokenmill._cuda.layout import BatchCounter, BatchOption, DocumentFlag

if TYPE_CHECKING:
    from numpy.typing import NDArray

KERNELS = ("bounds_masks", "bounds_scan")
# Bytes on both sides of every limit in the table of well-formed sequences.
LIMITS = bytes.fromhex("00 41 7F 80 8F 90 9F A0 BF C0 C1 C2 DF E0 E1 EC ED EE EF F0 F1 F3 F4 F5 FF")


def is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> BoundsRunner:
    return BoundsRunner(facts_by_name("o200k"), tmp_path_factory.mktemp("kernels"), 64)


def assert_flags(run: BoundsRunner, documents: list[bytes]) -> None:
    """Malformed documents, and only they, are flagged; the others have the bits they have alone."""
    good = [is_utf8(document) for document in documents]
    wanted = [0 if fine else DocumentFlag.INVALID_UTF8 for fine in good]
    of_good = np.repeat(good, [len(document) for document in documents])
    alone = [document for document, fine in zip(documents, good, strict=True) if fine]
    for kernel in KERNELS:
        found = run(kernel, documents, shuffle=5)
        wrong = np.flatnonzero(found.flags & DocumentFlag.INVALID_UTF8 != wanted)
        assert not wrong.size, (kernel, [documents[i] for i in wrong[:3]])
        assert found.counters[BatchCounter.FLAGGED] == np.count_nonzero(found.flags)
        assert np.array_equal(found.starts[of_good], run(kernel, alone).starts)


def test_every_short_sequence(run: BoundsRunner) -> None:
    pairs = [bytes(pair) for pair in product(range(256), repeat=2)]
    assert_flags(run, [*(bytes([byte]) for byte in range(256)), *pairs])


def test_sequences_at_the_limits(run: BoundsRunner) -> None:
    assert_flags(run, [bytes(three) for three in product(LIMITS, repeat=3)])


@pytest.mark.slow
def test_longer_sequences_at_the_limits(run: BoundsRunner) -> None:
    assert_flags(run, [bytes(four) for four in product(LIMITS, repeat=4)])


def test_every_code_point_with_a_byte_missing_or_wrong(run: BoundsRunner) -> None:
    texts = [
        chr(code).encode() for code in (*range(0x80, 0xD800, 37), *range(0xE000, 0x110000, 501))
    ]
    whole = b"".join(texts)
    documents = [whole, *(text[:-1] for text in texts), *(text[1:] for text in texts)]
    documents += [text[:-1] + b"\x41" for text in texts] + [text + b"\x80" for text in texts]
    assert_flags(run, documents)


def garbage(seed: int, count: int) -> list[bytes]:
    """Random bytes, broken text and sound text in turn, of all lengths."""
    choose = random.Random(seed)  # noqa: S311
    sound = "Well, it's \u4e2d\u6587\u3002 e\u0301 1234\n\n  \U0001f600 fin".encode()
    documents = []
    for _ in range(count):
        size = choose.choice((0, 1, 2, 3, 5, 31, 32, 33, 64, 90, 200))
        pool = choose.choice(
            (bytes(range(256)), LIMITS, b"\x80\xbf", b"\xf4\x8f\xff", b" \n\xe3\x80")
        )
        broken = bytearray(sound * 2)
        broken[choose.randrange(len(broken))] = choose.randrange(256)
        documents += [bytes(choose.choices(pool, k=size)), sound, bytes(broken), sound[:size]]
    return documents


def test_garbage_between_sound_documents(run: BoundsRunner) -> None:
    assert_flags(run, garbage(6, 400))


def bitmap(codes: list[int]) -> NDArray[np.uint32]:
    bits = np.zeros(0x110000, dtype=np.uint8)
    bits[codes] = 1
    return np.packbits(bits, bitorder="little").view(np.uint32)


@pytest.mark.parametrize("ascii_too", [False, True])
def test_characters_that_a_normalizer_touches(tmp_path: Path, *, ascii_too: bool) -> None:
    unsafe = "\u0301\u00e9\u4e2d\U0001f600" + "Q" * ascii_too
    run = BoundsRunner(facts_by_name("llama3"), tmp_path, 64, TM_NORMAL=1)
    run.add(unsafe_basic=bitmap([ord(c) for c in unsafe]))
    words = ["plain", "Q", "\u00e9", "\u00e8", "\u6587", "\u4e2d", "\U0001f601", "\U0001f600"]
    texts = [left + "x" * n + right for left in words for right in words for n in range(34)]
    wanted = [DocumentFlag.NOT_NORMALIZED if set(text) & set(unsafe) else 0 for text in texts]
    for kernel in KERNELS:
        found = run(kernel, [text.encode() for text in texts])
        assert found.flags.tolist() == wanted


def added_tables(tokens: list[bytes]) -> dict[str, Any]:
    first = np.zeros(256, dtype=np.uint8)
    first[[token[0] for token in tokens]] = 1
    prefixes = [int.from_bytes(token[:8], "little") for token in tokens]
    masks = [(1 << 8 * min(len(token), 8)) - 1 for token in tokens]
    return {
        "added_first": np.packbits(first, bitorder="little").view(np.uint32),
        "added_prefixes": np.array(prefixes, dtype=np.uint64),
        "added_masks": np.array(masks, dtype=np.uint64),
    }


@pytest.mark.parametrize("more", [[], [b"[x", b"\xe4\xb8", b"z9", b"#1", b"~~~~~~~~~~~~"]])
def test_added_tokens_are_never_missed(tmp_path: Path, more: list[bytes]) -> None:
    tokens = [b"<|endoftext|>", b"<s>", *more]
    run = BoundsRunner(facts_by_name("gpt2"), tmp_path, 64)
    run.add(count=len(tokens), **added_tables(tokens))
    parts = [b"<|endoftext|>", b"<s>", b"<|end", b"<", b"a < b |>", b"[x", b"#1", b"~~~~~~~"]
    documents = [
        b"y" * n + part + tail for part in parts for n in range(70) for tail in (b"", b" ")
    ]
    text = b"".join(documents)
    ends = np.cumsum([len(document) for document in documents]).tolist()
    for kernel in KERNELS:
        flags = run(kernel, documents, options=BatchOption.FIND_ADDED).flags.tolist()
        for document, end, flag in zip(documents, ends, flags, strict=True):
            held = any(token in document for token in tokens)
            # A token that continues in the next document may be flagged without need.
            begun = any(token[:8] in document + text[end : end + 7] for token in tokens)
            added = DocumentFlag.ADDED_TOKEN
            assert flag in ({added} if held else {0, added} if begun else {0}), document
        assert not run(kernel, documents).flags.any()


SANITIZED = """
import pickle, sys
from pathlib import Path
import numpy as np
from tests.cuda.bounds_run import BoundsRunner
folder = Path(sys.argv[1])
facts, batches = pickle.loads((folder / "case").read_bytes())
run = BoundsRunner(facts, folder, 64, sanitize="address,undefined")
for documents in batches:
    masks, scan = (run(kernel, documents) for kernel in ("bounds_masks", "bounds_scan"))
    assert np.array_equal(masks.flags, scan.flags)
print("clean")
"""


@pytest.mark.parametrize("name", ["o200k", pytest.param("llama3", marks=pytest.mark.slow)])
def test_under_sanitizers(tmp_path: Path, name: str) -> None:
    compiler = os.environ.get("CXX", "g++")
    found = subprocess.run(  # noqa: S603
        [compiler, "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert Path(found).is_absolute(), "the compiler has no address sanitizer"
    texts = class_strings(41, 60, 300) + runs_of_classes(140)[::17]
    batches = [[text.encode() for text in texts], garbage(9, 60)]
    (tmp_path / "case").write_bytes(pickle.dumps((facts_by_name(name), batches)))
    environment = os.environ | {
        "LD_PRELOAD": found,
        "ASAN_OPTIONS": "detect_leaks=0",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", SANITIZED, str(tmp_path)],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.strip() == "clean", done.stderr[-3000:]
