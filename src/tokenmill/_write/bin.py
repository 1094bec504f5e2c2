"""`bin`: ids back to back and nothing else, for nanoGPT; our index is next to it."""

from __future__ import annotations

from tokenmill._write.body import BodyFormat


class Bin(BodyFormat):
    """`shard-00000.bin`: uint16 or uint32 ids."""

    name = "bin"
