"""Texts between two pages that may not be read: a scanner that looks past its text dies here.

The scanners load 64 bytes at a time, so every length and every script is put at the very end of
readable memory, and at its very beginning. It runs in a process of its own, which may be killed.
"""

from __future__ import annotations

import ctypes
import mmap
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.models import TINY, Way, compile_payload, make_model, pair_model, run_batch, spec_of
from tests.split.patterns import CHAINS

from tokenmill import _core
from tokenmill._spec import AddedToken

ROOT = Path(__file__).resolve().parents[2]
LENGTHS = range(201)
SCRIPTS = {
    "letters": "the quick brown fox ",
    "one letter": "a",
    "blanks": " \n\t  \r\n",
    "punctuation": "!?/'.,\n/",
    "contractions": "it's 'll'RE",
    "digits": "1234567",
    "two bytes": "\u0440\u0443\u0441\u0441\u043a\u0438\u0439 ",
    "three bytes": "\u4e2d\u6587\u3042\u30a2\ud55c\u3002",
    "four bytes": "\U0001f600\U00020000",
    "marks": "e\u0301A\u0323",
    "nul": "a\0\0",
    "tokens": "<s></s> <s",
}
ADDED = (
    AddedToken("<s>", 70000, special=True, rstrip=True, lstrip=True),
    AddedToken("</s>", 70001, special=True, normalized=True, single_word=True),
)
PROT_NONE, PROT_ALL = 0, mmap.PROT_READ | mmap.PROT_WRITE


class Island:
    """One page that may be read between two that may not."""

    def __init__(self) -> None:
        size = mmap.PAGESIZE
        self.memory = mmap.mmap(-1, 3 * size)
        first = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        libc = ctypes.CDLL(None, use_errno=True)
        for page in (first, first + 2 * size):
            status = libc.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(size), PROT_NONE)
            assert status == 0, ctypes.get_errno()
        self.page = memoryview(self.memory)[size : 2 * size]

    def at_the_end(self, text: bytes) -> memoryview:
        place = self.page[len(self.page) - len(text) :]
        place[:] = text
        return place

    def at_the_beginning(self, text: bytes) -> memoryview:
        place = self.page[: len(text)]
        place[:] = text
        return place


def texts_of(pattern: str, length: int) -> bytes:
    """About so many bytes of a script, whole characters only."""
    return (pattern * 201).encode()[:length].decode(errors="ignore").encode()


def run_all(chain: str, target: str) -> int:
    """Encode everything at both edges; returns how many texts there were."""
    spec = spec_of(pair_model(0.6), CHAINS[chain], ADDED)
    island = Island()
    done = 0
    for way in (Way(target), Way(target, 1, TINY)):
        model = make_model(compile_payload(spec), way)
        for pattern in SCRIPTS.values():
            lengths = LENGTHS if way.shrink == 0 else LENGTHS[::7]
            texts = [texts_of(pattern, length) for length in lengths]
            ids, offsets = run_batch(model, texts)
            for i, text in enumerate(texts):
                wanted = ids[offsets[i] : offsets[i + 1]]
                for place in (island.at_the_end, island.at_the_beginning):
                    view = place(text)
                    assert np.array_equal(model.encode(view, False, 0, 0), wanted), text
                    assert np.array_equal(run_batch(model, [view, view])[0][: len(wanted)], wanted)
                    model.count_batch([view], 1, False, 0, 0, 5)
                    done += 1
        for length in LENGTHS:  # not UTF-8: the repair must stay inside as well
            for broken in (b"\xe4\xb8", b"\xf0\x9f\x98", b"\xff", b"\xc3", b"\x80"):
                view = island.at_the_end((b"a" * length + broken)[-max(length, 1) :])
                model.encode(view, False, 0, 1)
                done += 1
    return done


@pytest.mark.parametrize("target", _core.targets())
@pytest.mark.parametrize("chain", ["gpt2", "llama3", "o200k", "deepseek"])
def test_no_text_is_read_past_its_ends(chain: str, target: str) -> None:
    code = (
        f"from tests.pipeline.test_page_edge import run_all; print(run_all({chain!r}, {target!r}))"
    )
    run = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr[-3000:]
    assert int(run.stdout) > 5000


def test_the_pages_around_are_really_closed() -> None:
    code = (
        "from tests.pipeline.test_page_edge import Island\n"
        "import ctypes\n"
        "view = Island().at_the_end(b'abc')\n"
        "ctypes.string_at(ctypes.addressof(ctypes.c_char.from_buffer(view)), 4)\n"
    )
    run = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False
    )
    assert run.returncode < 0
