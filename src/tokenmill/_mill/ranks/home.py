"""What the ranks of a run share: a place for claims, and one for parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokenmill._mill.output.part_shelf import PartShelf
from tokenmill._mill.output.staged_work import SharedWork
from tokenmill._mill.output.stored_parts import StoredPartShelf
from tokenmill._mill.output.work import RANKS
from tokenmill._mill.ranks import file_claims, store_claims
from tokenmill._mill.ranks.file_claims import FileClaims
from tokenmill._mill.ranks.store_claims import StoreClaims

if TYPE_CHECKING:
    from tokenmill._mill.output.work import Work
    from tokenmill._mill.ranks.claims import Claims


@dataclass(frozen=True)
class RankHome:
    """Seen by all ranks, on all machines."""

    claims: Claims
    parts: PartShelf


def open_home(work: Work) -> RankHome:
    """Return what ranks share, by where the work folder is."""
    if isinstance(work, SharedWork):
        return RankHome(StoreClaims(work.shared / RANKS), StoredPartShelf(work))
    return RankHome(FileClaims(work.ranks), PartShelf(work))


def rank_states(work: Work) -> list[dict[str, Any]]:
    """Return what each rank last said about itself, by rank, for people to look at."""
    if isinstance(work, SharedWork):
        return store_claims.rank_states(work.shared / RANKS)
    return file_claims.rank_states(work.ranks)
