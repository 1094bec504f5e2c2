"""cache: text -> ids, with the ids of segments that were seen before. Exact, or not used."""

from __future__ import annotations

from tokenmill._cache.segment_cache import SegmentCache
from tokenmill._cache.support import supported

__all__ = ["SegmentCache", "supported"]
