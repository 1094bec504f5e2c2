"""Ranks whose output, claims and parts are in a bucket: the same bytes as one process."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.mill.ways import WAYS
from tests.store.fault_proxy import Fault
from tests.store.packed import StorePacking

from tokenmill._mill.output.store_folder import StoreFolder
from tokenmill._mill.ranks.claims import ENDED, UNKNOWN, Picture
from tokenmill._mill.ranks.store_claims import StoreClaims
from tokenmill._mill.status import status
from tokenmill._store import put_file

if TYPE_CHECKING:
    from tests.mill.corpus import Corpus
    from tests.store.fault_proxy import FaultProxy
    from tests.store.packed import Place

KILLED = ("concat", "bestfit")


@pytest.mark.parametrize(("ranks", "way"), [(1, "rows"), (2, "bestfit"), (3, "concat")])
def test_ranks_change_no_byte(way: str, ranks: int, dirty: Corpus, place: Place) -> None:
    made = StorePacking(way, dirty, place)
    children = [made.start(rank, ranks) for rank in range(ranks)]
    made.check(*[child.outcome() for child in children])


def test_inputs_in_a_store_too(dirty: Corpus, place: Place) -> None:
    """Then ranks share nothing else."""
    addresses = [place.bucket / "in" / path.name for path in dirty.files]
    for address, path in zip(addresses, dirty.files, strict=True):
        put_file(address, path)
    made = StorePacking("bestfit", [str(address) for address in addresses], place)
    children = [made.start(rank, 2) for rank in range(2)]
    made.check(*[child.outcome() for child in children])


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_more_ranks_change_no_byte(way: str, dirty: Corpus, place: Place) -> None:
    made = StorePacking(way, dirty, place)
    for ranks in (1, 2, 3, 7):
        children = [made.start(rank, ranks) for rank in range(ranks)]
        made.check(*[child.outcome() for child in children])
        made.forget()


def kill_some(made: StorePacking, kills: int, rng: random.Random) -> None:
    """Kill ranks at random steps, and let others continue, until two of them finish."""
    done = started = 0
    while done < kills:
        children = []
        for _ in range(2):
            steps = rng.randint(1, max(2, made.alone.steps // 2))
            children.append(made.start(started % 3, 3, die_at=steps))
            started += 1
        outcomes = [child.outcome() for child in children]
        assert all(outcome.error is None for outcome in outcomes)
        done += sum(outcome.code == -signal.SIGKILL for outcome in outcomes)
        if any(outcome.code == 0 for outcome in outcomes):  # it finished
            made.forget()
    children = [made.start(rank, 2) for rank in range(2)]
    made.check(*[child.outcome() for child in children])


@pytest.mark.parametrize("way", KILLED)
def test_killed_ranks(way: str, dirty: Corpus, place: Place) -> None:
    kill_some(StorePacking(way, dirty, place), 2, random.Random(way))  # noqa: S311


@pytest.mark.slow
@pytest.mark.parametrize("way", KILLED)
def test_thirty_killed_ranks(way: str, dirty: Corpus, place: Place) -> None:
    kill_some(StorePacking(way, dirty, place), 30, random.Random(f"{way} 30"))  # noqa: S311


def test_claims(place: Place) -> None:
    """What the protocol relies on: a name is created once, and listings show what was there."""
    folder = StoreFolder(place.bucket / "ranks")
    mine, other = StoreClaims(folder), StoreClaims(folder)
    assert mine.look("streams", 3) == Picture(b"\0\0\0")
    assert mine.claim("streams", 1, 0, "me")
    assert not other.claim("streams", 1, 0, "other")
    assert not mine.claim("streams", 1, 0, "me")  # once only
    assert other.owner("streams", 1, 0) == "me"
    assert other.claim("streams", 1, 12, "other")  # generations are numbers, not text
    assert other.claim("streams", 1, 9, "other")
    assert mine.look("streams", 3) == Picture(b"\0\1\0", ((1, 12),))
    assert not mine.is_done("streams", 1)
    other.mark_done("streams", 1)
    other.mark_done("streams", 1)
    assert mine.is_done("streams", 1)
    assert mine.look("streams", 3) == Picture(b"\0\1\0", (), 1)
    assert mine.owner("streams", 2, 0) == UNKNOWN


def test_heartbeats(place: Place) -> None:
    folder = StoreFolder(place.bucket / "ranks")
    claims = StoreClaims(folder)
    for sequence in (9, 10, 11):
        claims.beat("me", sequence, {"rank": 0})
        claims.beat("other", sequence - 9, {"rank": 1})
    assert claims.beats() == {"me": 11, "other": 2}
    assert len(list(folder.list("beats"))) == 2  # those before are removed
    claims.beat("other", ENDED, {"rank": 1})
    assert StoreClaims(folder).beats() == {"me": 11, "other": ENDED}


@pytest.mark.parametrize("kind", ["lost", "reset"])
def test_a_claim_whose_answer_is_lost_is_still_ours(
    kind: str, place: Place, proxy: FaultProxy
) -> None:
    """And only ours: the store was asked twice, or the first request never came."""
    mine, other = (StoreClaims(StoreFolder(place.bucket / "ranks")) for _ in range(2))
    proxy.faults.append(Fault(kind, times=2, method="PUT"))
    assert mine.claim("streams", 0, 0, "me")
    proxy.faults.append(Fault(kind, times=2, method="PUT"))
    assert not other.claim("streams", 0, 0, "other")
    assert other.owner("streams", 0, 0) == "me"


def test_status_shows_ranks(dirty: Corpus, place: Place) -> None:
    made = StorePacking("concat", dirty, place)
    killed = made.start(0, 1, die_at=made.alone.steps // 2).outcome()
    assert killed.code == -signal.SIGKILL
    facts = status(str(made.address))
    assert facts["state"] == "unfinished"
    assert facts["parts"] > 0
    assert [(state["rank"], state["ranks"]) for state in facts["ranks"]] == [(0, 1)]
    made.check(made.start(3, 5).outcome())
    assert status(str(made.address))["state"] == "finished"


def test_a_rank_that_was_stopped_comes_back_late(dirty: Corpus, place: Place) -> None:
    """It is taken for dead and its work is done again; then it continues, and harms nothing."""
    made = StorePacking("concat", dirty, place)
    for share in (0.3, 0.8):
        steps = max(2, int(made.alone.steps * share))
        late = made.start(0, 2, die_at=steps, signal=signal.SIGSTOP)
        wait_until_stopped(late.pid)
        other = made.start(1, 2)
        assert other.outcome().error is None
        made.check_objects()
        os.kill(late.pid, signal.SIGCONT)
        made.check(late.outcome())
        made.forget()


def wait_until_stopped(pid: int) -> None:
    stat = Path(f"/proc/{pid}/stat")
    end = time.monotonic() + 300  # only catches a hang
    while stat.read_text().rpartition(")")[2].split()[0] != "T":
        assert time.monotonic() < end
        time.sleep(0.01)


def test_one_process_goes_on_after_ranks_and_ranks_after_it(dirty: Corpus, place: Place) -> None:
    """Parts of the others are of no use then; what is in the bucket stays right."""
    made = StorePacking("bestfit", dirty, place)
    third = made.alone.steps // 3
    assert made.start(0, 1, die_at=third).outcome().code == -signal.SIGKILL
    killed = made.run({"die_at": third})
    assert killed.code == -signal.SIGKILL
    made.check(made.start(0, 1).outcome())
