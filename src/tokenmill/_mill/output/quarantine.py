"""quarantine.jsonl, read back: the records that were set aside, and why."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tokenmill._errors import TokenmillError
from tokenmill._mill.output.work import QUARANTINE
from tokenmill._mirror import here

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokenmill._mill.output.manifest import Manifest


def quarantined(manifest: Manifest) -> Iterator[dict[str, Any]]:
    """Yield the records that were set aside."""
    path = here(manifest.folder / QUARANTINE)
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                yield json.loads(line)
            except ValueError as error:
                raise TokenmillError(f"line {number} is not JSON", where=str(path)) from error
