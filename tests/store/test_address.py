"""Addresses of object stores."""

from __future__ import annotations

import pytest

from tokenmill import OptionError
from tokenmill._store import Address, is_address, parse_address


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("s3://bucket/a/b.jsonl", ("s3", "bucket", "a/b.jsonl")),
        ("s3://bucket", ("s3", "bucket", "")),
        ("gs://bucket/folder/", ("gs", "bucket", "folder")),
        ("az://container/a b", ("az", "container", "a b")),
        ("https://host:8080/a%20b/c", ("https", "host:8080", "a b/c")),
    ],
)
def test_an_address_has_three_parts(text: str, parts: tuple[str, str, str]) -> None:
    address = parse_address(text)
    assert (address.scheme, address.bucket, address.key) == parts
    assert str(address) == text.rstrip("/")


@pytest.mark.parametrize(
    "text", ["s3://", "s3:///key", "ftp://host/a", "s3://b/a//c", "s3://b/../c", "http://h/a?b=c"]
)
def test_a_wrong_address_is_refused(text: str) -> None:
    with pytest.raises(OptionError):
        parse_address(text)


def test_addresses_are_told_from_paths_and_other_urls() -> None:
    assert is_address("s3://b/k")
    assert is_address("https://host/k")
    for other in ("s3", "/s3://b", "memory://a", "hf://a/b", "zip::s3://b/k", "s3:/b"):
        assert not is_address(other)


def test_addresses_are_joined_and_parted() -> None:
    address = Address("s3", "b") / "folder" / "name"
    assert str(address) == "s3://b/folder/name"
    assert address.name == "name"
    assert str(address.parent) == "s3://b/folder"
