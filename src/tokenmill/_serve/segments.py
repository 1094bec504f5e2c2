"""The segment cache of a worker, if one was asked for: opened, warmed, closed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill._errors import OptionError

if TYPE_CHECKING:
    from tokenmill._cache import SegmentCache
    from tokenmill._serve.log import ServeLog
    from tokenmill._serve.options import ServeOptions
    from tokenmill._service import Service


def check_segments(options: ServeOptions) -> None:
    """Raise OptionError for options of a cache that there is not."""
    if options.service.get("cache_bytes"):
        return
    for name, value in (("cache_folder", options.cache_folder), ("warm", options.warm)):
        if value is not None:
            raise OptionError("needs a cache", where=name, hint="add --cache BYTES")


def open_segments(options: ServeOptions) -> SegmentCache | None:
    """Return the cache; its folder, if any, is shared with the other workers."""
    memory = options.service.get("cache_bytes", 0)
    if not memory:
        return None
    from tokenmill._cache import SegmentCache

    return SegmentCache(memory, disk=options.cache_folder)


def warm_segments(service: Service, options: ServeOptions, log: ServeLog) -> None:
    """Fill the cache from a file, for every model, on threads of low priority."""
    if service.cache is None or options.warm is None:
        return
    from tokenmill._cache.warm_file import read_warm_file

    for name in service.models:
        log.info("warming", model=name, file=options.warm)
        service.cache.warm(service.tokenizer(name), read_warm_file(options.warm))
