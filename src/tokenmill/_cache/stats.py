"""The counters of the core and of the disk -> one dictionary, plain JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokenmill._cache.disk import DiskTier
    from tokenmill._core import SegmentCache

_SUMS = ("lookups", "hits", "hit_bytes", "hit_tokens", "stored", "saved_seconds")
_OTHER = "other_"  # the core's word for the tier outside


def stats_of(
    core: SegmentCache, disk: DiskTier | None, names: Mapping[bytes, str]
) -> dict[str, Any]:
    """Return what each tier holds, did and saved, and the same for each model."""
    models = [_model_stats(book, names) for book in core.models()]
    memory = core.use() | {key: sum(model["memory"][key] for model in models) for key in _SUMS}
    out: dict[str, Any] = {"memory": memory, "disk": None, "models": models}
    if disk is not None:
        keys = ("lookups", "hits", "hit_tokens", "damaged", "saved_seconds")
        sums = {key: sum(model["disk"][key] for model in models) for key in keys}
        out["disk"] = disk.stats() | sums
    for key in ("checked", "differences"):
        out[key] = sum(model[key] for model in models)
    out["saved_seconds"] = sum(model["saved_seconds"] for model in models)
    return out


def _model_stats(book: dict[str, Any], names: Mapping[bytes, str]) -> dict[str, Any]:
    fingerprint = book.pop("model")
    other = {key[len(_OTHER) :]: book.pop(key) for key in list(book) if key.startswith(_OTHER)}
    keys = (*_SUMS, "collisions", "is_on", "switched_off")
    memory = {key: book.pop(key) for key in keys}
    saved = memory["saved_seconds"] + other["saved_seconds"]
    name = names.get(fingerprint, fingerprint.hex())
    return {"name": name, **book, "saved_seconds": saved, "memory": memory, "disk": other}
