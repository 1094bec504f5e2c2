"""Addresses of objects: `s3://bucket/key`, `gs://`, `az://container/key`, `http(s)://host/path`."""

from __future__ import annotations

from dataclasses import dataclass

from tokenmill._errors import OptionError

STORE_SCHEMES = ("s3", "gs", "az", "http", "https")
_READ_ONLY = ("http", "https")


@dataclass(frozen=True, order=True)
class Address:
    """An object, or a folder of objects, which is a prefix that ends before a slash."""

    scheme: str  # of STORE_SCHEMES
    bucket: str  # the container of az, the host with its port of http
    key: str = ""  # without a slash at either end

    def __str__(self) -> str:
        key = _quoted(self.key) if self.is_read_only else self.key
        return f"{self.scheme}://{self.bucket}" + (f"/{key}" if key else "")

    def __truediv__(self, name: str) -> Address:
        joined = f"{self.key}/{name}".strip("/")
        return Address(self.scheme, self.bucket, joined)

    @property
    def name(self) -> str:
        """The key after its last slash."""
        return self.key.rpartition("/")[2]

    @property
    def parent(self) -> Address:
        """The folder that the object is in."""
        return Address(self.scheme, self.bucket, self.key.rpartition("/")[0])

    @property
    def is_read_only(self) -> bool:
        """Whether nothing can be listed or written there: a plain web server."""
        return self.scheme in _READ_ONLY


def is_address(text: str) -> bool:
    """Tell the address of an object store from a path, and from the URLs of other libraries."""
    scheme, found, _ = text.partition("://")
    return bool(found) and scheme in STORE_SCHEMES


def parse_address(text: str) -> Address:
    """Return the parts of an address; OptionError if it has no bucket or a part that is refused."""
    scheme, _, rest = text.partition("://")
    if scheme not in STORE_SCHEMES:
        known = ", ".join(f"{name}://" for name in STORE_SCHEMES)
        raise OptionError(f"expected an address that begins with one of {known}", where=text)
    bucket, _, key = rest.partition("/")
    if not bucket:
        raise OptionError("expected a bucket after the scheme, got none", where=text)
    if scheme in _READ_ONLY:
        if "?" in key or "#" in key:
            raise OptionError(
                "expected a URL without a query, got one",
                where=text,
                hint="download it, or use the address of the bucket",
            )
        from urllib.parse import unquote  # takes milliseconds, and paths do without it

        key = unquote(key)
    key = key.strip("/")
    parts = key.split("/") if key else []
    if any(part in ("", ".", "..") for part in parts):
        raise OptionError("expected names between the slashes of a key, got '', '.' or '..'",
                          where=text)  # fmt: skip
    return Address(scheme, bucket, key)


def _quoted(key: str) -> str:
    from urllib.parse import quote

    return quote(key, safe="/:@!$&'()*+,;=~")
