"""The files that a finished run could not read, for the end of its report."""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING

from tokenmill._cli._accounts import BAD_FILE
from tokenmill._cli._lines import counted

if TYPE_CHECKING:
    from tokenmill._mill.output.manifest import Manifest

_SHOWN = 20


def failed_files(manifest: Manifest) -> list[dict[str, str]]:
    """Return the files that a finished run could not read: `file` and `problem`."""
    if not manifest.documents["skipped"].get(BAD_FILE):
        return []
    from tokenmill._mirror import here

    with here(manifest.folder / "quarantine.jsonl").open(encoding="utf-8") as lines:
        return [
            {"file": record["file"], "problem": record["message"]}
            for record in map(json.loads, lines)
            if record["reason"] == BAD_FILE
        ]


def failure_lines(manifest: Manifest, failed: list[dict[str, str]]) -> list[str]:
    """Name them, as many as fit a screen."""
    if not failed:
        return []
    them = "it" if len(failed) == 1 else "them"
    count = counted(len(failed), "file")
    lines = [f"\n{count} could not be read; the output holds no part of {them}:"]
    lines += [f"  {one['file']}: {one['problem']}" for one in islice(failed, _SHOWN)]
    if len(failed) > _SHOWN:
        lines.append(f"  and {len(failed) - _SHOWN:,} more in {manifest.where}/quarantine.jsonl")
    return lines
