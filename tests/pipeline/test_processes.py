"""A tokenizer goes along into other processes: by fork, by pickle, by both."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
from tests.strategies import EXAMPLES
from tests.vocabularies import payload

from tokenmill import Tokenizer
from tokenmill._model.ready import from_payload

ROOT = Path(__file__).resolve().parents[2]
HANGS = 1200  # seconds after which a child that takes one has surely got stuck

FORK = """
import os, threading, time
from tests.models import compile_payload, run_batch
from tests.pipeline.conftest import small_spec
from tokenmill import _core

model = _core.Model(compile_payload(small_spec()))
texts = ["the quick and " * 3000, "\\u4e2d\\u6587" * 300000, "a"] * 4
expected = run_batch(model, texts, 3)[0].tobytes()
running = True

def keep_busy():
    while running:
        run_batch(model, texts, 2)

busy = [threading.Thread(target=keep_busy) for _ in range(BUSY)]
for thread in busy:
    thread.start()
children = []
for _ in range(6):
    time.sleep(0.01)
    child = os.fork()
    if child == 0:
        same = all(run_batch(model, texts, n)[0].tobytes() == expected for n in (1, 2, 3))
        os._exit(0 if same else 1)
    children.append(child)
for child in children:
    _, status = os.waitpid(child, 0)
    assert status == 0, status
running = False
for thread in busy:
    thread.join()
assert run_batch(model, texts, 3)[0].tobytes() == expected
print("done")
"""


def run_script(script: str) -> str:
    run = subprocess.run(  # noqa: S603
        [sys.executable, "-W", "ignore", "-c", script],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=HANGS,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-3000:]
    return run.stdout


def test_a_forked_child_encodes() -> None:
    assert run_script(FORK.replace("BUSY", "0")) == "done\n"


def test_a_child_forked_while_others_encode_encodes() -> None:
    assert run_script(FORK.replace("BUSY", "2")) == "done\n"


def test_pickles_and_copies_give_the_same_ids() -> None:
    tokenizer = Tokenizer(from_payload(payload("gpt2"), "usual"))
    expected = tokenizer.encode_batch(EXAMPLES)
    again: Tokenizer = pickle.loads(pickle.dumps(tokenizer))  # noqa: S301
    twice: Tokenizer = pickle.loads(pickle.dumps(again))  # noqa: S301
    for one in (again, twice, copy.copy(tokenizer), copy.deepcopy(tokenizer)):
        assert one.encode_batch(EXAMPLES) == expected
        assert one.vocab_size == tokenizer.vocab_size
        assert dict(one.special_tokens) == dict(tokenizer.special_tokens)


def test_a_pickle_opens_in_another_process(tmp_path: Path, small: Tokenizer) -> None:
    path = tmp_path / "pickle"
    path.write_bytes(pickle.dumps(small))
    script = (
        "import pathlib, pickle\n"
        f"t = pickle.loads(pathlib.Path({str(path)!r}).read_bytes())\n"
        "print(t.encode_batch(['hello world', 'hello'], threads=2).ids.tolist())"
    )
    got = run_script(script)
    wanted = small.encode_batch(["hello world", "hello"]).ids
    assert got == f"{wanted.tolist()}\n"
    assert wanted.dtype == np.uint32
