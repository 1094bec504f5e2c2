"""Objects: whether they are there, what is listed under a folder, their bytes, small new ones."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from tokenmill._errors import ObjectChanged, ObjectNotFound, OptionError
from tokenmill._store.address import Address
from tokenmill._store.client import client, library
from tokenmill._store.counts import count_bytes
from tokenmill._store.retry import ShortRead, persist

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime

_PAGE = 1000  # objects that a store lists in one answer
_MODIFIED = "modified:"


@dataclass(frozen=True)
class ObjectInfo:
    """What a store says about an object.

    `tag` names this version of its bytes: the ETag, or the time of change where a server has none.
    """

    address: Address
    size: int
    tag: str
    version: str | None  # where a bucket keeps versions
    modified: datetime


def head(address: Address) -> ObjectInfo:
    """Return what the store says about an object; ObjectNotFound if there is none."""
    store = client(address)
    return persist("head", address, lambda _: _info(library().head(store, address.key), address))


def find(address: Address) -> ObjectInfo | None:
    """Return what the store says about an object; None if there is none."""
    try:
        return head(address)
    except ObjectNotFound:
        return None


def list_objects(folder: Address) -> Iterator[ObjectInfo]:
    """Yield all objects under a folder, at any depth, in the order of their keys."""
    if folder.is_read_only:
        raise OptionError(
            "a web server has no list of its files", where=str(folder), hint="name each file"
        )
    store, last = client(folder), ""
    while True:
        page = persist("list", folder, lambda _: _page(store, folder, last))  # noqa: B023 -- called at once
        for entry in page:
            yield _info(entry, Address(folder.scheme, folder.bucket, entry["path"]))
        if len(page) < _PAGE:
            return
        last = page[-1]["path"]


def _page(store: Any, folder: Address, last: str) -> list[Mapping[str, Any]]:
    listing = library().list(
        store, folder.key or None, offset=last or None, chunk_size=_PAGE, return_arrow=False
    )
    return sorted(next(iter(listing), []), key=lambda entry: entry["path"].encode())


def get(
    address: Address, begin: int, end: int, *, tag: str = "", stop: threading.Event | None = None
) -> memoryview:
    """Return the bytes from `begin` to before `end`, all of them.

    With `tag`, they are of that version; ObjectChanged if the object is now another one. After
    `stop` is set, a request that fails is not made again.
    """
    if begin == end:
        return memoryview(b"")
    store = client(address)

    def request(_: int) -> memoryview:
        options = _conditions({"range": (begin, end)}, tag)
        result = library().get(store, address.key, options=options)
        _check_tag(_info(result.meta, address), tag)
        body = memoryview(result.bytes())
        if len(body) != end - begin:
            raise ShortRead(f"{len(body)} of {end - begin} bytes")
        count_bytes(came=len(body))
        return body

    return persist("get", address, request, stop=stop)


def get_whole(address: Address, *, tag: str = "") -> tuple[memoryview, ObjectInfo]:
    """Return all bytes of an object, and what the store says about them."""
    store = client(address)

    def request(_: int) -> tuple[memoryview, ObjectInfo]:
        result = library().get(store, address.key, options=_conditions({}, tag))
        info = _info(result.meta, address)
        _check_tag(info, tag)
        body = memoryview(result.bytes())
        if len(body) != info.size:
            raise ShortRead(f"{len(body)} of {info.size} bytes")
        count_bytes(came=len(body))
        return body, info

    return persist("get", address, request)


def put(
    address: Address, data: bytes, *, create: bool = False, replaces: ObjectInfo | str | None = None
) -> ObjectInfo | None:
    """Write a small object at once.

    With `create`, only if there is none; with `replaces`, only if it is still that version: what
    `head` said (which every store takes), or its tag. If that does not hold, ObjectChanged is
    raised. Returns its new state, if the store tells.
    """
    if address.is_read_only:
        raise OptionError("nothing can be written to a web server", where=str(address))
    store = client(address)
    mode: Any = "create" if create else "overwrite" if replaces is None else _version_of(replaces)

    def request(attempt: int) -> Mapping[str, Any]:
        try:
            result: Mapping[str, Any] = library().put(
                store, address.key, data, mode=mode, use_multipart=False
            )
        except Exception as error:
            # An attempt before this one may have arrived, though its answer did not.
            refused = type(error).__name__ in ("AlreadyExistsError", "PreconditionError")
            if attempt == 0 or not refused or (own := _own(address, data)) is None:
                raise
            return own
        count_bytes(went=len(data))
        return result

    result = persist("put", address, request)
    tag = result.get("e_tag")
    return (
        None
        if tag is None
        else ObjectInfo(address, len(data), _quoted(tag), result.get("version"), _now())
    )


def _version_of(replaces: ObjectInfo | str) -> dict[str, str]:
    if isinstance(replaces, str):
        return {"e_tag": replaces}
    version = {} if replaces.version is None else {"version": replaces.version}
    return {"e_tag": replaces.tag, **version}


def _own(address: Address, data: bytes) -> Mapping[str, Any] | None:
    """Return the state of an object if it holds exactly these bytes."""
    try:
        body, info = get_whole(address)
    except ObjectNotFound:
        return None
    return {"e_tag": info.tag, "version": info.version} if body == data else None


def delete(address: Address) -> None:
    """Remove an object, if it is there."""
    store = client(address)
    try:
        persist("delete", address, lambda _: library().delete(store, address.key))
    except ObjectNotFound:
        return


def delete_many(addresses: Iterable[Address]) -> None:
    """Remove objects of one bucket, many by one request where the store can do that."""
    left = iter(addresses)
    while some := list(islice(left, _PAGE)):
        store, keys = client(some[0]), [address.key for address in some]
        try:
            persist("delete", some[0], lambda _: library().delete(store, keys))  # noqa: B023 -- called at once
        except ObjectNotFound:  # one of them was gone, and perhaps others were left out
            for address in some:
                delete(address)


def _conditions(options: dict[str, Any], tag: str) -> dict[str, Any]:
    # A weak tag never matches, by the rules of HTTP: it is only compared here.
    strong = tag and not tag.startswith((_MODIFIED, "W/"))
    return {**options, "if_match": tag} if strong else options


def _check_tag(info: ObjectInfo, tag: str) -> None:
    if tag and info.tag != tag:
        raise ObjectChanged(
            f"the object was changed while it was read: expected version {tag}, got {info.tag}",
            url=str(info.address),
            hint="inputs may not change during a run",
        )


def _info(entry: Mapping[str, Any], address: Address) -> ObjectInfo:
    modified: datetime = entry["last_modified"]
    tag = entry["e_tag"] or f"{_MODIFIED}{modified.timestamp():.0f}"
    return ObjectInfo(address, entry["size"], _quoted(tag), entry["version"], modified)


def _quoted(tag: str) -> str:
    """Return a tag with its quotes, which some listings leave out."""
    return tag if tag.startswith(('"', "W/", _MODIFIED)) else f'"{tag}"'


def _now() -> datetime:
    from datetime import datetime, timezone

    return datetime.now(timezone.utc)
