"""Repositories of the Hugging Face hub -> a file in the local cache."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from tokenmill._errors import MissingDependency, SourceNotFound
from tokenmill._load.files import HUB_FILES, VOCABULARIES, companions

_REPOSITORY = re.compile(r"(?:[A-Za-z0-9][\w.-]*/)?[A-Za-z0-9_][\w.-]*")
# A name without an owner and with such an ending is a missing file, not a model.
_FILE_SUFFIXES = frozenset((".bpe", ".gz", ".json", ".mill", ".model", ".tiktoken", ".txt", ".xz"))


def is_repository_name(source: str) -> bool:
    """Tell whether `source` could be a hub id: "owner/name", or a legacy name such as "gpt2"."""
    if _REPOSITORY.fullmatch(source) is None:
        return False
    return "/" in source or Path(source).suffix not in _FILE_SUFFIXES


def fetch_from_hub(repository: str) -> Path:
    """Return the tokenizer file of a repository, from the local cache or else downloaded."""
    try:
        from huggingface_hub import errors
    except ImportError as error:
        problem = f"not installed, but {repository!r} is not a path here, so it must be on the hub"
        hint = "check the path, or pip install 'tokenmill[hf]' to look there"
        raise MissingDependency(problem, name="huggingface_hub", hint=hint) from error

    if (cached := _cached(repository, HUB_FILES)) is not None:
        return cached
    for name in (*HUB_FILES, *VOCABULARIES):
        try:
            path = _download(repository, name)
        except errors.EntryNotFoundError as error:
            # Also raised when nothing is cached and the hub is out of reach.
            if isinstance(error, FileNotFoundError):
                if (cached := _cached(repository, VOCABULARIES)) is not None:
                    return cached
                raise _unreachable(repository, error) from error
        except (OSError, ValueError) as error:
            raise _unreachable(repository, error) from error
        else:
            _fetch_companions(repository, path)
            return path
    problem = f"expected one of {', '.join(HUB_FILES)} in the repository, got none"
    hint = "convert its tokenizer to tokenizer.json with transformers"
    raise SourceNotFound(problem, source=repository, hint=hint)


def _cached(repository: str, names: tuple[str, ...]) -> Path | None:
    import huggingface_hub

    found = (huggingface_hub.try_to_load_from_cache(repository, name) for name in names)
    return next((Path(path) for path in found if isinstance(path, str)), None)


def _download(repository: str, name: str) -> Path:
    import huggingface_hub

    offline = _why_not_asked() is not None
    return Path(huggingface_hub.hf_hub_download(repository, name, local_files_only=offline))


def _why_not_asked() -> str | None:
    """Explain why the hub is out of reach: without a network, its library tries for 30 seconds."""
    import socket  # only needed to look up a name
    from urllib.parse import urlsplit
    from urllib.request import getproxies

    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return "HF_HUB_OFFLINE is set"
    if getproxies():
        return None  # a proxy looks up names
    try:
        socket.getaddrinfo(urlsplit(constants.ENDPOINT).hostname, None)
    except OSError:
        return "there is no network"
    return None


def _fetch_companions(repository: str, path: Path) -> None:
    """Fetch the files next to a vocabulary; a repository need not have any of them."""
    from huggingface_hub import errors

    for file in companions(path):
        with suppress(errors.EntryNotFoundError):
            _download(repository, file.name)


def _unreachable(repository: str, error: Exception) -> SourceNotFound:
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if (why := _why_not_asked()) is not None:
        reason = f"no such file or directory, and the hub cannot be reached: {why}"
    problem = f"expected a file, a directory or a hub repository, got: {reason}"
    hint = "check the spelling, the network and, for a gated repository, `hf auth login`"
    return SourceNotFound(problem, source=repository, hint=hint)


def fetch_beside(repository: str, names: tuple[str, ...]) -> Path | None:
    """Fetch those of the files that a repository has; return their folder, or None."""
    try:
        from huggingface_hub import errors
    except ImportError:
        return None
    folder = None
    for name in names:
        with suppress(errors.EntryNotFoundError, OSError, ValueError):
            folder = _download(repository, name).parent
    return folder
