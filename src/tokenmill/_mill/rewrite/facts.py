"""The plan of a rewrite: what decides its bytes, from the manifests of the outputs it reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokenmill._mill.plan.plan import VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenmill._mill.output.manifest import Manifest

_PADDED = ("bestfit", "pad", "bos-bestfit-crop")


def rewrite_facts(
    manifests: Sequence[Manifest], formats: tuple[str, ...], shard_tokens: int | None
) -> dict[str, Any]:
    """Gather everything that decides the bytes, like the facts of a plan of `pack`."""
    options = _common_options([manifest.options for manifest in manifests])
    options["formats"] = list(formats)
    if shard_tokens is not None:
        options["shard_tokens"] = shard_tokens
    return {
        "version": VERSION,
        "tokenizer": manifests[0].data["tokenizer"],
        "options": options,
        "sources": [],
        "inputs": [],
        "shard_tokens": shard_tokens,  # None: shards stay as they are
        "from": [{"plan_id": m.plan_id, "plan": m.data["plan"]} for m in manifests],
    }


def _common_options(options: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the options of all outputs: null where they differ, except for those rows need."""
    common = {
        key: value if all(other.get(key) == value for other in options) else None
        for key, value in options[0].items()
    }
    common["max_id"] = max(each["max_id"] for each in options)
    common["validation"] = max(each["validation"] for each in options)
    if len(options) > 1 and any(is_padded(each) for each in options):
        common["tail"] = "pad"
    return common


def is_padded(options: dict[str, Any]) -> bool:
    """Return whether short rows are padded even in formats that can store them short."""
    return options["pack"] in _PADDED or options["tail"] == "pad"
