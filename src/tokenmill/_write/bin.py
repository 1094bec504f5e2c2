"""`bin`: ids back to back and nothing else, as nanoGPT reads them; our index lies beside."""

from __future__ import annotations

from tokenmill._write.body import BodyFormat


class Bin(BodyFormat):
    """`shard-00000.bin`: uint16 or uint32 ids."""

    name = "bin"
