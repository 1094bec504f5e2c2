"""A compiled model -> `Ready`: what runs, and what else is made of it at first use."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import xxhash

from tokenmill import _core
from tokenmill._errors import CorruptModel, OptionError, UnsupportedTokenizer
from tokenmill._model import cache
from tokenmill._model.file import Meta, checksum_of, unpack_source
from tokenmill._model.shared import SHELF, loading, name_of

if TYPE_CHECKING:
    from tokenmill._post import Templates, Wanted
    from tokenmill._reference.model import ReferenceModel
    from tokenmill._spec import TokenizerSpec


TABLES = {"usual": 0, "small": 1, "tiny": 2}  # the core's numbers


class Ready:
    """A model, what is known about it, and what it can be made of again in another process."""

    def __init__(
        self,
        model: _core.Model | ReferenceModel,
        payload: bytes | memoryview | None = None,
        meta: dict[str, Any] | None = None,
        spec: TokenizerSpec | None = None,
        tables: str = "usual",
    ) -> None:
        self.model = model
        self.payload = payload
        self.tables = tables
        self.holders: WeakSet[object] = WeakSet()  # tokenizers that share it
        self.spec = spec
        if meta is not None:
            self.meta = meta

    @cached_property
    def digest(self) -> bytes:
        """Of the compiled model: equal for equal bytes, and for no others."""
        return _digest(self.payload or b"")

    @cached_property
    def meta(self) -> dict[str, Any]:
        """What is known about the tokenizer; to encode needs none of it."""
        model: Any = self.model  # of the core: a reference model comes with its meta
        return Meta(model.meta)

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
        import json

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


def _digest(payload: bytes | memoryview) -> bytes:
    return bytes(xxhash.xxh3_128(payload).digest())


def chosen_tables(tables: str | None) -> str:
    """Return the name of a size of tables, the configured one for None; OptionError for others."""
    if tables is None:
        return _configured_tables() if _core.environment("TOKENMILL_CONFIG") else "usual"
    if tables not in TABLES:
        problem = f"expected one of {', '.join(map(repr, TABLES))}, got {tables!r}"
        raise OptionError(problem, where="tables")
    return tables


def _configured_tables() -> str:
    from tokenmill._config import configured  # most processes have no such file

    return configured().tables or "usual"


def from_payload(
    payload: bytes | memoryview, tables: str = "usual", checksum: int | None = None
) -> Ready:
    """Use a compiled model in place, or one of equal bytes that is in use already.

    `checksum`: that of the file, if it was read from one.
    """
    number = checksum_of(payload) if checksum is None else checksum
    name = name_of(f"{len(payload)} bytes, {number:x}", tables)
    with loading(name):
        known = SHELF.find(name)
        if known is not None and known.digest == _digest(payload):
            return known
        ready = Ready(_core.Model(payload, tables=TABLES[tables]), payload, tables=tables)
        SHELF.put(name, ready)
        return ready


def cached(key: str, tables: str = "usual") -> Ready | None:
    """Return the model of a key, if it is in use, or if the cache has it and it is whole."""
    name = name_of(key, tables)
    ready = SHELF.find(name)
    if ready is not None:
        return ready
    with loading(name):
        ready = SHELF.find(name) or _from_cache(key, tables)
        if ready is not None:
            SHELF.put(name, ready)
        return ready


def _from_cache(key: str, tables: str) -> Ready | None:
    model = cache.fetch(key)
    if model is None:
        return None
    try:
        return from_payload(model.payload, tables, model.checksum)
    except CorruptModel as error:
        cache.log().warning("a file of the cache is broken and is built again: %s", error)
        cache.drop(key)
        return None
