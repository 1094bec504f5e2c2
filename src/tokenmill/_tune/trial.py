"""One run of a setting: `tokenmill pack` on the sample, in a fresh process, as a user runs it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tokenmill._config import VARIABLE
from tokenmill._errors import TokenmillError
from tokenmill._tune.search import TuneTrial

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tokenmill._tune.space import TuneSetting

# What would win over the configuration.
_HIDDEN = ("TOKENMILL_THREADS", "OMP_NUM_THREADS")


@dataclass
class TrialRunner:
    """Packs the same inputs with different settings, and checks that the outputs are equal."""

    arguments: Sequence[str]  # of `tokenmill pack`: inputs, tokenizer, rows
    folder: Path  # for configurations and outputs
    report: Callable[[str], None] = lambda _: None
    checksums: list[str] = field(default_factory=list)  # of the shards, by the first run
    runs: int = 0

    def __call__(self, setting: TuneSetting) -> TuneTrial:
        """Run one setting; TokenmillError if it fails, or if it changes the output."""
        self.runs += 1
        values = ", ".join(f"{key}={value}" for key, value in setting.as_dict().items())
        self.report(f"run {self.runs}: {values}")
        config = self.folder / "trial.toml"
        config.write_text(setting.as_toml(), encoding="utf-8")
        output = self.folder / "output"
        try:
            facts = self._pack(config, output)
            self._compare(output, values)
        finally:
            shutil.rmtree(output, ignore_errors=True)
        return TuneTrial(setting, _seconds_of(facts), facts["memory_mb"])

    def _pack(self, config: Path, output: Path) -> dict[str, Any]:
        environment = {k: v for k, v in os.environ.items() if k not in _HIDDEN}
        end = ("-o", str(output), "--json")
        done = subprocess.run(  # noqa: S603 -- our own command
            [sys.executable, "-m", "tokenmill", "pack", *self.arguments, *end],
            capture_output=True,
            text=True,
            check=False,
            env={**environment, VARIABLE: str(config)},
        )
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines()
            problem = lines[-1] if lines else f"exit status {done.returncode}"
            raise TokenmillError(problem.removeprefix("tokenmill: "), where="a trial of `pack`")
        facts: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return facts

    def _compare(self, output: Path, values: str) -> None:
        shards = json.loads((output / "manifest.json").read_bytes())["shards"]
        found = [shard["checksum"] for shard in shards]
        self.checksums = self.checksums or found
        if found != self.checksums:
            raise TokenmillError(
                "this setting changed the output",
                where=values,
                hint="this must not happen; please report it with `tokenmill info --machine`",
            )


def _seconds_of(facts: dict[str, Any]) -> float:
    """Return how long the run was at work: starting does not depend on what is tuned."""
    stats = facts.get("stats")
    return float(stats["wall_seconds"] if stats else facts["seconds"])
