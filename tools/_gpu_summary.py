"""The findings of tools/gpu_run as a few lines for people: what was asked, and what came out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TABLES = ("seconds of workers", "seconds in native calls", "moments, seconds", "curve", "process")


def summary(found: Mapping[str, Any]) -> list[str]:
    """Return lines; a section without findings has none."""
    sections = found["sections"]
    lines = [f"machine: {found['machine'].get('device')}, commit {found['machine'].get('commit')}"]
    lines += _pack(sections.get("pack", {}))
    lines += _fresh(sections.get("fresh", {}))
    for name, facts in sections.get("rows", {}).items():
        rates = facts.get("GB/s by epoch") if isinstance(facts, dict) else facts
        lines.append(f"rows, {name}: {rates}")
    lines += _doors(sections.get("doors", {}))
    exact = sections.get("exact", {})
    if exact:
        wrong = sum(one["mismatches"] for one in exact.values() if isinstance(one, dict))
        stopped = exact.get("stopped before", "nothing")
        compared = exact.get("bytes compared", 0) / 1e9
        lines.append(f"exact: {compared:.1f} GB, {wrong} differ, stopped before {stopped}")
    for name, facts in sections.get("sanitizer", {}).items():
        lines.append(f"sanitizer, {name}: {facts}")
    for name, why in sections.get("failed", {}).items():
        lines.append(f"FAILED {name}: {why.strip().splitlines()[-1]}")
    lines += [f"part {name}: {facts}" for name, facts in found["parts"].items()]
    return lines


def _pack(section: Mapping[str, Any]) -> Iterator[str]:
    for name, ways in section.items():
        if not name.endswith("medians"):
            continue
        cpu = ways.get("cpu", {}).get("seconds")
        for way, facts in ways.items():
            ratio = f", {cpu / facts['seconds']:.2f} times the CPU" if cpu else ""
            ends = "{} to {}".format(*facts["fastest and slowest"])
            bytes_ = "same bytes" if facts["same bytes"] else "OTHER BYTES"
            took = f"{facts['seconds']} s ({ends}; first {facts['first']})"
            yield f"pack, {way}: {took}{ratio}, {bytes_}"
            for table in TABLES:
                shown = ", ".join(f"{k} {v}" for k, v in facts[table].items() if v)
                yield f"    {table}: {shown}"
            yield f"    ids in memory: {facts['ids in memory']}"


def _fresh(section: Mapping[str, Any]) -> Iterator[str]:
    for name, facts in section.items():
        if "steps" not in facts:
            yield f"fresh, {name}: {facts}"
            continue
        steps = ", ".join(f"{step} {at}+{took}" for step, (at, took) in facts["steps"].items())
        end = facts["the end of the process"]
        yield f"fresh, {name}: {facts['seconds']} s, {facts['GB/s']} GB/s; {steps}, end {end}"
        if facts["note"]:
            yield f"    {facts['note']}"


def _doors(section: Mapping[str, Any]) -> Iterator[str]:
    for name, facts in section.items():
        if name.endswith("GB/s"):
            rates = (
                f"{way} {rate['later']}" for way, rate in facts.items() if isinstance(rate, dict)
            )
            yield f"doors, {name}: {', '.join(rates)}"
        elif "one text" in name:
            times = (f"{size} {facts[size]['device'][0]}" for size in facts)
            yield f"doors, {name}: {', '.join(times)}"
        else:
            yield f"doors, {name}: {facts}"
