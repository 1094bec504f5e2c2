"""Sources -> the list of input files, in an order that depends only on their names."""

from __future__ import annotations

import dataclasses
import glob
import json
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenmill._errors import InputError, OptionError, SourceNotFound
from tokenmill._read import formats
from tokenmill._read.fingerprint import fingerprint
from tokenmill._read.remote import asking, changed_ns, file_system, is_remote
from tokenmill._read.sources import open_source
from tokenmill._read.stdin import STDIN
from tokenmill._store import is_address

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tokenmill._store import ObjectInfo

_SHOWN = 8  # names in a hint


@dataclass(frozen=True)
class InputFile:
    """One input: a file, a URL, stdin ("-"), or an object in memory, which is then `data`."""

    source: int
    path: str
    size: int  # in bytes; -1 if unknown
    modified_ns: int  # or the fingerprint of an object in memory; 0 in a store
    format: str  # of formats.FORMATS
    compression: str | None = None
    tag: str = ""  # names the version of an object in a store
    data: Any = field(default=None, compare=False, repr=False)

    @property
    def is_resumable(self) -> bool:
        """Whether it can be read again, or from the middle."""
        return self.path != STDIN and (self.data is None or hasattr(self.data, "__getitem__"))


@dataclass(frozen=True)
class Inputs:
    """The files that were found, and how many in folders have an unknown suffix."""

    files: list[InputFile]
    left_out: int = 0


def find_inputs(
    sources: Sequence[Any], *, keep_unreadable: bool = False, input_format: str | None = None
) -> Inputs:
    """List the inputs of sources: paths, globs, folders, "-", URLs, datasets.

    With `keep_unreadable`, files that cannot be opened are listed too: the reader reports them.
    `input_format` is that of stdin and of files without a known suffix; None looks at their first
    bytes, which do not tell CSV from other text.
    """
    files: list[InputFile] = []
    left_out = 0
    for number, source in enumerate(sources):
        if isinstance(source, (str, os.PathLike)):
            found, left = _find(number, os.fspath(source), keep_unreadable)
            files += sorted(found, key=lambda file: os.fsencode(file.path))
            left_out += left
        else:
            files.append(_object_input(number, source))
    if not sources:
        raise OptionError("expected at least one input, got none", where="sources")
    _check_unique(files)
    if input_format is not None:
        files = [assume_format(file, input_format) for file in files]
    return Inputs(files, left_out)


def assume_format(file: InputFile, input_format: str) -> InputFile:
    """Return the file with this format, unless its suffix means another."""
    named, _ = formats.by_suffix(file.path) or (None, None)
    if named is not None or file.data is not None:
        return file
    return dataclasses.replace(file, format=input_format)


def _find(number: int, source: str, keep_unreadable: bool) -> tuple[list[InputFile], int]:
    if source == STDIN:
        return [_with_detected_format(InputFile(number, STDIN, -1, 0, ""))], 0
    if is_address(source):
        return _find_in_store(number, source)
    if is_remote(source):
        return _find_remote(number, source)
    if not source:  # a variable that is not set; Path("") would be this folder
        raise SourceNotFound("expected a file or a folder, got an empty name", source="''")
    path = Path(source)
    if path.is_dir():
        return _find_in_folder(number, path, keep_unreadable)
    if path.exists():
        return [local_input(number, source)], 0
    if not glob.has_magic(source):
        raise SourceNotFound("no such file or folder", source=source, hint=_what_is_there(path))
    names = [name for name in glob.glob(source, recursive=True) if Path(name).is_file()]  # noqa: PTH207 -- keeps the path as it was written
    if not names:
        raise SourceNotFound("no file matches", source=source, hint=_what_is_there(path))
    return [local_input(number, name, keep_unreadable=keep_unreadable) for name in names], 0


def _find_in_folder(
    number: int, folder: Path, keep_unreadable: bool
) -> tuple[list[InputFile], int]:
    if (folder / "dataset_dict.json").is_file():
        splits = json.loads((folder / "dataset_dict.json").read_bytes()).get("splits", [])
        raise SourceNotFound(
            "a dataset with several splits",
            source=str(folder),
            hint="name one: " + ", ".join(str(folder / split) for split in splits),
        )
    if (folder / "state.json").is_file() and any(folder.glob("*.arrow")):
        return [local_input(number, str(file)) for file in _dataset_files(folder)], 0
    found, left = [], 0
    for path in _visible_files(folder):
        if formats.by_suffix(path) is not None:
            found.append(local_input(number, path, keep_unreadable=keep_unreadable))
        else:
            left += 1
    if not found:
        raise SourceNotFound(
            f"no file in this folder has a known suffix ({left} have others)",
            source=str(folder),
            hint=_what_is_there(folder / "*"),
        )
    return found, left


def _visible_files(folder: Path) -> Iterable[str]:
    """Yield the files in a folder tree; names with a leading dot or underscore are left out."""
    for parent, folders, names in os.walk(folder, followlinks=True):
        folders[:] = [name for name in folders if name[0] not in "._"]
        for name in names:
            if name[0] not in "._":
                yield os.path.join(parent, name)  # noqa: PTH118


