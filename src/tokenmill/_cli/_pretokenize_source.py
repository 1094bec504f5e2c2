"""What `pretokenize` reads, and the folder it writes to if none is given."""

from __future__ import annotations

import dataclasses
import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenmill._cli._lines import note

if TYPE_CHECKING:
    import argparse

    from tokenmill._mill.plan.presets import HubDataset

_DEFAULT_FOLDER = "tokenized"
_OF_THE_HUB = ("config", "split", "revision", "streaming", "cache_dir", "batch_size")


@dataclasses.dataclass(frozen=True)
class NamedSource:
    """A path, or a dataset on the hub that is not loaded yet, and lines about it for people."""

    found: HubDataset | str
    name: str
    notes: tuple[str, ...]

    def load(self, options: argparse.Namespace) -> Any:
        """Return what the mill reads. Loading a dataset may take long."""
        if isinstance(self.found, str):
            return self.found
        from tokenmill._mill.plan.hub import load_source

        return load_source(self.found, streaming=options.streaming, cache_dir=options.cache_dir)

    @property
    def default_output(self) -> str:
        """A folder named after the source."""
        return f"{_DEFAULT_FOLDER}/{self.name}"


def find_source(options: argparse.Namespace) -> NamedSource:
    """Find what --dataset or --input-dir names."""
    from tokenmill._mill.plan.presets import find_dataset

    found = options.input_dir or find_dataset(options.dataset)
    if isinstance(found, str):
        return NamedSource(found, _name_of(found), tuple(_ignored(options)))
    given = {name: getattr(options, name) for name in ("config", "split", "revision")}
    given["column"] = options.field
    wanted = dataclasses.replace(found, **{k: v for k, v in given.items() if v is not None})
    notes = [note("dataset", wanted.words + (f": {wanted.note}" if wanted.note else ""))]
    if options.streaming:
        notes.append(
            note("resume", "not possible: a stream always starts at its beginning; without")
            + "\n"
            + note("", "--streaming the dataset is downloaded once, and a stopped run resumes")
        )
    return NamedSource(wanted, options.dataset.rpartition("/")[2], tuple(notes))


def _ignored(options: argparse.Namespace) -> list[str]:
    """Name the options that only a dataset on the hub has a use for."""
    given = [f"--{name.replace('_', '-')}" for name in _OF_THE_HUB if getattr(options, name)]
    return (
        [note("ignored", f"{', '.join(given)}: the input is files, not the hub")] if given else []
    )


def _name_of(path: str) -> str:
    """Return the name of a folder or a file without its suffixes: `raw/*.jsonl` -> `raw`."""
    parts = Path(path).parts
    plain = parts[: next((n for n, part in enumerate(parts) if glob.has_magic(part)), len(parts))]
    place = Path(*plain).resolve()
    return place.name if place.is_dir() else place.name.partition(".")[0] or place.name
