"""The mill: inputs -> packed, checksummed shards; deterministic, resumable, with books."""

from tokenmill._pipeline.manifest import Manifest
from tokenmill._pipeline.pack import pack, prepare
from tokenmill._pipeline.sources import Source, parse_source

__all__ = ["Manifest", "Source", "pack", "parse_source", "prepare"]
