"""A store that fails while an output is written to it: the same bytes, or a clear error.

Every file is uploaded in small parts here, so that faults meet all kinds of requests.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.mill.children import Child
from tests.store.fault_proxy import INTERNAL_ERROR, Fault
from tests.store.packed import StorePacking, object_digests

from tokenmill._errors import OutputError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.mill.corpus import Corpus
    from tests.store.fault_proxy import FaultProxy
    from tests.store.packed import Place
    from tests.store.server import S3Server

IN_PARTS: dict[str, Any] = {"upload_bytes": 3000}

# Each strikes several requests, some time after the start.
PASSING = {
    "500": [Fault("status", status=500, body=INTERNAL_ERROR, times=2, after=6)],
    "503 SlowDown": [Fault("status", times=3, after=10)],
    "reset": [Fault("reset", times=4, after=8)],
    "lost answers to puts": [Fault("lost", times=4, after=3, method="PUT")],
    "lost end of an upload": [Fault("lost", times=2, method="POST", part="uploadId")],
    "lost start of an upload": [Fault("lost", times=2, method="POST", part="?uploads")],
    "wrong ETag of a part": [Fault("etag", times=2, method="PUT", part="partNumber")],
    "wrong ETag of an object": [Fault("etag", times=9, method="PUT", part="_work")],
    "wrong ETag of a head": [Fault("etag", times=9, method="HEAD")],
    "everything": [
        Fault("status", status=500, body=INTERNAL_ERROR, times=3, after=4),
        Fault("reset", times=3, after=20),
        Fault("lost", times=3, after=30),
        Fault("status", times=3, after=40),
    ],
}


QUICK = (
    "500",
    "lost answers to puts",
    "lost end of an upload",
    "wrong ETag of a part",
    "everything",
)


def slow_but(quick: Sequence[str], names: Iterable[str]) -> list[Any]:
    """Return parameters, of which all but some are slow."""
    mark = pytest.mark.slow
    return [name if name in quick else pytest.param(name, marks=mark) for name in names]


@pytest.mark.parametrize("name", slow_but(QUICK, PASSING))
def test_the_same_bytes_though_requests_fail(
    name: str, dirty: Corpus, place: Place, proxy: FaultProxy
) -> None:
    made = StorePacking("concat", dirty, place)
    proxy.faults += [Fault(**vars(fault)) for fault in PASSING[name]]
    made.check(made.run(IN_PARTS))
    assert any(seen.fault for seen in proxy.seen)


@pytest.mark.parametrize("name", slow_but(["everything"], PASSING))
def test_the_same_bytes_by_ranks_though_requests_fail(
    name: str, dirty: Corpus, place: Place, proxy: FaultProxy
) -> None:
    made = StorePacking("bestfit", dirty, place)
    proxy.faults += [Fault(**vars(fault)) for fault in PASSING[name]]
    proxy.faults.append(Fault("short", times=3, method="GET", part="_work/parts"))
    children = [made.start(rank, 2, **IN_PARTS) for rank in range(2)]
    made.check(*[child.outcome() for child in children])
    assert any(seen.fault for seen in proxy.seen)


LASTING = {
    "503 SlowDown": Fault("status", times=10**6, method="PUT", part="shard"),
    "500": Fault("status", status=500, body=INTERNAL_ERROR, times=10**6, part="documents"),
    "reset": Fault("reset", times=10**6, method="POST"),
    "wrong ETag of a part": Fault("etag", times=10**6, method="PUT", part="partNumber"),
    "the manifest": Fault("status", times=10**6, method="PUT", part="manifest"),
}


@pytest.mark.parametrize("name", slow_but(["503 SlowDown", "the manifest"], LASTING))
def test_a_store_that_stays_broken_is_an_error_and_the_next_run_resumes(
    name: str, dirty: Corpus, place: Place, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKENMILL_STORE_ATTEMPTS", "2")
    made = StorePacking("concat", dirty, place)
    proxy.faults.append(Fault(**vars(LASTING[name])))
    outcome = made.run(IN_PARTS)
    assert isinstance(outcome.error, StoreError)
    assert str(place.bucket) in str(outcome.error)
    proxy.faults.clear()
    made.check_nothing_is_half_done()
    made.check(made.run(IN_PARTS))


def test_a_far_store(dirty: Corpus, place: Place, proxy: FaultProxy) -> None:
    """Every request takes 200 ms: there may not be many after each other."""
    made = StorePacking("concat", dirty, place, shard_tokens=40_000)
    proxy.delay = 0.2
    made.check(made.run())


def test_killed_while_it_uploads(dirty: Corpus, place: Place, proxy: FaultProxy) -> None:
    """From outside, when the store has some parts of an upload and waits for more."""
    made = StorePacking("concat", dirty, place)
    proxy.delay = 0.02
    while not killed_at(made, proxy, "partNumber=2"):  # it was faster than this test
        made.forget()
    made.check_nothing_is_half_done()
    proxy.delay = 0.0
    made.check(made.run(IN_PARTS))


def killed_at(made: StorePacking, proxy: FaultProxy, part: str) -> bool:
    """Kill a run when it makes such a request; return False if it has ended before that."""
    child, before = Child(made.order(IN_PARTS)), proxy.count("PUT", part)
    while proxy.count("PUT", part) == before and child.is_alive:
        time.sleep(0.005)
    with contextlib.suppress(ProcessLookupError):
        os.kill(child.pid, signal.SIGKILL)
    outcome = child.outcome()
    assert outcome.error is None
    return outcome.code == -signal.SIGKILL


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [0, 2])
def test_killed_at_any_request(ranks: int, dirty: Corpus, place: Place, proxy: FaultProxy) -> None:
    """At every tenth request of a run, whatever it is."""
    made = StorePacking("concat", dirty, place)
    for requests in range(5, 10**6, 10):
        begun = len(proxy.seen)
        orders = [made.order(IN_PARTS)]
        if ranks:
            orders = [made.rank_order(rank, ranks, **IN_PARTS) for rank in range(ranks)]
        children = [Child(order) for order in orders]
        while len(proxy.seen) - begun < requests and any(child.is_alive for child in children):
            time.sleep(0.001)
        if not any(child.is_alive for child in children):
            made.check(*[child.outcome() for child in children])
            return
        for child in children:
            os.kill(child.pid, signal.SIGKILL)
            child.outcome()
        if "manifest.json" not in object_digests(made.address):
            made.check_nothing_is_half_done()


def test_a_full_disk_is_an_error_and_the_next_run_resumes(dirty: Corpus, place: Place) -> None:
    made = StorePacking("concat", dirty, place)
    outcome = made.run({"file_bytes": 5000})
    assert isinstance(outcome.error, OutputError)
    made.check_nothing_is_half_done()
    made.check(made.run())


def test_no_upload_is_left_when_a_run_fails_by_itself(
    dirty: Corpus, place: Place, proxy: FaultProxy, s3_server: S3Server
) -> None:
    made = StorePacking("concat", dirty, place)
    proxy.faults.append(Fault("etag", times=10**6, method="PUT", part="partNumber"))
    outcome = made.run(IN_PARTS)
    assert isinstance(outcome.error, StoreError)
    assert s3_server.unfinished_uploads(place.bucket.bucket) == 0
