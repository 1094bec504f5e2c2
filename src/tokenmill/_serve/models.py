"""The models of a server: their names, sources, configuration and longest prompts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokenmill import Tokenizer
    from tokenmill._serve.options import ServeOptions

UNKNOWN_LENGTH = -1
_NO_LENGTH = 10**9  # transformers writes 10**30 for "no limit"
_PATHS = ("vocab_file", "merges_file", "name_or_path", "tokenizer_file")


class ServedModels:
    """What a server knows of a model besides its ids; files are read once."""

    def __init__(self, options: ServeOptions) -> None:
        self._sources = dict(options.models)
        self._default = options.models[0][0]
        self._max_model_len = options.max_model_len
        self._configs = {name: _config(source) for name, source in options.models}

    def source_of(self, name: str) -> str:
        """Return where a model came from."""
        return self._sources.get(name) or "built-in"

    def max_model_len(self, name: str | None) -> int:
        """Return the longest prompt of a model: as asked for, else of its configuration."""
        if self._max_model_len is not None:
            return self._max_model_len
        length = self._configs.get(name or self._default, {}).get("model_max_length")
        is_known = isinstance(length, (int, float)) and 0 < length < _NO_LENGTH
        return int(length) if is_known and length is not None else UNKNOWN_LENGTH

    def config_of(self, name: str | None, tokenizer: Tokenizer) -> dict[str, Any]:
        """Return tokenizer_config.json without paths, and the class."""
        config = {
            key: value.get("content") if _is_token(value) else value
            for key, value in self._configs.get(name or self._default, {}).items()
            if key not in _PATHS
        }
        config.setdefault("vocab_size", tokenizer.vocab_size)
        config.setdefault("tokenizer_class", type(tokenizer).__name__)
        return config


def _is_token(value: Any) -> bool:
    return isinstance(value, dict) and "content" in value


def _config(source: str | None) -> dict[str, Any]:
    """Read the tokenizer_config.json that lies with a tokenizer; without one, nothing."""
    path = Path(source or "")
    if source is None or not path.exists():  # the built-in one, or a hub id
        return {}
    folder = path if path.is_dir() else path.parent
    try:
        found = json.loads((folder / "tokenizer_config.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
