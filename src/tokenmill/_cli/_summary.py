"""What a person reads before and after `tokenmill pack`: a word, a number, and what it is.

Accounts are written as accounts: what came in, what was taken off or put on, what is left. Every
line has a label of twelve columns and a number of twelve; only a path may go beyond a hundred.
"""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenmill._mill.estimate import Estimate
    from tokenmill._mill.meter import Meter
    from tokenmill._mill.output.manifest import Manifest
    from tokenmill._mill.pack import PackResult
    from tokenmill._mill.plan.task import Task

_WIDTH = 100
_LABEL = 12
_NUMBER = 12
_NAME = 16
_MEGA = 1e6
_ROUND = 10  # rates from here on are shown without a fraction
_LEAST = 0.01
_MINUTE = 60
_MUCH = 0.1  # of a run's time
_LOOKED_AT = 10_000  # lines of the quarantine, for the first place of each reason
# Why documents are left out that nothing is wrong with.
_LEFT_OUT = {
    "limit_documents": "behind --limit-documents",
    "max_tokens": "behind --max-tokens",
    "max_sequences": "behind the last row that was asked for",
    "source_cap": "above the max_tokens of their source",
    "not_in_the_mix": "above the weight of their source",
    "tail": "in the last, short row, which is dropped",
    "no_row": "no row has room for them",
    "no_tokens": "the tokenizer leaves nothing of them",
}


def opening(task: Task, output: object) -> str:
    """Say what was found and chosen."""
    plan, settings = task.plan, task.plan.settings
    size = _size(plan.total_bytes) if plan.total_bytes else "size not known"
    files = f"{'inputs':<{_LABEL}}{counted(len(plan.files), 'file')}, {size}: "
    rows = "documents as they are"
    if settings.context_length is not None:
        rows = f"{settings.pack}, rows of {settings.context_length:,}"
        rows += f", {settings.overlap:,} of them shared" if settings.overlap else ""
    lines = [
        files + _names([file.path for file in plan.files], _WIDTH - len(files)),
        f"{'tokenizer':<{_LABEL}}{task.tokenizer.name}, ids as {settings.dtype}",
        *task.notes,
        f"{'packing':<{_LABEL}}{rows}, as {', '.join(settings.formats)} -> {output}",
    ]
    return "\n".join(lines)


def closing(result: PackResult, seconds: float) -> str:
    """Say what was done, and that it adds up."""
    manifest = result.manifest
    if result.was_finished:
        return (
            f"\n{manifest.folder} is finished already: "
            f"{counted(manifest.documents['out'], 'document')}, "
            f"{counted(manifest.tokens['out'], 'token')}, "
            f"{counted(len(manifest.shards), 'shard')}; "
            "nothing to do"
        )
    lines = [
        "",
        *_documents(manifest),
        *_tokens(manifest),
        *_shards(manifest),
        *_times(result, seconds),
        _line("books", "balance", f"{manifest.folder / 'manifest.json'}"),
    ]
    return "\n".join(lines)


def rewritten(manifest: Manifest, seconds: float) -> str:
    """Say what convert, reshard or merge has written, and that it adds up."""
    lines = [
        *_documents(manifest),
        *_tokens(manifest),
        *_shards(manifest),
        _line("time", _duration(seconds), "nothing was tokenized"),
        _line("books", "balance", f"{manifest.folder / 'manifest.json'}"),
    ]
    return "\n".join(lines)


def facts(manifest: Manifest, seconds: float) -> dict[str, Any]:
    """Return what a program wants to know of a finished output."""
    return {
        "output": str(manifest.folder),
        "plan_id": manifest.plan_id,
        "documents": manifest.documents,
        "tokens": manifest.tokens,
        "shards": len(manifest.shards),
        "seconds": round(seconds, 3),
    }


