"""Stores that fail: every fault ends in the same bytes, or in an error that says what happened."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.store.fault_proxy import INTERNAL_ERROR, Fault

from tokenmill import ObjectChanged, StoreError
from tokenmill import _store as store

if TYPE_CHECKING:
    from tests.store.fault_proxy import FaultProxy
    from tests.store.server import S3Server

    from tokenmill._store import Address

DATA = bytes(range(256)) * 40

TRANSIENT = [
    Fault("status", status=500, body=INTERNAL_ERROR, times=2),
    Fault("status", times=2),
    Fault("reset", times=2),
    Fault("lost", times=2),
]


def write_and_commit(upload: store.Upload, data: bytes) -> None:
    with upload:
        upload.write(data)
        upload.commit()


def copy(fault: Fault) -> Fault:
    return Fault(**vars(fault))


@pytest.mark.parametrize("fault", [*TRANSIENT, Fault("short", times=2)], ids=lambda f: f.kind)
def test_a_read_that_fails_twice_has_the_same_bytes(
    bucket: Address, proxy: FaultProxy, fault: Fault
) -> None:
    key = bucket / "a"
    store.put(key, DATA)
    before = store.request_counts()
    proxy.faults.append(copy(fault))
    assert bytes(store.get(key, 0, len(DATA))) == DATA
    proxy.faults[:] = [copy(fault)]
    assert bytes(store.get_whole(key)[0]) == DATA
    made = store.request_counts().since(before)
    assert made.requests["get"] == 6
    assert made.repeated["get"] == 4


@pytest.mark.parametrize("fault", TRANSIENT, ids=lambda f: f.kind)
def test_head_list_and_delete_survive_too(bucket: Address, proxy: FaultProxy, fault: Fault) -> None:
    key = bucket / "a"
    store.put(key, DATA)
    proxy.faults.append(copy(fault))
    assert store.head(key).size == len(DATA)
    proxy.faults[:] = [copy(fault)]
    assert [info.size for info in store.list_objects(bucket)] == [len(DATA)]
    proxy.faults[:] = [copy(fault)]
    store.delete(key)
    assert store.find(key) is None


@pytest.mark.parametrize("fault", TRANSIENT, ids=lambda f: f.kind)
def test_an_object_is_created_once_though_answers_are_lost(
    bucket: Address, proxy: FaultProxy, fault: Fault
) -> None:
    proxy.faults.append(copy(fault))
    assert store.put(bucket / "claim", b"rank 3", create=True) is not None
    proxy.faults[:] = [copy(fault)]
    with pytest.raises(ObjectChanged):
        store.put(bucket / "claim", b"rank 4", create=True)
    assert bytes(store.get_whole(bucket / "claim")[0]) == b"rank 3"


def test_a_store_that_never_answers_well_is_given_up(
    bucket: Address, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKENMILL_STORE_ATTEMPTS", "3")
    proxy.faults.append(Fault("status", times=1000))
    with pytest.raises(StoreError, match=r"failed 3 times.*503 SlowDown.*ATTEMPTS"):
        store.get_whole(bucket / "a")
    assert proxy.count("GET") == 3


def test_a_body_that_is_always_cut_is_given_up(
    bucket: Address, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKENMILL_STORE_ATTEMPTS", "3")
    store.put(bucket / "a", DATA)
    proxy.faults.append(Fault("short", times=1000))
    with pytest.raises(StoreError, match="failed 3 times"):
        store.get(bucket / "a", 0, len(DATA))


def test_a_wrong_etag_is_an_error(bucket: Address, proxy: FaultProxy) -> None:
    info = store.put(bucket / "a", DATA)
    assert info is not None
    proxy.faults.append(Fault("etag", method="GET"))
    with pytest.raises(ObjectChanged, match="0123456789abcdef"):
        store.get(bucket / "a", 0, 10, tag=info.tag)


def test_what_is_forbidden_is_not_tried_again(bucket: Address, proxy: FaultProxy) -> None:
    proxy.faults.append(Fault("status", status=403, body=b"<Code>AccessDenied</Code>", times=9))
    with pytest.raises(StoreError, match="credentials"):
        store.get(bucket / "a", 0, 10)
    assert proxy.count("GET") == 1


@pytest.mark.parametrize("fault", TRANSIENT[:3], ids=lambda f: f.kind)
def test_an_upload_survives_parts_that_fail(
    bucket: Address, proxy: FaultProxy, s3_server: S3Server, fault: Fault
) -> None:
    data = os.urandom((16 << 20) + 7)
    proxy.faults.append(Fault(**{**vars(fault), "method": "PUT"}))
    with store.Upload(bucket / "a") as upload:
        upload.write(data)
        upload.commit()
    assert bytes(store.get_whole(bucket / "a")[0]) == data
    assert s3_server.unfinished_uploads(bucket.bucket) == 0


def test_an_upload_that_cannot_be_finished_leaves_no_object(
    bucket: Address, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKENMILL_STORE_ATTEMPTS", "2")
    proxy.faults.append(Fault("status", method="PUT", times=1000))
    upload = store.Upload(bucket / "a")
    with pytest.raises(StoreError):
        write_and_commit(upload, bytes(20 << 20))
    proxy.faults.clear()
    assert store.find(bucket / "a") is None


def test_a_dead_endpoint_is_an_error_in_words(
    bucket: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("TOKENMILL_STORE_ATTEMPTS", "2")
    with pytest.raises(StoreError, match="failed 2 times"):
        store.head(bucket / "a")


FORKED = """
import os, sys
from tokenmill import StoreError, _store as store
key = store.parse_address(sys.argv[1])
size = store.head(key).size
child = os.fork()
if child == 0:
    try:
        store.head(key)
    except StoreError as error:
        os._exit(0 if "forked" in str(error) else 2)
    os._exit(1)
assert os.waitpid(child, 0)[1] == 0
assert store.head(key).size == size
"""


def test_a_forked_child_gets_an_error_and_does_not_wait_for_ever(bucket: Address) -> None:
    store.put(bucket / "a", DATA)
    command = [sys.executable, "-W", "ignore", "-c", FORKED, str(bucket / "a")]
    subprocess.run(command, check=True, timeout=300)  # noqa: S603
