"""Clients of obstore, one for each bucket and process, with settings from the usual variables.

A client has threads, which a fork does not copy: in the child every request would wait for ever.
So a child that was forked after its parent made a client gets an error here.
"""

from __future__ import annotations

import configparser
import os
import threading
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenmill._errors import MissingDependency, StoreError
from tokenmill._platform.processes import after_fork

if TYPE_CHECKING:
    from tokenmill._store.address import Address

_SETTINGS = ("AWS_", "AZURE_", "GOOGLE_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
# With one of these, obstore knows who asks.
_S3_KEYS = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SKIP_SIGNATURE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)
_STALL = timedelta(seconds=30)
_CONNECT = timedelta(seconds=10)
_WHOLE = timedelta(minutes=10)

_lock = threading.Lock()
_clients: dict[tuple[object, ...], Any] = {}
_state = {"used": False, "forked": False}


def _after_fork() -> None:
    """Forget in a child what only its parent can use."""
    global _lock  # noqa: PLW0603 -- another thread of the parent may hold it
    _lock = threading.Lock()
    _state["forked"] = _state["forked"] or _state["used"]
    _clients.clear()


after_fork(_after_fork)


def is_forked() -> bool:
    """Tell whether this process was forked from one that had used a store."""
    return _state["forked"]


def client(address: Address, *, repeats: int = 0) -> Any:
    """Return the client of a bucket, which itself makes a failed request again so many times."""
    if _state["forked"]:
        raise StoreError(
            "this process was forked from one that had used a store, and cannot use it itself",
            url=str(address),
            hint='start processes with the method "spawn" or "forkserver"',
        )
    settings = tuple(
        sorted(item for item in os.environ.items() if item[0].upper().startswith(_SETTINGS))
    )
    key = (address.scheme, address.bucket, repeats, settings)
    with _lock:
        if key not in _clients:
            _state["used"] = True
            _clients[key] = _new_client(address, repeats)
        return _clients[key]


def library() -> Any:
    """Return obstore."""
    try:
        import obstore
    except ImportError as error:
        raise MissingDependency(
            "not installed, but addresses of object stores need it",
            name="obstore",
            hint="pip install 'tokenmill[stores]'",
        ) from error
    return obstore


def _new_client(address: Address, repeats: int) -> Any:
    library()
    from obstore import store

    options: dict[str, Any] = {
        "connect_timeout": _CONNECT,
        "read_timeout": _STALL,
        "timeout": _WHOLE,
        "allow_http": True,  # where the endpoint that was set begins with http://
    }
    retry = {"max_retries": repeats}
    shared: dict[str, Any] = {"client_options": options, "retry_config": retry}
    try:
        if address.scheme == "s3":
            return store.S3Store(address.bucket, config=_s3_settings(), **shared)
        if address.scheme == "gs":
            return store.GCSStore(address.bucket, **shared)
        if address.scheme == "az":
            return store.AzureStore(address.bucket, **shared)
        return store.HTTPStore.from_url(f"{address.scheme}://{address.bucket}", **shared)
    except Exception as error:
        raise StoreError(
            f"the settings of this store are refused: {error}",
            url=str(address),
            hint="check the variables of the environment that begin with AWS_, GOOGLE_ or AZURE_",
        ) from error


def _s3_settings() -> dict[str, str]:
    """Return what obstore does not take from the environment itself."""
    environ = os.environ
    # The store compares what arrives with it, and keeps it.
    settings = {} if "AWS_CHECKSUM_ALGORITHM" in environ else {"checksum_algorithm": "SHA256"}
    endpoint = environ.get("AWS_ENDPOINT_URL_S3") or environ.get("AWS_ENDPOINT_URL")
    endpoint = endpoint or environ.get("AWS_ENDPOINT")
    if endpoint:
        settings["endpoint"] = endpoint
    if not any(name in environ for name in _S3_KEYS):
        settings |= _profile()
    return settings


def _profile() -> dict[str, str]:
    """Return the keys of the profile in the files that AWS tools share, if there is one."""
    name = os.environ.get("AWS_PROFILE") or "default"
    found: dict[str, str] = {}
    for variable, usual, section in (
        ("AWS_CONFIG_FILE", "config", name if name == "default" else f"profile {name}"),
        ("AWS_SHARED_CREDENTIALS_FILE", "credentials", name),
    ):
        path = os.environ.get(variable) or str(Path.home() / ".aws" / usual)
        parser = configparser.ConfigParser(interpolation=None)
        parser.read(path)
        if parser.has_section(section):
            found |= dict(parser[section])
    wanted = {
        "aws_access_key_id": "access_key_id",
        "aws_secret_access_key": "secret_access_key",
        "aws_session_token": "session_token",
    }
    if "AWS_REGION" not in os.environ and "AWS_DEFAULT_REGION" not in os.environ:
        wanted["region"] = "region"
    return {ours: found[theirs] for theirs, ours in wanted.items() if theirs in found}
