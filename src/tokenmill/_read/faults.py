"""Whether a segment can be read to its end, checked before its first record is used.

Nothing of a damaged file is used. Otherwise, how much of it is used would depend on where blocks
end and on whether the run was interrupted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill._errors import InputError, OptionError
from tokenmill._read.blocks import Place
from tokenmill._read.formats import TABLES
from tokenmill._read.sources import open_source
from tokenmill._store import is_address

if TYPE_CHECKING:
    from tokenmill._read.inputs import InputFile
    from tokenmill._read.rules import ReadRules
    from tokenmill._read.streams import Segment

_CHUNK = 1 << 22


def find_fault(file: InputFile, segment: Segment, rules: ReadRules, field: str) -> str | None:
    """Return why a segment cannot be read, or None. Inputs that can be read only once are skipped.

    Compressed files are decompressed and tables are read; plain files are only opened.
    """
    if not file.is_resumable or file.data is not None:
        return None
    try:
        if file.format in TABLES:
            _read_table(file, segment, rules, field)
        else:
            _read_bytes(file)
    except (InputError, OptionError) as error:
        problem = str(error).partition("; hint: ")[0]
        return problem.removeprefix(file.path).lstrip(": ")
    return None


def _read_table(file: InputFile, segment: Segment, rules: ReadRules, field: str) -> None:
    from tokenmill._read.tables import open_table  # brings pyarrow

    reader = open_table(file, segment, rules, field, Place(offset=segment.begin))
    try:
        while not reader.is_done:
            reader.read(rules.block_bytes)
    finally:
        reader.close()


def _read_bytes(file: InputFile) -> None:
    source = open_source(file)
    try:
        if is_address(file.path):  # opening asks nothing of a store
            source.read(1)
        while file.compression is not None and source.read(_CHUNK):
            pass
    finally:
        source.close()
