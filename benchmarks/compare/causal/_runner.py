"""Runs one job in a fresh process, and its check in another: the driver stays small."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.compare.pack._jobs import Runner

if TYPE_CHECKING:
    from argparse import Namespace

    from benchmarks.compare.pack._jobs import Tokenizer

HERE = Path(__file__).resolve().parent
# What each job leaves out of the stream of all tokens: nothing, or what its batches do not fill.
JOBS = {
    "datasets": "batches",
    "tokenmill": "nothing",
    "tokenmill_files": "nothing",
}
KNOWN_ENDS = ("<|endoftext|>", "<|end_of_text|>", "</s>", "<|im_end|>", "<eos>")


def find_eos(path: Path) -> str:
    """Return the token that ends a document, by its well-known name."""
    added = json.loads(path.read_text(encoding="utf-8"))["added_tokens"]
    names = {token["content"] for token in added}
    for name in KNOWN_ENDS:
        if name in names:
            return name
    sys.exit(f"{path}: no well-known end token; hint: --eos with one of {', '.join(names)}")


class CausalRunner(Runner):
    """Runs jobs of this folder."""

    scripts = HERE

    def __init__(self, arguments: Namespace, tokenizer: Tokenizer) -> None:
        super().__init__(arguments, tokenizer)
        self._more = {"context_length": arguments.context_length, "save_as": arguments.format}

    def measured(self, job: str, plain: Path, right: Path) -> dict[str, Any]:
        """Run a job; return its times and memory, and what its check found."""
        run = self.run(job, [plain], "jsonl", **self._more)
        if run.failure:
            return {"failure": run.failure}
        facts = json.loads((self.output / "job.json").read_text())
        return {
            "seconds": run.seconds,
            "cpu_seconds": run.cpu_seconds,
            "peak_mib": run.peak_mib,
            "private_mib": run.private_mib,
            "load": run.load,
            **facts,
            **self._check(job, right),
        }

    def _check(self, job: str, right: Path) -> dict[str, Any]:
        request = {
            "rows": str(self.output / "rows"),
            "right": str(right),
            "dtype": self.tokenizer.dtype,
            "eos_id": self.tokenizer.eos_id,
            "leaves_out": JOBS[job],
            "processes": self.threads,
            **self._more,
        }
        done = subprocess.run(  # noqa: S603  our own file, an interpreter named by the user
            [self.python(job), str(HERE / "check.py")],
            input=json.dumps(request),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        found: dict[str, Any] = json.loads(done.stdout)
        return found
