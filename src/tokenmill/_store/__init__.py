"""Object stores: addresses -> what is there, its bytes, and new objects.

The lowest room of the mill, and the only one that imports obstore. Requests are tried again with
growing waits (`retry.py`), counted by kind (`counts.py`), and their errors are ours. Clients belong
to one process: see `client.py`. Runs without a store import only the addresses.
"""

from typing import TYPE_CHECKING

from tokenmill._lazy import lazy_names
from tokenmill._store.address import STORE_SCHEMES, Address, is_address, parse_address
from tokenmill._store.sizes import IN_FLIGHT, RANGE_BYTES

if TYPE_CHECKING:
    from tokenmill._store.ahead import Ahead, ByteRange, cut, shared_ahead
    from tokenmill._store.client import is_forked
    from tokenmill._store.counts import RequestCounts, request_counts
    from tokenmill._store.objects import (
        ObjectInfo,
        delete,
        delete_many,
        find,
        get,
        get_whole,
        head,
        list_objects,
        put,
    )
    from tokenmill._store.upload import Upload, parts_of, put_file
    from tokenmill._store.whole_file import download

_HOMES = {
    "ahead": ("Ahead", "ByteRange", "cut", "shared_ahead"),
    "client": ("is_forked",),
    "counts": ("RequestCounts", "request_counts"),
    "objects": (
        "ObjectInfo", "delete", "delete_many", "find", "get", "get_whole", "head", "list_objects",
        "put",
    ),
    "upload": ("Upload", "parts_of", "put_file"),
    "whole_file": ("download",),
}  # fmt: skip

__all__ = [
    "IN_FLIGHT",
    "RANGE_BYTES",
    "STORE_SCHEMES",
    "Address",
    "Ahead",
    "ByteRange",
    "ObjectInfo",
    "RequestCounts",
    "Upload",
    "cut",
    "delete",
    "delete_many",
    "download",
    "find",
    "get",
    "get_whole",
    "head",
    "is_address",
    "is_forked",
    "list_objects",
    "parse_address",
    "parts_of",
    "put",
    "put_file",
    "request_counts",
    "shared_ahead",
]

__getattr__ = lazy_names(
    __name__, {name: f"{__name__}.{home}" for home, names in _HOMES.items() for name in names}
)
