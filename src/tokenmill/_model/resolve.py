"""Where a tokenizer comes from -> a model that is ready to run, from the cache if it is there."""

from __future__ import annotations

import json
import mmap
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenmill._errors import LoadError, UnsupportedTokenizer
from tokenmill._load.files import files_of
from tokenmill._load.hub import fetch_from_hub, is_repository_name
from tokenmill._model import cache
from tokenmill._model.file import is_model_file, open_model, write_compressed, write_model
from tokenmill._model.ready import Ready, cached, from_payload
from tokenmill._model.seen import arguments_of, state_of
from tokenmill._model.shared import loading, name_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokenmill._spec import TokenizerSpec

BUILTIN = Path(__file__).parents[1] / "data" / "builtin.json.xz"


@dataclass(frozen=True)
class Request:
    """What `Tokenizer.load` was asked for."""

    source: object
    pattern: str | None
    special_tokens: Mapping[str, int] | None
    tables: str = "usual"

    def spec(self, written: bytes | None = None) -> TokenizerSpec:
        """Read and describe the source; `written` is what a loaded one writes, if that is known."""
        from tokenmill._load.source import load_source

        return load_source(self.source, self.pattern, self.special_tokens, written)


def resolve(request: Request, stacklevel: int) -> Ready:
    """Find or build the model; `stacklevel` is where a warning should point."""
    if request.source is None:
        return _resolve_builtin(request)
    path = _as_path(request.source)
    if path is not None and is_model_file(path):
        _refuse_options(request, f"the compiled model {path}")
        return _resolve_model_file(path, request.tables)
    if path is not None:
        return _resolve_files(request, path, stacklevel + 1)
    written = _written(request.source)
    key = _object_key(request.source, written)
    if key is None:
        return _build(request.spec(written), key, request.tables, stacklevel + 1)
    with loading(name_of(key, request.tables)):
        ready = cached(key, request.tables)
        return ready or _build(request.spec(written), key, request.tables, stacklevel + 1)


def _resolve_files(request: Request, path: Path, stacklevel: int) -> Ready:
    """Find the model of a file or folder: by the state of its files, else by their bytes."""
    source = str(request.source)
    repository = None if Path(source).exists() else source
    arguments = arguments_of(str(path), request.pattern, request.special_tokens, repository)
    state = state_of(str(path), arguments)
    known = None if state is None else cache.recall(state.name)
    ready = None if known is None else cached(known, request.tables)
    if ready is not None:
        return ready
    key = _file_key(path, arguments)
    if key is None:
        return _build(request.spec(), key, request.tables, stacklevel + 1)
    with loading(name_of(key, request.tables)):
        ready = cached(key, request.tables)
        if state is not None and state.is_settled:
            cache.note(state.name, key)
        return ready or _build(request.spec(), key, request.tables, stacklevel + 1)


def compile_file(
    source: object, out: Path, *, pattern: str | None = None, compressed: bool = False
) -> None:
    """Write the `.mill` file of a tokenizer."""
    path = _as_path(source)
    if path is not None and is_model_file(path):
        model = open_model(path)
        if not model.is_compressed:
            raise LoadError(
                "already compiled, and the tables do not hold what would be compressed",
                path=path,
                hint="compile from the tokenizer that it was made of",
            )
        spec = model.spec()
    elif source is None:
        spec = _builtin_spec(BUILTIN.read_bytes())
    else:
        spec = Request(source, pattern, None).spec()
    from tokenmill._compile import compile_spec

    if compressed:
        compile_spec(spec)  # refuse now what could not be loaded later
        write_compressed(spec, out)
    else:
        write_model(compile_spec(spec), out)


def from_spec(spec: TokenizerSpec, reasons: Sequence[str]) -> Ready:
    """Use the reference library."""
    from tokenmill._compile import describe_reference
    from tokenmill._reference.model import ReferenceModel

    meta = describe_reference(spec, reasons)
    return Ready(ReferenceModel(spec), None, meta, spec)


def _resolve_builtin(request: Request) -> Ready:
    """Load the tokenizer of the package: a tokenizer.json, packed."""
    _refuse_options(request, "the tokenizer of the package")
    packed = BUILTIN.read_bytes()
    key = cache.key_of([packed], {"form": "builtin"})
    with loading(name_of(key, request.tables)):
        ready = cached(key, request.tables)
        return ready or _build(_builtin_spec(packed), key, request.tables, stacklevel=1)


def _builtin_spec(packed: bytes) -> TokenizerSpec:
    import lzma

    from tokenmill._load.tokenizer_json import read_tokenizer_json

    text = lzma.decompress(packed)
    return read_tokenizer_json(json.loads(text), text, "builtin")


def _resolve_model_file(path: Path, tables: str) -> Ready:
    model = open_model(path)
    if not model.is_compressed:
        return from_payload(model.payload, tables, model.checksum)
    key = cache.key_of([model.payload], {"form": "compressed"})
    with loading(name_of(key, tables)):
        return cached(key, tables) or _build(model.spec(), key, tables, stacklevel=1)


def _build(spec: TokenizerSpec, key: str | None, tables: str, stacklevel: int) -> Ready:
    from tokenmill._compile import compile_spec
    from tokenmill._reference.model import warn

    key = key or cache.key_of([spec.content_hash.encode()], {"name": spec.name})
    try:
        payload = compile_spec(spec)
    except UnsupportedTokenizer as error:
        ready = from_spec(spec, error.reasons)
        warn(spec, error.reasons, stacklevel + 1)
        return ready
    cache.store(key, payload)
    # The file, where there is one now, is shared with other processes; the bytes are not.
    return cached(key, tables) or from_payload(payload, tables)


def _as_path(source: object) -> Path | None:
    """Return the file or directory that a source names; a hub id names a file once fetched."""
    if not isinstance(source, (str, os.PathLike)):
        return None
    path = Path(source)
    if not path.exists() and isinstance(source, str) and is_repository_name(source):
        return fetch_from_hub(source)
    return path if path.exists() else None


def _file_key(path: Path, arguments: dict[str, Any]) -> str | None:
    """Hash the bytes of all files that the loader may read, so that a hit needs no parsing."""
    sources = {file.name: _bytes_of(file) for file in files_of(path) if file.is_file()}
    arguments = {**arguments, "files": list(sources)}
    return cache.key_of(list(sources.values()), arguments) if sources else None


def _written(source: Any) -> bytes | None:  # an object of any library
    """Return what a loaded `tokenizers.Tokenizer` writes, None for others and where it cannot."""
    if not hasattr(source, "to_str") or not hasattr(source, "get_added_tokens_decoder"):
        return None
    try:
        text: str = source.to_str()
    except Exception:
        return None
    return text.encode()


def _object_key(source: Any, text: bytes | None) -> str | None:
    """Hash what a loaded tokenizer writes: faster than to read it again."""
    if text is None:
        return None
    # Ids of added tokens may differ from those in the text; the loader then refuses.
    added = {str(i): token.content for i, token in source.get_added_tokens_decoder().items()}
    return cache.key_of([text], {"form": "object", "kind": type(source).__name__, "added": added})


def _bytes_of(path: Path) -> bytes | memoryview:
    with path.open("rb") as file:
        try:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except (ValueError, OSError):  # empty, or no plain file
            return file.read()


def _refuse_options(request: Request, what: str) -> None:
    if request.pattern is not None or request.special_tokens is not None:
        given = "pattern" if request.pattern is not None else "special_tokens"
        raise LoadError(
            f"expected no pattern and no special_tokens for {what}, got {given}",
            hint="they are for .tiktoken files",
        )
