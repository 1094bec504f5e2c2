"""Datasets by name: a preset, a path, or a hub id -> what to load from where."""

from __future__ import annotations

import glob
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Any

from tokenmill._errors import SourceNotFound

_FILE = "data/presets.yaml"


@dataclass(frozen=True)
class HubDataset:
    """A dataset on the hub. `config` and `column` are None if the dataset has only one."""

    hub: str
    config: str | None = None
    split: str = "train"
    column: str | None = None
    note: str = ""
    revision: str | None = None

    @property
    def words(self) -> str:
        """Name the dataset for people, and in the plan of a run: "owner/name, config, split"."""
        named = [self.hub, self.config, self.split, self.revision]
        return ", ".join(part for part in named if part)


def read_presets() -> dict[str, HubDataset]:
    """Return the presets of the package by name."""
    import yaml  # nothing else here needs it

    text = files("tokenmill").joinpath(_FILE).read_text(encoding="utf-8")
    data: dict[str, dict[str, Any]] = yaml.safe_load(text)
    return {name: HubDataset(**fields) for name, fields in data.items()}


def find_dataset(name: str) -> HubDataset | str:
    """Return the preset or hub dataset that a name means, or the name if it is a path.

    A preset comes before a file of the same name; write ./name for the file.
    """
    presets = read_presets()
    if name in presets:
        return presets[name]
    if Path(name).exists() or glob.has_magic(name):
        return name
    owner, slash, rest = name.partition("/")
    if slash and owner and rest and "/" not in rest and not name.startswith((".", "~")):
        return HubDataset(name)
    near = get_close_matches(name.lower(), presets, n=3, cutoff=0.5)
    raise SourceNotFound(
        "not a preset, a file or a folder; a hub id has the form owner/name",
        source=name,
        hint=f"did you mean {' or '.join(near)}?" if near else f"presets: {', '.join(presets)}",
    )
