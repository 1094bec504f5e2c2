"""The libraries, and one job of one of them: where it reads, what it runs, where it wrote."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.compare.pack._answers import read_answer
from benchmarks.compare.pack._meter import measure

if TYPE_CHECKING:
    from argparse import Namespace

    from benchmarks.compare.pack._answers import Answer
    from benchmarks.compare.pack._meter import Measured

HERE = Path(__file__).resolve().parent
UINT16_IDS = 1 << 16
# Compiles the modules as well: an installed package has its bytecode, and a checkout may not.
OWN_VERSION = """
import compileall, pathlib, tokenmill
compileall.compile_dir(pathlib.Path(tokenmill.__file__).parent, quiet=2)
print(tokenmill.__version__)
"""


@dataclass(frozen=True)
class Library:
    """A library that does the job: its distribution and the flat files it writes."""

    package: str
    outputs: str = "tokens.bin"
    is_slow: bool = False  # gets only the first part of the corpus, one file per thread


LIBRARIES = {
    "tokenmill": Library("tokenmill", "bin/*.bin"),
    "gigatoken": Library("gigatoken"),
    "datatrove": Library("datatrove", "tokens/*.ds", is_slow=True),
    "datasets": Library("datasets", is_slow=True),
}
READER = "reader_alone"


@dataclass(frozen=True)
class Tokenizer:
    """The tokenizer file and what a job must know about it."""

    path: Path
    eos: str
    eos_id: int
    dtype: str


def read_tokenizer(path: Path, eos: str) -> Tokenizer:
    """Return the tokenizer with its end token, or end the program."""
    model = json.loads(path.read_text(encoding="utf-8"))
    added = {token["content"]: token["id"] for token in model["added_tokens"]}
    if eos not in added:
        sys.exit(f"{path}: no token {eos!r}; hint: --eos with one of {', '.join(added)}")
    largest = max([*added.values(), *model["model"]["vocab"].values()])
    return Tokenizer(
        path.resolve(), eos, added[eos], "uint16" if largest < UINT16_IDS else "uint32"
    )


class Runner:
    """Runs jobs, each in a fresh process bound to as many cores as it has threads."""

    scripts = HERE  # the folder of the files with_NAME.py

    def __init__(self, arguments: Namespace, tokenizer: Tokenizer) -> None:
        pairs: dict[str, str] = dict(pair.split("=", 1) for pair in arguments.python)
        self._pythons = pairs
        self._default: str = pairs.get("all", sys.executable)
        self.tokenizer = tokenizer
        self.work: Path = arguments.work
        self.threads: int = arguments.threads
        self._timeout: float = arguments.timeout
        self._cores = sorted(os.sched_getaffinity(0))

    @property
    def output(self) -> Path:
        """The folder in which a job leaves its files."""
        return self.work / "output"

    def python(self, library: str) -> str:
        """Return the interpreter of a library."""
        return self._pythons.get(library, self._default)

    def run(self, library: str, inputs: list[Path], kind: str, **more: Any) -> Measured:
        """Run one job on an empty output folder."""
        shutil.rmtree(self.output, ignore_errors=True)
        command = [self.python(library), str(self.scripts / f"with_{library}.py")]
        request = json.dumps({**self._request(inputs), "format": kind, **more})
        # A child inherits the affinity: set it here, so that it holds from its first instruction.
        os.sched_setaffinity(0, self._cores[-self.threads :])
        try:
            return measure(
                command, request, self.work / "job.log",
                environment=self._environment(), timeout=self._timeout,
            )  # fmt: skip
        finally:
            os.sched_setaffinity(0, self._cores)

    def outputs(self, library: str) -> list[Path]:
        """Return the flat files of the last job in the order of the documents."""
        return sorted(self.output.glob(LIBRARIES[library].outputs))

    def answer(self, library: str) -> Answer:
        """Return what the last job wrote."""
        return read_answer(self.outputs(library), self.tokenizer.dtype, self.tokenizer.eos_id)

    def reference(self, plain: Path) -> Path:
        """Return the correct flat file for a JSONL file, made once per tokenizer."""
        name = hashlib.sha256(self.tokenizer.path.read_bytes()).hexdigest()[:12]
        path = plain.with_suffix(f".{name}-{self.tokenizer.eos_id}.right")
        if not path.exists():
            unfinished = path.with_suffix(".unfinished")
            request = {**self._request([plain]), "output": str(unfinished)}
            command = [self.python("tokenizers"), str(HERE / "reference.py")]
            subprocess.run(command, input=json.dumps(request), text=True, check=True)  # noqa: S603
            unfinished.rename(path)
        return path

    def version(self, library: str) -> str:
        """Return the version of a library, or nothing if it is not installed."""
        package = LIBRARIES[library].package
        code = f"from importlib.metadata import version; print(version({package!r}))"
        if library == "tokenmill":  # also if it is used without being installed
            code = OWN_VERSION
        command = [self.python(library), "-c", code]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        except OSError:
            return ""
        return done.stdout.strip()

    def _request(self, inputs: list[Path]) -> dict[str, Any]:
        return {
            "inputs": [str(path.resolve()) for path in inputs],
            "tokenizer": str(self.tokenizer.path),
            "eos": self.tokenizer.eos,
            "eos_id": self.tokenizer.eos_id,
            "dtype": self.tokenizer.dtype,
            "output": str(self.output.resolve()),
            "threads": self.threads,
        }

    def _environment(self) -> dict[str, str]:
        """Return the environment that limits every thread pool known to be used."""
        count = str(self.threads)
        pools = {"RAYON_NUM_THREADS": count, "OMP_NUM_THREADS": count, "TOKENMILL_THREADS": count}
        fresh = {
            "TOKENMILL_CACHE": str(self.work / "cache"),  # filled by the first round, as for a user
            "HF_HUB_OFFLINE": "1",
            "HF_HOME": str(self.work / "hf"),
        }
        return {**os.environ, **pools, **fresh}


def make_files(folder: Path, request: dict[str, Any]) -> Path:
    """Make the files of a request in a folder, unless they are there from an earlier run."""
    record = folder / "made.json"
    maker = HERE / "_corpus.py"
    version = hashlib.sha256(maker.read_bytes()).hexdigest()
    wanted = json.dumps({**request, "folder": str(folder), "maker": version})
    if not (record.exists() and record.read_text() == wanted):
        shutil.rmtree(folder, ignore_errors=True)
        command = [sys.executable, str(maker)]
        subprocess.run(command, input=wanted, text=True, check=True)  # noqa: S603
        record.write_text(wanted)
    return folder
