"""Files that were loaded before -> their model. All that a process needs which finds its own there.

Starting is most of what a short job does, so this file and those that it imports leave out what
takes milliseconds to import: pathlib, json, dataclasses (docs/develop/log.md, 2026-11-16).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tokenmill._model import cache
from tokenmill._model.file import is_model_file, open_model
from tokenmill._model.ready import cached, from_payload
from tokenmill._model.seen import arguments_of, state_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokenmill._model.ready import Ready


def find_known(
    source: object, pattern: str | None, special_tokens: Mapping[str, int] | None
) -> Ready | None:
    """Return the model of a path if it is a compiled one, or if the cache knows its files.

    None for every other source, and for whatever is wrong: `resolve` then has the words for it.
    """
    path = os.fspath(source) if isinstance(source, (str, os.PathLike)) else None
    if not isinstance(path, str) or not os.path.exists(path):
        return None
    if is_model_file(path):
        if pattern is not None or special_tokens is not None:
            return None
        model = open_model(path)
        return None if model.is_compressed else from_payload(model.payload)
    state = state_of(path, arguments_of(path, pattern, special_tokens))
    key = None if state is None else cache.recall(state.name)
    return None if key is None else cached(key)


def full_path(source: object) -> str | None:
    """Return a path that still holds in another folder, or the hub id; None for other sources."""
    path = os.fspath(source) if isinstance(source, (str, os.PathLike)) else None
    if not isinstance(path, str):
        return None
    return os.path.abspath(path) if os.path.exists(path) else path
