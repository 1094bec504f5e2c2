"""Run words through kernels that are built with sanitizers: python -m tests.cuda.sanitized FOLDER.

A process of its own, because the library that watches memory must be loaded before any other.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from tests.cuda.words import Setting, WordKernels, batch_of, whole
from tests.models import AS_TEXT, Way, assert_same, compile_payload, make_model, run_batch, spec_of
from tests.models import ranked_model as vocabulary

from tokenmill import _core
from tokenmill._cuda.layout import BatchOption
from tokenmill._cuda.steps import WordCapacity

ROOT = Path(__file__).parents[2]


def run_sanitized(
    folder: Path, module: str = "tests.cuda.sanitized", *, code: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Start a module, or code, with the sanitizers' library."""
    compiler = os.environ.get("CXX", "g++")
    found = subprocess.run(  # noqa: S603
        [compiler, "-print-file-name=libasan.so"], check=True, capture_output=True, text=True
    )
    library = Path(found.stdout.strip())
    assert library.is_absolute(), "the compiler has no address sanitizer"
    environment = {
        **os.environ,
        "LD_PRELOAD": str(library),
        "ASAN_OPTIONS": "detect_leaks=0",  # those of the interpreter
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)]),
    }
    what = ["-m", module] if code is None else ["-c", code]
    command = [sys.executable, *what, str(folder)]
    return subprocess.run(  # noqa: S603
        command, env=environment, check=False, capture_output=True, text=True
    )


def main(folder: Path) -> None:
    """Words of every size, small tables, lists that are too short."""
    choose = random.Random(1)  # noqa: S311
    letters = [bytes(choose.choices(b"abcd", k=choose.randrange(2, 5))) for _ in range(300)]
    tokens = list(dict.fromkeys(letters))
    payload = compile_payload(spec_of(vocabulary(tokens, ignore_merges=True)))
    engine = make_model(payload, Way(_core.targets()[0]))
    sizes = [*range(70), 127, 128, 129, 512, 900, 8192]
    texts = [bytes(choose.choices(b"abcd", k=size)) for size in sizes for _ in range(2)]
    setting = Setting(64, WordCapacity(256, 32, 512), sanitize="address,undefined", shuffle=1)
    facts = engine.device_tables()  # type: ignore[attr-defined]
    kernels = WordKernels(folder, facts, setting)
    expected = run_batch(engine, texts, 1, AS_TEXT)
    for options in (BatchOption.LEARN, BatchOption.LEARN, BatchOption.KEEP_REPEATS):
        result = kernels.run(whole(texts), options)
        assert_same(batch_of(result), expected, texts, options)
        assert not result.flags.any()
    assert_same(batch_of(kernels.run(whole(texts), bits=16)), expected, texts, "16 bits")
    large = WordKernels(folder, facts, replace(setting, tile=8192))
    many = choose.choices([b"a", b"bc", b"", b"abcdabc"], k=9000)  # more than a round has
    for _ in range(2):
        found = batch_of(large.run(whole(many), misses=9000))
        assert_same(found, run_batch(engine, many, 1, AS_TEXT), many, "many words")
    assert kernels.run(whole(texts), 0, misses=5).flags.any()
    assert np.any(kernels.run(whole(texts), 0, ids=7).flags)
    assert kernels.run(whole([*texts, b"ab" * 5000]), 0).flags[: len(texts) + 1].nonzero()[0].size


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    sys.stdout.write("clean\n")
