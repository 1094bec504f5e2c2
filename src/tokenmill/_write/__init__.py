"""The file formats that shards are written in, and read back from.

`FORMATS[name].open_shard(folder, number, shape)` returns a writer; `write` takes rows in order and
`commit` gives the files their names. `finish` writes the files that describe all shards.
"""

from __future__ import annotations

from tokenmill._errors import OptionError
from tokenmill._write.arrow import Arrow, Parquet
from tokenmill._write.bin import Bin
from tokenmill._write.datatrove import Datatrove
from tokenmill._write.format import Extras, Format, Places, ShardFacts
from tokenmill._write.index import ShardIndex, index_name, read_index, write_index
from tokenmill._write.litdata import LitData
from tokenmill._write.llmc import LlmC
from tokenmill._write.mds import Mds
from tokenmill._write.megatron import Megatron
from tokenmill._write.npy import Npy
from tokenmill._write.olmo import Olmo
from tokenmill._write.torch import Torch, TorchChunks
from tokenmill._write.writer import ShardWriter

__all__ = [
    "FORMATS",
    "Extras",
    "Format",
    "Places",
    "ShardFacts",
    "ShardIndex",
    "ShardWriter",
    "find_format",
    "index_name",
    "read_index",
    "write_index",
]

_ALL = (Bin, Megatron, Datatrove, Olmo, LlmC, LitData, Mds, Npy, Parquet, Arrow, Torch, TorchChunks)
FORMATS: dict[str, Format] = {form.name: form() for form in _ALL}


def find_format(name: str) -> Format:
    """Return the format of a name; raises OptionError if there is none."""
    if name not in FORMATS:
        raise OptionError(f"unknown format {name!r}", hint="one of " + ", ".join(FORMATS))
    return FORMATS[name]
