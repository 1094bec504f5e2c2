"""Objects of a real S3 server: reading, listing, conditions, uploads, counts."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tokenmill import ObjectChanged, ObjectNotFound, OptionError, StoreError
from tokenmill import _store as store

if TYPE_CHECKING:
    from pathlib import Path

    from tests.store.server import S3Server

    from tokenmill._store import Address


def test_an_object_is_written_and_read_back(bucket: Address) -> None:
    key = bucket / "a folder" / "n\u00e4me+1=2#3%.bin"
    data = os.urandom(1000)
    written = store.put(key, data)
    info = store.head(key)
    assert written is not None
    assert (info.size, info.tag) == (1000, written.tag)
    assert bytes(store.get(key, 10, 20, tag=info.tag)) == data[10:20]
    assert len(store.get(key, 5, 5)) == 0
    body, same = store.get_whole(key)
    assert (bytes(body), same.tag) == (data, info.tag)


def test_a_bucket_that_is_not_there_is_named(bucket: Address) -> None:
    nowhere = replace(bucket, bucket="no-such-place")
    with pytest.raises(StoreError, match="no such bucket: no-such-place") as caught:
        list(store.list_objects(nowhere))
    assert "is the name right" in caught.value.hint


def test_what_is_not_there_is_said_to_be_missing(bucket: Address) -> None:
    key = bucket / "nothing"
    assert store.find(key) is None
    for ask in (
        lambda: store.head(key),
        lambda: store.get(key, 0, 1),
        lambda: store.get_whole(key),
    ):
        with pytest.raises(ObjectNotFound, match="nothing: no such object"):
            ask()
    store.delete(key)
    assert list(store.list_objects(bucket)) == []


def test_a_listing_has_all_objects_below_a_folder_in_order(bucket: Address) -> None:
    for name in ("b/2", "b/1", "b/c/3", "bb/4", "a"):
        store.put(bucket / name, b"x")
    assert [info.address.key for info in store.list_objects(bucket / "b")] == [
        "b/1",
        "b/2",
        "b/c/3",
    ]
    assert len(list(store.list_objects(bucket))) == 5


def test_an_object_is_created_once(bucket: Address) -> None:
    key = bucket / "claim"
    store.put(key, b"mine", create=True)
    with pytest.raises(ObjectChanged, match="exists already"):
        store.put(key, b"other", create=True)
    assert bytes(store.get_whole(key)[0]) == b"mine"


def test_an_object_is_replaced_only_in_the_version_that_was_seen(bucket: Address) -> None:
    key = bucket / "state"
    first = store.put(key, b"1")
    assert first is not None
    second = store.put(key, b"2", replaces=first)
    assert second is not None
    third = store.put(key, b"3", replaces=store.head(key))
    assert third is not None
    store.put(key, b"2", replaces=third)
    with pytest.raises(ObjectChanged):
        store.put(key, b"3", replaces=first)
    assert bytes(store.get_whole(key)[0]) == b"2"


def test_a_changed_object_is_an_error_and_never_other_bytes(bucket: Address) -> None:
    key = bucket / "input"
    first = store.put(key, b"one")
    assert first is not None
    store.put(key, b"two")
    with pytest.raises(ObjectChanged):
        store.get(key, 0, 3, tag=first.tag)


def test_an_upload_has_its_name_only_after_the_commit(bucket: Address, s3_server: S3Server) -> None:
    key = bucket / "large"
    data = os.urandom((16 << 20) + 5)
    with store.Upload(key) as upload:
        upload.write(data[:1000])
        upload.write(data[1000:])
        assert store.find(key) is None
        info = upload.commit()
    assert info.size == len(data)
    assert bytes(store.get(key, 16 << 20, len(data), tag=info.tag)) == data[16 << 20 :]
    assert s3_server.unfinished_uploads(bucket.bucket) == 0


def test_an_upload_that_is_given_up_leaves_nothing(bucket: Address, s3_server: S3Server) -> None:
    key = bucket / "large"
    with store.Upload(key) as upload:
        upload.write(bytes((32 << 20) + 1))
    assert store.find(key) is None
    assert s3_server.unfinished_uploads(bucket.bucket) == 0


def test_a_file_is_put_whole(bucket: Address, tmp_path: Path) -> None:
    for size in (0, 10, (16 << 20) + 1):
        file = tmp_path / str(size)
        file.write_bytes(os.urandom(size))
        info = store.put_file(bucket / file.name, file)
        assert info.size == size
        assert bytes(store.get_whole(info.address)[0]) == file.read_bytes()


def test_requests_and_bytes_are_counted(bucket: Address) -> None:
    before = store.request_counts()
    key = bucket / "a"
    store.put(key, b"12345")
    store.get(key, 1, 3)
    store.head(key)
    store.find(bucket / "b")
    list(store.list_objects(bucket))
    store.delete(key)
    made = store.request_counts().since(before)
    assert made.requests == {"put": 1, "get": 1, "head": 2, "list": 1, "delete": 1}
    assert (made.repeated, made.bytes_in, made.bytes_out) == ({}, 2, 5)


def test_a_web_server_is_read_and_nothing_else() -> None:
    address = store.parse_address("http://127.0.0.1:1/folder")
    for ask in (
        lambda: list(store.list_objects(address)),
        lambda: store.put(address, b""),
        lambda: store.Upload(address),
    ):
        with pytest.raises(OptionError):
            ask()
