"""The mill: inputs -> packed, checksummed shards; deterministic, resumable, with books."""

from tokenmill._pipeline.manifest import Manifest
from tokenmill._pipeline.prepare import Task, pack, prepare_task
from tokenmill._pipeline.sources import Source, parse_source

__all__ = ["Manifest", "Source", "Task", "pack", "parse_source", "prepare_task"]
