"""Limits -> a table that says every value and why, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill._service.limits import GIB, KIB, MIB

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokenmill._service.limits import Limits

ABOUT = {
    "training": "batch jobs: all cores, deep queues, no deadline; nobody waits for one answer",
    "inference": "a gateway or an application: bounded queues, generous deadlines",
    "realtime": "a person waits: short queues and deadlines, refuse early rather than late",
    "edge": "a small machine: one thread, tiny tables, 128 MiB for the process",
}
_WHY = {
    "threads": "of one call: least of CPU affinity, control-group quota and TOKENMILL_THREADS",
    "max_inflight": "requests on threads at once; more than CPUs only makes each one slower",
    "max_queue": "requests that wait in each lane; one more is refused with Overloaded",
    "max_queue_bytes": "of text that may wait in each lane, which limits memory",
    "max_text_bytes": "of text in one request; a longer one is refused with TextTooLong",
    "timeout": "from the call to the answer, including the wait; then the work stops",
    "inline_bytes": "up to this size the event loop does the work; a thread would take longer",
    "short_bytes": "up to this size a request never waits for a longer one",
    "tables": "size of the word tables; smaller ones are slower",
    "cache_bytes": "of the segment cache; off by default, as encoding is nearly as fast",
    "memory_limit": "of the process; above it, caches are cleared, then requests refused",
    "nice": "priority that threads give up, so that the event loop is served first",
    "grace": "for requests to finish in close(), before they are stopped",
}
_UNITS = ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB"))


def explain(limits: Limits) -> str:
    """Return a line for each limit: its name, its value, and what it is for.

    ``max_queue        1024      requests that wait in each lane; ...``
    """
    values = {name: value for name, value in limits.as_dict().items() if name != "profile"}
    return "\n".join([f"{limits.profile}: {ABOUT[limits.profile]}", *table(values, _WHY)])


def table(values: Mapping[str, object], why: Mapping[str, str]) -> list[str]:
    """Return a line for each value, in columns: its name, the value, why it is there."""
    rows = [(name, _shown(name, value)) for name, value in values.items()]
    names = max(len(name) for name, _ in rows)
    widest = max(len(value) for _, value in rows)
    return [f"  {name:<{names}}  {value:<{widest}}  {why[name]}" for name, value in rows]


def _shown(name: str, value: object) -> str:
    if value is None:
        return "none"
    if name in {"timeout", "grace"} or name.endswith("_seconds"):
        return f"{value:g} s"
    if name.endswith("_bytes") or name == "memory_limit":
        return _bytes(int(str(value)))
    return str(value)


def _bytes(count: int) -> str:
    for unit, name in _UNITS:
        if count >= unit and count % unit == 0:
            return f"{count // unit} {name}"
    return f"{count} B"
