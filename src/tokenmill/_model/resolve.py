"""Where a tokenizer comes from -> a model that is ready to run, from the cache if it is there."""

from __future__ import annotations

import json
import mmap
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenmill import _core
from tokenmill._errors import CorruptModel, LoadError, UnsupportedTokenizer
from tokenmill._load.files import files_of
from tokenmill._load.hub import fetch_from_hub, is_repository_name
from tokenmill._model import cache
from tokenmill._model.file import (
    Meta,
    is_model_file,
    open_model,
    unpack_source,
    write_compressed,
    write_model,
)
from tokenmill._model.seen import state_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokenmill._post import Templates, Wanted
    from tokenmill._reference.model import ReferenceModel
    from tokenmill._spec import TokenizerSpec

# A process that loads a cached model and encodes imports nothing but this: what else a method
# needs, it imports itself.
BUILTIN = Path(__file__).parents[1] / "data" / "builtin.json.xz"


@dataclass(frozen=True, eq=False)  # each is equal to itself only, so it can be a weak key
class Ready:
    """A model, what is known about it, and what it can be made of again in another process."""

    model: _core.Model | ReferenceModel
    meta: dict[str, Any]
    payload: bytes | memoryview | None
    spec: TokenizerSpec | None = None

    @cached_property
    def span_model(self) -> _core.Model | ReferenceModel:
        """The model that has offsets: the reference library if the native engine lacks them."""
        reasons = tuple(self.meta.get("no_offsets", ()))
        if not reasons:
            return self.model
        name, source = self.meta["name"], self.source()
        if source is None:
            raise UnsupportedTokenizer(
                f"the native engine has no offsets for it: {'; '.join(reasons)}",
                where="offsets",
                reasons=reasons,
                hint="load it from its tokenizer.json: the library 'tokenizers' then has them",
            )
        from tokenmill._load.tokenizer_json import read_tokenizer_json
        from tokenmill._reference.model import ReferenceModel, warn

        spec = read_tokenizer_json(json.loads(source), source, name)
        model = ReferenceModel(spec)
        warn(spec, reasons, stacklevel=4, what="offsets come from")
        return model

    @cached_property
    def templates(self) -> Templates:
        """What the tokenizer puts around texts."""
        from tokenmill._post import templates_of

        return templates_of(self.meta)

    def tokens_needed(self, wanted: Wanted, *, add_special_tokens: bool) -> int | None:
        """Return how many tokens of each text decide about the rows; None if all of them do."""
        if not self._may_stop:
            return None
        from tokenmill._post import tokens_needed

        is_pair = wanted.pairs is not None
        return tokens_needed(
            wanted, self.templates, is_pair=is_pair, add_special_tokens=add_special_tokens
        )

    @cached_property
    def _may_stop(self) -> bool:
        from tokenmill._post import may_stop

        is_native = isinstance(self.model, _core.Model)
        return is_native and may_stop(self.meta["added_tokens"])

    def source(self) -> bytes | None:
        """Return the text of the tokenizer.json that it came from, if it came from one."""
        if isinstance(self.model, _core.Model):
            return unpack_source(self.model.packed_source)
        return None if self.spec is None else self.spec.source


@dataclass(frozen=True)
class Request:
    """What `Tokenizer.load` was asked for."""

    source: object
    pattern: str | None
    special_tokens: Mapping[str, int] | None

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
        return _resolve_model_file(path)
    if path is not None:
        return _resolve_files(request, path, stacklevel + 1)
    written = _written(request.source)
    key = _object_key(request.source, written)
    ready = None if key is None else _cached(key)
    return ready or _build(request.spec(written), key, stacklevel + 1)


def _resolve_files(request: Request, path: Path, stacklevel: int) -> Ready:
    """Find the model of a file or folder: by the state of its files, else by their bytes."""
    arguments = _arguments(request, path)
    state = state_of(path, arguments)
    known = None if state is None else cache.recall(state.name)
    ready = None if known is None else _cached(known)
    if ready is not None:
        return ready
    key = _file_key(path, arguments)
    ready = None if key is None else _cached(key)
    if key is not None and state is not None and state.is_settled:
        cache.note(state.name, key)
    return ready or _build(request.spec(), key, stacklevel + 1)


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


def from_payload(payload: bytes | memoryview) -> Ready:
    """Use a compiled model in place."""
    model = _core.Model(payload)
    return Ready(model, Meta(model.meta), payload)


def from_spec(spec: TokenizerSpec, reasons: Sequence[str]) -> Ready:
    """Use the reference library."""
    from tokenmill._compile import describe_reference
    from tokenmill._reference.model import ReferenceModel

    meta = describe_reference(spec, reasons)
    return Ready(ReferenceModel(spec), meta, None, spec)


def _resolve_builtin(request: Request) -> Ready:
    """Load the tokenizer of the package: a tokenizer.json, packed."""
    _refuse_options(request, "the tokenizer of the package")
    packed = BUILTIN.read_bytes()
    key = cache.key_of([packed], {"form": "builtin"})
    return _cached(key) or _build(_builtin_spec(packed), key, stacklevel=1)


def _builtin_spec(packed: bytes) -> TokenizerSpec:
    import lzma

    from tokenmill._load.tokenizer_json import read_tokenizer_json

    text = lzma.decompress(packed)
    return read_tokenizer_json(json.loads(text), text, "builtin")


def _resolve_model_file(path: Path) -> Ready:
    model = open_model(path)
    if not model.is_compressed:
        return from_payload(model.payload)
    key = cache.key_of([model.payload], {"form": "compressed"})
    return _cached(key) or _build(model.spec(), key, stacklevel=1)


def _build(spec: TokenizerSpec, key: str | None, stacklevel: int) -> Ready:
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
    return _cached(key) or from_payload(payload)


def _cached(key: str) -> Ready | None:
    model = cache.fetch(key)
    if model is None:
        return None
    try:
        return from_payload(model.payload)
    except CorruptModel as error:
        cache.log().warning("a file of the cache is broken and is built again: %s", error)
        cache.drop(key)
        return None


def _as_path(source: object) -> Path | None:
    """Return the file or directory that a source names; a hub id names a file once fetched."""
    if not isinstance(source, (str, os.PathLike)):
        return None
    path = Path(source)
    if not path.exists() and isinstance(source, str) and is_repository_name(source):
        return fetch_from_hub(source)
    return path if path.exists() else None


def _arguments(request: Request, path: Path) -> dict[str, Any]:
    """Return what decides about a model besides the bytes of files."""
    return {
        # The name of a tokenizer comes from these.
        "folders": path.resolve().parts[-2:],
        "hub": str(request.source) if not Path(str(request.source)).exists() else None,
        "pattern": request.pattern,
        "special_tokens": sorted((request.special_tokens or {}).items()),
    }


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
