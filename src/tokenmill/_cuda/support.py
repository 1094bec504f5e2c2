"""Checks that the kernels can run a tokenizer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokenmill._cuda.reasons import device_error

if TYPE_CHECKING:
    from collections.abc import Mapping

IDENTITY, NFC = b"", b"\x01"  # serialized normalizers that the kernels support
_BYTES = 0  # vocab::Kind
_FAMILIES = (0, 1, 2, 3)  # split::Family: 0 has no rule, automata find the words


def check_support(facts: Mapping[str, Any], where: str) -> None:
    """Raise DeviceError if the kernels cannot run a model; `facts` are its `device_tables`."""
    if facts["kind"] != _BYTES:
        raise device_error("unsupported_model", where=where)
    if facts["has_ends"] or facts["has_ties"]:
        detail = "its merges differ at the ends of words" if facts["has_ends"] else "ranks tie"
        raise device_error("unsupported_model", detail, where)
    if not _supports_split(facts):
        raise device_error("unsupported_split", where=where)
    if not facts["plain_ranges"]:
        raise device_error("unsupported_normalizer", "it adds a blank before texts", where)
    if facts["normalizer"] not in (IDENTITY, NFC):
        raise device_error("unsupported_normalizer", where=where)


def _supports_split(facts: Mapping[str, Any]) -> bool:
    family = facts["rule"]["family"]
    if family not in _FAMILIES:
        return False
    return family != 0 or all(stage["stage_keeps_all"] for stage in facts["stages"])
