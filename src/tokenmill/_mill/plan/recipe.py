"""Recipes: sources and options of a run from a YAML or TOML file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tokenmill._config.toml import read_toml
from tokenmill._errors import LoadError, OptionError
from tokenmill._mill.plan.options import PackOptions

_RUN = (
    "tokenizer", "output", "workers", "memory_limit", "max_bad", "progress", "force", "device",
    "metrics", "otlp",
)  # fmt: skip


def read_recipe(name: str) -> tuple[list[Any], dict[str, Any]]:
    """Return the sources and the options that a recipe has.

    A recipe has `sources`, a list of paths or of mappings with `path`, `weight`, `max_tokens`,
    `field` and `name`; all other keys are options of `pack` under their own names.
    """
    path = Path(name)
    data = _parse(path)
    if not isinstance(data, dict):
        raise LoadError(f"expected keys and values, got {type(data).__name__}", path=path)
    sources = data.pop("sources", [])
    if not isinstance(sources, list):
        raise LoadError("sources: expected a list", path=path)
    known = {*PackOptions.__annotations__, *_RUN}
    for key in data:
        if key not in known:
            raise OptionError(
                f"unknown key {key!r}",
                where=name,
                hint="one of sources, " + ", ".join(sorted(known)),
            )
    return sources, data


def _parse(path: Path) -> Any:
    if path.suffix == ".toml":
        return read_toml(path)
    import yaml  # only recipes need it

    text = path.read_text(encoding="utf-8")
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise LoadError(" ".join(str(error).split()), path=path) from error
