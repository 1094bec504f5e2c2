"""The progress of a run, read from its records and its heartbeat."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any

from tokenmill._errors import SourceNotFound
from tokenmill._mill.output.open_work import view_work
from tokenmill._mill.output.parts import PartRecord
from tokenmill._mill.output.shard_records import ShardRecord
from tokenmill._mill.output.work import PLAN, records
from tokenmill._mill.ranks.home import rank_states
from tokenmill._mill.watch.observer import ENDED, Observer, in_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tokenmill._mill.output.work import Work


# Looks in vain for a heartbeat: of a run that has a plan, and of ranks, which beat less often.
_PATIENCE = 5
_PATIENCE_WITH_RANKS = 300


def status(output: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the state of a run, the counts of its records so far, and its newest heartbeat."""
    if _is_open(output):
        try:
            return _unfinished(output, Observer(output).listen())
        except FileNotFoundError:  # it has finished since
            return status(output)
    return _finished(output)


def follow(
    output: str | os.PathLike[str], pause: Callable[[], bool], observer: Observer | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the state of a run again and again, until it has ended or `pause` returns True.

    While the run answers, its heartbeat has all counts, and its records are left alone.
    """
    watching, silent = observer or Observer(output), 0
    ranks: list[dict[str, Any]] = []
    while _is_open(output):
        run = watching.look()
        before, ranks = ranks, rank_states(view_work(output))
        silent = silent + 1 if run is None and ranks == before else 0
        patience = _PATIENCE_WITH_RANKS if ranks else _PATIENCE
        ended = silent > patience or (run is not None and run["state"] in ENDED and not ranks)
        try:
            facts = _heard(run) if run is not None and not ended else _unfinished(output, run)
        except FileNotFoundError:
            continue  # it has finished since
        yield facts
        if ended or pause():
            return
    yield _finished(output)


def has_died(facts: dict[str, Any]) -> bool:
    """Return whether the run has ended without an output."""
    run = facts.get("run")
    return facts["state"] != "finished" and run is not None and run["state"] in ENDED


def _is_open(output: str | os.PathLike[str]) -> bool:
    """Return whether a run has started here and is not finished; raise if none has started."""
    work = view_work(output)
    # Asked first: the manifest is there before the plan goes.
    has_plan = work.read_record(PLAN) is not None
    if work.is_finished():
        return False
    if not has_plan:
        raise SourceNotFound("no run has started here", source=str(output))
    return True


def _finished(output: str | os.PathLike[str]) -> dict[str, Any]:
    manifest = view_work(output).read_manifest()
    return {
        "state": "finished",
        "documents": manifest.documents,
        "tokens": manifest.tokens,
        "shards": len(manifest.shards),
    }


def _unfinished(output: str | os.PathLike[str], run: dict[str, Any] | None) -> dict[str, Any]:
    work = view_work(output)
    facts = work.read_record(PLAN)
    if facts is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), work.where)
    if "from" in facts:
        return _rewritten(work, len(facts["from"]), run)
    ranks = rank_states(work)
    counts = _of_states(work, run, ranks) if work.is_remote else _of_records(work)
    return {
        "state": "unfinished",
        **counts,
        "total_bytes": sum(max(entry["size"], 0) for entry in facts["inputs"]),
        "run": run,
        "words": "no run is working here" if run is None else in_words(run),
        "ranks": ranks,
    }


def _of_records(work: Work) -> dict[str, int]:
    """Count what the records of parts and shards say."""
    parts = [PartRecord(**value) for value in records(work.parts)]
    return {
        "input_bytes": sum(part.input_bytes for part in parts),
        "parts": len(parts),
        "documents": sum(part.documents for part in parts),
        "tokens": sum(part.tokens for part in parts),
        "bad": sum(sum(part.bad.values()) for part in parts),
        "shards": sum(1 for _ in records(work.shards)),
    }


def _of_states(
    work: Work, run: dict[str, Any] | None, ranks: list[dict[str, Any]]
) -> dict[str, int]:
    """Count what runs say of themselves: reading all records of a store takes many requests."""
    said = ranks or ([] if run is None else [run])
    counts = ("input_bytes", "documents", "tokens", "bad")
    return {
        **{name: sum(state.get(name, 0) for state in said) for name in counts},
        "parts": len(work.record_names("parts")),
        "shards": len(work.record_names("shards")) if ranks else (run or {}).get("shards", 0),
    }


def _rewritten(work: Work, outputs: int, run: dict[str, Any] | None) -> dict[str, Any]:
    """Return the same of convert, reshard and merge, which make shards of shards."""
    shards = [ShardRecord(**value) for value in records(work.shards)]
    stored = [next(iter(shard.formats.values()), {"ids": 0, "padding": 0}) for shard in shards]
    return {
        "state": "unfinished",
        "outputs": outputs,  # that are read
        "input_bytes": 0 if run is None else run["input_bytes"],
        "total_bytes": 0 if run is None else run["total_bytes"],
        "parts": 0,
        "documents": sum(shard.documents for shard in shards),
        "tokens": sum(ids["ids"] - ids["padding"] for ids in stored),
        "bad": 0,
        "shards": len(shards),
        "run": run,
        "words": "no run is working here" if run is None else in_words(run),
        "ranks": [],
    }


def _heard(run: dict[str, Any]) -> dict[str, Any]:
    counts = ("input_bytes", "total_bytes", "documents", "tokens", "bad", "shards")
    return {
        "state": "unfinished",
        **{name: run[name] for name in counts},
        "run": run,
        "words": in_words(run),
    }
