"""Addresses of stores -> objects: one, all under a folder, or those that match a pattern."""

from __future__ import annotations

import glob
import re
from itertools import islice
from typing import TYPE_CHECKING

from tokenmill._errors import SourceNotFound
from tokenmill._read import formats
from tokenmill._store import Address, find, list_objects, parse_address

if TYPE_CHECKING:
    from tokenmill._store import ObjectInfo

_SHOWN = 8  # names in a hint
_CLASS = re.compile(r"\[(!?)([^\]]+)\]")


def find_objects(text: str) -> tuple[list[ObjectInfo], int]:
    """Return the objects that an address means, and how many in a folder have unknown suffixes."""
    address = parse_address(text)
    if address.is_read_only:
        info = find(address)
        found = [] if info is None else [info]
    elif glob.has_magic(address.key):
        found = _matching(address)
    elif address.key and (info := find(address)) is not None:
        found = [info]
    else:
        return _in_folder(address)
    if not found:
        raise SourceNotFound("nothing to read there", source=text, hint=_what_is_there(address))
    return found, 0


def _matching(address: Address) -> list[ObjectInfo]:
    fixed = address.key[: re.search(r"[*?[]", address.key).start()]  # type: ignore[union-attr]  # it has one
    folder = Address(address.scheme, address.bucket, fixed.rpartition("/")[0])
    pattern = as_pattern(address.key)
    return [info for info in list_objects(folder) if pattern.fullmatch(info.address.key)]


def as_pattern(key: str) -> re.Pattern[str]:
    """Return a glob as a regular expression: `*` stays in one folder, `**` is any number of them.

    As in a shell, `*` and `?` do not match a dot at the start of a name.
    """
    parts = []
    for part in key.split("/"):
        if part == "**":
            parts.append(r"(?:[^/.][^/]*/)*")
        else:
            parts.append(_part_pattern(part) + "/")
    text = "".join(parts)
    is_tree = key.rpartition("/")[2] == "**"
    return re.compile(text + "[^/.][^/]*" if is_tree else text.removesuffix("/"))


def _part_pattern(part: str) -> str:
    done, at = (r"(?!\.)" if part[:1] in "*?[" else ""), 0
    while at < len(part):
        if part[at] == "*":
            done += "[^/]*"
        elif part[at] == "?":
            done += "[^/]"
        elif (found := _CLASS.match(part, at)) is not None:
            inside = found[2].replace("\\", "\\\\").replace("^", "\\^")
            done += f"[{'^/' if found[1] else ''}{inside}]"
            at = found.end() - 1
        else:
            done += re.escape(part[at])
        at += 1
    return done


def _in_folder(folder: Address) -> tuple[list[ObjectInfo], int]:
    everything = list(list_objects(folder))
    below = len(folder.key) + 1 if folder.key else 0
    visible = [i for i in everything if not _is_hidden(i.address.key[below:])]
    known = [info for info in visible if formats.by_suffix(info.address.name) is not None]
    if not known:
        problem = "nothing to read there"
        if visible:
            problem = f"no object in this folder has a known suffix ({len(visible)} have others)"
        raise SourceNotFound(problem, source=str(folder), hint=_what_is_there(folder))
    return known, len(visible) - len(known)


def _is_hidden(key: str) -> bool:
    return any(part[:1] in (".", "_") for part in key.split("/"))


def _what_is_there(address: Address) -> str:
    """Return the first names of the nearest folder without a pattern."""
    if address.is_read_only:
        return "is the URL right?"
    folder = address.parent
    while glob.has_magic(folder.key):
        folder = folder.parent
    names = [info.address.key for info in islice(list_objects(folder), _SHOWN + 1)]
    if not names:
        return f"{folder} is empty"
    more = " and more" if len(names) > _SHOWN else ""
    return f"{folder} has {', '.join(names[:_SHOWN])}{more}"