def _documents(manifest: Manifest) -> list[str]:
    books = manifest.documents
    skipped, replaced = books["skipped"], books["replaced"]
    if not skipped:
        lines = [_line("documents", f"{books['in']:,}", "read, all of them packed")]
    else:
        lines = [_line("documents", f"{books['in']:,}", "read")]
        notes = _notes(manifest, skipped)
        lines += [_line("", f"-{n:,}", _words(why), notes[why]) for why, n in skipped.items()]
        lines.append(_line("", f"{books['out']:,}", "packed"))
    for why, count in replaced.items():
        lines.append(_line("", f"{count:,}", "of them mended", _words(why)))
    aside = sum(count for why, count in skipped.items() if _is_aside(manifest, why))
    if aside:
        lines.append(_line("put aside", f"{aside:,}", f"{manifest.folder / 'quarantine.jsonl'}"))
    return lines


def _notes(manifest: Manifest, skipped: dict[str, int]) -> dict[str, str]:
    """Say of each reason where it was met first, or why there is no place to be told."""
    aside = [why for why in skipped if _is_aside(manifest, why)]
    places = _first_places(manifest, aside)
    notes = {}
    for why, count in skipped.items():
        if why in places:
            notes[why] = ("first in " if count > 1 else "") + places[why]
        elif why in aside:
            notes[why] = ""
        else:
            notes[why] = _LEFT_OUT.get(why, "counted, not put aside")
    return notes