def _dataset_files(folder: Path) -> list[Path]:
    """Return the files of a dataset on disk, which its state lists."""
    state = json.loads((folder / "state.json").read_bytes())
    if state.get("_indices_files") or state.get("_indices_data_files"):
        raise InputError(
            "this dataset on disk holds a selection of its rows",
            path=str(folder),
            hint="save it again after dataset.flatten_indices()",
        )
    names = [entry["filename"] for entry in state.get("_data_files", [])]
    return [folder / name for name in names] or sorted(folder.glob("*.arrow"))


def _find_remote(number: int, url: str) -> tuple[list[InputFile], int]:
    system, path = file_system(url)
    with asking(url):
        if glob.has_magic(path):
            infos, is_folder = list(system.glob(path, detail=True).values()), False
        elif system.isdir(path):
            infos, is_folder = list(system.find(path, detail=True).values()), True
        else:
            infos, is_folder = ([system.info(path)] if system.exists(path) else []), False
    files = [info for info in infos if info["type"] == "file"]
    known = [info for info in files if not is_folder or _is_known(info["name"], path)]
    if not known:
        raise SourceNotFound("nothing to read there", source=url)
    found = [_remote_input(number, system.unstrip_protocol(info["name"]), info) for info in known]
    return found, len(files) - len(known)


def _find_in_store(number: int, address: str) -> tuple[list[InputFile], int]:
    from tokenmill._read.store_listing import find_objects

    found, left_out = find_objects(address)
    return [_object_in_store(number, info) for info in found], left_out


def _object_in_store(number: int, info: ObjectInfo) -> InputFile:
    path = str(info.address)
    form, compression = formats.by_suffix(path) or (None, None)
    file = InputFile(number, path, info.size, 0, form or "", compression, info.tag)
    return file if file.format else _with_detected_format(file)


def _is_known(name: str, folder: str) -> bool:
    parts = name[len(folder) :].strip("/").split("/")
    return formats.by_suffix(name) is not None and not any(part[0] in "._" for part in parts)


def _remote_input(number: int, url: str, info: dict[str, Any]) -> InputFile:
    size = info.get("size")
    kind = formats.by_suffix(url) or (None, None)
    file = InputFile(
        number, url, -1 if size is None else int(size), changed_ns(info), kind[0] or "", kind[1]
    )
    return file if file.format else _with_detected_format(file)


def local_input(number: int, path: str, *, keep_unreadable: bool = False) -> InputFile:
    """Describe a file on this machine."""
    kind = formats.by_suffix(path) or (None, None)
    try:
        status = Path(path).stat()
        if not stat.S_ISREG(status.st_mode):  # one that can be read only once cannot be planned
            raise InputError(
                "not a regular file", path=path, hint="pipe it in, and pass - as its name"
            )
        file = InputFile(number, path, status.st_size, status.st_mtime_ns, kind[0] or "", kind[1])
        return file if file.format else _with_detected_format(file)
    except OSError as error:  # InputError is one
        if keep_unreadable:
            return InputFile(number, path, 0, 0, kind[0] or "text", kind[1])
        if isinstance(error, InputError):
            raise
        raise InputError(f"cannot be read: {error.strerror or error}", path=path) from error


def _with_detected_format(file: InputFile) -> InputFile:
    """Fill in what the name of a file does not show, from its first bytes."""
    if file.compression is None:
        file = dataclasses.replace(file, compression=formats.compression_of(_first_bytes(file)))
    return dataclasses.replace(file, format=formats.format_of(_first_bytes(file)))


def _first_bytes(file: InputFile) -> bytes:
    """Return the first decompressed bytes of a file; its reader reports damage later."""
    source = open_source(file, look=True)
    try:
        return source.read(formats.HEAD_BYTES)
    except InputError:
        return b""
    finally:
        source.close()


def _object_input(number: int, data: Any) -> InputFile:
    has_rows = hasattr(data, "__iter__") or hasattr(data, "to_batches")
    if not has_rows or isinstance(data, (bytes, bytearray, dict)):
        raise OptionError(
            f"expected a path, a URL, a dataset or an iterable of rows, got {type(data).__name__}",
            where=f"source {number}",
        )
    name = f"<{type(data).__name__} {number}>"
    return InputFile(number, name, -1, fingerprint(data), "dataset", data=data)


def _check_unique(files: list[InputFile]) -> None:
    seen: dict[str, InputFile] = {}
    for file in files:
        is_local = file.data is None and file.path != STDIN and not is_remote(file.path)
        key = os.path.realpath(file.path) if is_local else file.path
        if key in seen:
            raise OptionError(
                f"given twice, by source {seen[key].source} and source {file.source}",
                where=file.path,
                hint="list every file only once; PackedDataset repeats outputs by weight",
            )
        seen[key] = file


def _what_is_there(path: Path) -> str:
    """Return what is in the nearest folder that exists, with hidden files last."""
    folder = next((p for p in path.parents if p.is_dir() and not glob.has_magic(str(p))), Path())
    found = (entry.name for entry in folder.iterdir()) if folder.is_dir() else ()
    names = sorted(found, key=lambda name: (name.startswith("."), name))
    where = "the current folder" if folder == Path() else str(folder)
    if not names:
        return f"{where} is empty"
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{where} has {', '.join(names[:_SHOWN])}{more}"
