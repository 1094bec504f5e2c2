"""First and later passes of one thread against gigatoken, with all vectors and with AVX2 alone."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from _driver import Launcher, Request, progress
from _texts import corpus_files
from benchmarks.compare.goals._rows import Goal, ratio_goal

if TYPE_CHECKING:
    import argparse

PASSES = 4
AVX2_SHARE = 0.85  # of what is asked of all vectors
TARGET = "TOKENMILL_TARGET"


class Pair(NamedTuple):
    """A tokenizer and a corpus, with the ratios that were asked: later passes, first pass."""

    tokenizer: str
    corpus: str
    later: float | None
    first: float | None


PAIRS = (
    Pair("gpt2", "en_web", 1.2, 1.8),
    Pair("llama3", "en_web", 1.3, 2.2),
    Pair("llama3", "code", 1.6, 2.0),
    Pair("llama3", "ru", 1.9, 2.6),
    Pair("llama3", "zh", 2.3, 10),
    Pair("llama3", "ja", 2.3, None),
    Pair("llama3", "ko", 1.8, 5),
    Pair("o200k_base", "en_web", 1.4, None),
    Pair("o200k_base", "ru", 1.9, None),
    Pair("o200k_base", "th", 1.3, 5),
)
# What runs in turn: a name, the library, the target and whether texts are given as str.
RUNS = {
    "ours": ("tokenmill", "", False),
    "avx2": ("tokenmill", "avx2", False),
    "theirs": ("gigatoken", "", False),
}
TEXT_RUNS = {**RUNS, "ours str": ("tokenmill", "", True), "theirs str": ("gigatoken", "", True)}
STR_OF_BYTES, STR_RATIO = 0.95, 1.15


def encode_rows(arguments: argparse.Namespace) -> list[Goal]:
    """Return a goal for each pair, pass and target; the first pair is measured with str, too."""
    launch = Launcher(arguments)
    corpora = corpus_files(arguments.corpora)
    goals: list[Goal] = []
    for pair in PAIRS:
        body = {
            "task": "passes",
            "tokenizer": str((arguments.tokenizers / pair.tokenizer).resolve()),
            "corpora": [str(corpora[pair.corpus].resolve())],
            "limit_bytes": None,
            "passes": PASSES,
            "warm_up": False,  # what a library prepares in its first call counts
        }
        runs = TEXT_RUNS if pair is PAIRS[0] else RUNS
        speeds = measure(launch, body, runs, arguments.rounds, f"{pair.tokenizer} {pair.corpus}")
        goals += pair_goals(pair, speeds)
        if "ours str" in speeds:
            goals += str_goals(pair, speeds)
    return goals


def measure(
    launch: Launcher, body: dict[str, Any], runs: dict[str, Any], rounds: int, what: str
) -> dict[str, list[list[float]]]:
    """Return MB/s of all passes, for each run and round."""
    speeds: dict[str, list[list[float]]] = {name: [] for name in runs}
    answers = set()
    for number in range(rounds):
        progress(f"{what}: round {number + 1} of {rounds}")
        for name, (library, target, as_text) in runs.items():
            os.environ.update({TARGET: target} if target else {})
            report = launch(Request(library, {**body, "as_text": as_text}, 1))
            os.environ.pop(TARGET, None)
            if "cannot" in report:
                raise SystemExit(f"{library}, {what}: {report['cannot']}")
            speeds[name].append(report["megabytes_per_second"])
            answers.add(report["ids"])
    if len(answers) != 1:
        raise SystemExit(f"{what}: the libraries have different ids")
    return speeds


def pair_goals(pair: Pair, speeds: dict[str, list[list[float]]]) -> list[Goal]:
    """Return later and first passes, with all vectors and with AVX2."""
    goals = []
    for name, share in (("ours", 1.0), ("avx2", AVX2_SHARE)):
        for which, asked, pick in (("later", pair.later, max_later), ("first", pair.first, first)):
            what = f"{pair.tokenizer} {pair.corpus} {which}{' AVX2' if name == 'avx2' else ''}"
            ours, theirs = list(map(pick, speeds[name])), list(map(pick, speeds["theirs"]))
            goals.append(ratio_goal(what, asked and asked * share, ours, theirs))
    return goals


def str_goals(pair: Pair, speeds: dict[str, list[list[float]]]) -> list[Goal]:
    """Return what lists of str reach, against bytes and against gigatoken."""
    ours = list(map(max_later, speeds["ours str"]))
    what = f"{pair.tokenizer} {pair.corpus} str later"
    return [
        ratio_goal(f"{what} / bytes", STR_OF_BYTES, ours, list(map(max_later, speeds["ours"]))),
        ratio_goal(what, STR_RATIO, ours, list(map(max_later, speeds["theirs str"]))),
    ]


def first(passes: list[float]) -> float:
    """Return MB/s of the first pass."""
    return passes[0]


def max_later(passes: list[float]) -> float:
    """Return MB/s of the best later pass."""
    return max(passes[1:])