def _first_places(manifest: Manifest, reasons: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    path = manifest.folder / "quarantine.jsonl"
    if not reasons or not path.exists():
        return found
    with path.open(encoding="utf-8") as lines:
        for line in islice(lines, _LOOKED_AT):
            record = json.loads(line)
            place = "" if record["reason"] == "bad_file" else f":{record['line']}"
            found.setdefault(record["reason"], record["file"] + place)
            if len(found) == len(reasons):
                break
    return found


def _is_aside(manifest: Manifest, reason: str) -> bool:
    policies: dict[str, str] = manifest.options.get("policies", {})
    return policies.get(reason) == "quarantine"


def _tokens(manifest: Manifest) -> list[str]:
    books = manifest.tokens
    changes = [("+", "padding"), ("+", "repeated"), ("-", "dropped")]
    lines = [
        _line("", f"{sign}{books[name]:,}", name if name != "repeated" else "shared by two rows")
        for sign, name in changes
        if books[name]
    ]
    if not lines:
        return [_line("tokens", f"{books['in']:,}", "encoded, all of them stored")]
    formats = list(dict.fromkeys(shard["format"] for shard in manifest.shards))
    stored = "stored" if len(formats) <= 1 else f"stored in {formats[0]}"
    first = _line("tokens", f"{books['in']:,}", "encoded")
    return [first, *lines, _line("", f"{books['out']:,}", stored)]


def _shards(manifest: Manifest) -> list[str]:
    groups: dict[str, list[dict[str, Any]]] = {}
    several = len({shard["split"] for shard in manifest.shards}) > 1
    for shard in manifest.shards:
        name = f"{shard['format']} {shard['split']}" if several else shard["format"]
        groups.setdefault(name, []).append(shard)
    width = max(map(len, groups), default=0)
    lines: list[str] = []
    for name, shards in groups.items():
        size = sum(file["bytes"] for shard in shards for file in shard["files"])
        rows, tokens = (sum(shard[key] for shard in shards) for key in ("rows", "tokens"))
        where = manifest.folder / shards[0]["format"]
        what = f"{counted(rows, 'row')}, {tokens:,} tokens, {_size(size)} in {where}"
        label = "" if lines else "shards"
        lines.append(_line(label, f"{len(shards):,}", name.ljust(width), what))
    return lines or [_line("shards", "0", "no document gave a row")]


def _times(result: PackResult, seconds: float) -> list[str]:
    meter = result.meter
    lines = [
        _line("time", _duration(seconds), _rates(meter, seconds)),
        _line("memory", f"{result.memory_mb:,.0f} MB", "at most"),
    ]
    if result.device.note:
        lines.insert(0, _line("device", result.device.name, result.device.note))
    if meter.resumed_bytes:
        resumed = f"of {_size(meter.total_bytes)} of input were done by an earlier run"
        lines.insert(0, _line("resumed", _size(meter.resumed_bytes), resumed))
    return lines


def _rates(meter: Meter, seconds: float) -> str:
    """Say how fast the run was once it ran; what came before is told where it is much."""
    at_work = max(meter.seconds, 1e-3)
    before = seconds - at_work
    words = [f"{_duration(before)} to start"] if before > _MUCH * seconds else []
    new_bytes = meter.input_bytes - meter.resumed_bytes
    if 0 < new_bytes < _MEGA:
        return ", ".join([*words, "too little input to tell a speed"])
    words += [f"{_rate(new_bytes / _MEGA / at_work)} MB/s of input"] if new_bytes else []
    if not meter.resumed_bytes:  # the count has those of an earlier run in it
        words.append(f"{_rate(meter.tokens / _MEGA / at_work)} M tokens/s")
    words += [f"mostly {slowest}"] if (slowest := meter.bottleneck()) else []
    return ", ".join(words)


def estimate(guess: Estimate) -> str:
    """Say what a run will come to."""
    need = guess.output_bytes + guess.work_bytes
    enough = "enough" if guess.free_bytes > need else "TOO LITTLE"
    files, bad = counted(guess.files, "file"), f"{guess.bad_share:.2%}"
    return "\n".join(
        [
            _line("spans", f"{guess.streams:,}", f"{_named(guess.streams, 'stream')} of {files}"),
            _line("documents", f"{guess.documents:,}", f"about; {bad} of the records are bad"),
            _line("tokens", f"{guess.tokens:,}", "about"),
            _line("disk", _size(guess.output_bytes), "in the end"),
            _line("", f"+{_size(guess.work_bytes)}", "while it works"),
            _line("", _size(guess.free_bytes), f"free: {enough}"),
            _line("time", _duration(guess.seconds), "about"),
            _line("sample", _size(guess.sample_bytes), "were tokenized to reckon from"),
        ]
    )


def status(facts: dict[str, Any]) -> str:
    """Say how far a run has come."""
    if facts["state"] == "finished":
        books, tokens = facts["documents"], facts["tokens"]
        return "\n".join(
            [
                _line("finished", f"{facts['shards']:,}", _named(facts["shards"], "shard")),
                _line("documents", f"{books['out']:,}", f"packed, of {books['in']:,} read"),
                _line("tokens", f"{tokens['out']:,}", "stored"),
            ]
        )
    share = facts["input_bytes"] / facts["total_bytes"] if facts["total_bytes"] else 0.0
    done = f"{_size(facts['input_bytes'])} of {_size(facts['total_bytes'])}"
    return "\n".join(
        [
            _line(
                "unfinished",
                f"{share:.0%}",
                f"tokenized: {done}, {counted(facts['parts'], 'part')}",
            ),
            _line(
                "documents",
                f"{facts['documents']:,}",
                f"so far, {counted(facts['bad'], 'bad record')}",
            ),
            _line("tokens", f"{facts['tokens']:,}", "so far"),
            _line("shards", f"{facts['shards']:,}", "so far"),
            "the same `tokenmill pack` command goes on from here",
        ]
    )


def _line(label: str, number: str, what: str, note: str = "") -> str:
    head = f"{label:<{_LABEL}}{number:>{_NUMBER}}  "
    return f"{head}{what:<{_NAME}}  {note}".rstrip() if note else head + what


def _names(names: Sequence[str], width: int) -> str:
    """Return as many names as there is room for, and how many more there are."""
    for shown in range(len(names), 0, -1):
        more = len(names) - shown
        text = ", ".join(names[:shown]) + (f" and {more:,} more" if more else "")
        if len(text) <= width or shown == 1:
            return text
    return ""


def _words(reason: str) -> str:
    return reason.replace("_", " ").replace("utf8", "UTF-8").replace("json", "JSON")


def counted(number: int, name: str) -> str:
    """Write a number of things: `counted(1, "shard") == "1 shard"`."""
    return f"{number:,} {_named(number, name)}"


def _named(number: int, name: str) -> str:
    return name if number == 1 else f"{name}s"


def _rate(value: float) -> str:
    if value < _LEAST:
        return f"less than {_LEAST}"
    return f"{value:,.0f}" if value >= _ROUND else f"{value:.2g}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(seconds, _MINUTE)
    hours, minutes = divmod(int(minutes), _MINUTE)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02.0f} s" if minutes else f"{rest:.1f} s"


def _size(count: int) -> str:
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:  # noqa: PLR2004
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"
