"""What the boundary kernels flag: malformed text, normalizers, added tokens, any garbage."""

from __future__ import annotations

import pickle
import random
import re
import unicodedata
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.cuda.bounds_run import BoundsRunner
from tests.cuda.sanitized import run_sanitized
from tests.cuda.test_bounds import facts_by_name, runs_of_classes
from tests.strategies import class_strings

from tokenmill._cuda.added import added_filter, byte_bits
from tokenmill._cuda.layout import BatchCounter, BatchOption, DocumentFlag
from tokenmill._cuda.normal import normal_tables

if TYPE_CHECKING:
    from pathlib import Path

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


def is_settled(text: str) -> bool:
    """Does composing leave the text as it is, by what the kernels look at?"""
    left, before = "", 0
    for right in text:
        combining = unicodedata.combining(right)
        if right == JAMO or not unicodedata.is_normalized("NFC", right):
            return False
        if ord(right) in MAYBE and left:
            if before or not unicodedata.is_normalized("NFC", left + right):
                return False
        elif 0 < combining < before:
            return False
        left, before = right, combining
    return True


JAMO = "\u1161"
MARKS = "\u0301\u0327\u0323\u0e38\u0e48\u0e49\u093c\u094d\u09be\u0bbe\u3099\u0345\u0316\u05b0"
STARTERS = (
    "ae\u00e9\u1ebf\u0e01\u0915\u0928\u09c7\u0bc6\u0b95\u304b\u4e2d\u1100\uac00"
    "\u212b\u0958\U0001d15e"
)
MAYBE = {ord(c) for c in "\u0301\u0327\u0323\u093c\u09be\u0bbe\u3099\u0345"}


def normal_texts() -> list[str]:
    """All short rows of such characters, and some with long runs of marks."""
    every = STARTERS + MARKS + JAMO + "x"
    texts = ["".join(row) for size in (1, 2, 3) for row in product(every, repeat=size)]
    choose = random.Random(3)  # noqa: S311
    return texts + ["x" * choose.randrange(40) + "".join(choose.choices(every, k=5)) for _ in texts]


def test_texts_that_composing_changes(tmp_path: Path) -> None:
    run = BoundsRunner(facts_by_name("llama3"), tmp_path, 64, TM_NORMAL=1)
    tables = normal_tables()
    run.add({"normal_mask": tables["normal_pairs"].size - 1}, **tables)
    texts = normal_texts()
    wanted = [0 if is_settled(text) else DocumentFlag.NOT_NORMALIZED for text in texts]
    kept = [text for text, flag in zip(texts, wanted, strict=True) if not flag]
    assert 0.1 < len(kept) / len(texts) < 0.9
    assert all(unicodedata.is_normalized("NFC", text) for text in kept)
    for kernel in KERNELS:
        found = run(kernel, [text.encode() for text in texts], shuffle=4)
        wrong = [text for text, a, b in zip(texts, found.flags, wanted, strict=True) if a != b]
        assert not wrong, (kernel, [ascii(text) for text in wrong[:5]])


@pytest.mark.parametrize("more", [[], [b"[x", b"\xe4\xb8", b"z9", b"#1", b"~~~~~~~~~~~~"]])
@pytest.mark.parametrize("longest", [255, 256])
def test_added_tokens_are_never_missed(tmp_path: Path, more: list[bytes], longest: int) -> None:
    """Their tiles are listed; or, if they are too long, their documents are flagged."""
    tokens = [b"<|endoftext|>", b"<s>", *more]
    run = BoundsRunner(facts_by_name("gpt2"), tmp_path, 64)
    run.add({"added_longest": longest, "missing_count": 1}, missing_bytes=byte_bits(b"#"))
    run.find(added_filter(tokens))
    parts = [b"<|endoftext|>", b"<s>", b"<|end", b"<", b"a < b |>", b"[x", b"#1", b"~~~~~~~"]
    documents = [
        b"y" * n + part + tail for part in parts for n in range(70) for tail in (b"", b" ")
    ]
    text = b"".join(documents)
    held = {m.start() for token in tokens for m in re.finditer(re.escape(token), text)}
    begun = {m.start() for token in tokens for m in re.finditer(re.escape(token[:8]), text)}
    begins = np.cumsum([0, *map(len, documents)])
    for kernel in KERNELS:
        found = run(kernel, documents, options=BatchOption.FIND_ADDED, shuffle=9)
        tiles = set(found.added_tiles.tolist())
        flagged = set(np.flatnonzero(found.flags & DocumentFlag.ADDED_TOKEN).tolist())
        if longest > 255:
            assert not tiles
            assert flagged >= {int(np.searchsorted(begins, at, "right")) - 1 for at in held}
            continue
        assert {at // 64 for at in held} <= tiles <= {at // 64 for at in begun}
        missing = {i for i, document in enumerate(documents) if b"#1" in document and more}
        assert flagged == missing
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
    texts = class_strings(41, 60, 300) + runs_of_classes(140)[::17]
    batches = [[text.encode() for text in texts], garbage(9, 60)]
    (tmp_path / "case").write_bytes(pickle.dumps((facts_by_name(name), batches)))
    done = run_sanitized(tmp_path, code=SANITIZED)
    assert done.stdout.strip() == "clean", done.stderr[-3000:]
