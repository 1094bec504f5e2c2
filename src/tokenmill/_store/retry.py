"""Requests that are tried again, with growing waits, up to a bound; and what their errors mean."""

from __future__ import annotations

import os
import random
import re
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from tokenmill._checks import whole_number
from tokenmill._errors import ObjectChanged, ObjectNotFound, StoreError, TokenmillError
from tokenmill._store.counts import count_request

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenmill._store.address import Address

Result = TypeVar("Result")

_ATTEMPTS = 10  # with these waits: about half a minute
_FIRST_WAIT = 0.1
_LONGEST_WAIT = 10.0
_STATUS = re.compile(r"status code: (\d{3})")
_CODE = re.compile(r"<Code>(\w+)</Code>")
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
_NO_RANGES = ("non-partial response", "Range request not supported")


class ShortRead(Exception):  # noqa: N818 -- it never leaves the room
    """A body with fewer bytes than were asked for."""


def attempts() -> int:
    """Return how often a request is made at most."""
    name = "TOKENMILL_STORE_ATTEMPTS"
    value = os.environ.get(name, "")
    return whole_number(name, int(value) if value.isdecimal() else value) if value else _ATTEMPTS


def persist(
    kind: str,
    address: Address,
    request: Callable[[int], Result],
    *,
    most: int | None = None,
    stop: threading.Event | None = None,
) -> Result:
    """Return the result of a request; its argument is how often it was tried before.

    After `stop` is set it is not tried again.
    """
    stop = stop or threading.Event()
    most = most or attempts()
    for attempt in range(most):
        count_request(kind, repeated=attempt > 0)
        try:
            return request(attempt)
        except TokenmillError:
            raise
        except Exception as error:
            final = _final_error(error, address)
            if final is not None:
                raise final from error
            if attempt + 1 == most or stop.is_set():
                raise given_up(error, address, attempt + 1) from error
        wait = min(_FIRST_WAIT * 2**attempt, _LONGEST_WAIT)
        stop.wait(wait * random.uniform(0.5, 1.0))  # noqa: S311 -- it only spreads requests
    raise AssertionError  # attempts() is at least 1


def given_up(error: BaseException, address: Address, tried: int) -> StoreError:
    """Return the error of a request that failed each time."""
    times = "once" if tried == 1 else f"{tried} times"
    return StoreError(
        f"the request failed {times}, the last time with: {brief(error)}",
        url=str(address),
        hint="is the store reachable and healthy? TOKENMILL_STORE_ATTEMPTS allows more attempts",
    )


def translated(error: Exception, address: Address) -> TokenmillError:
    """Return our error for one of obstore, whether trying again would help or not."""
    if isinstance(error, TokenmillError):
        return error
    return _final_error(error, address) or given_up(error, address, 1)


def _final_error(error: Exception, address: Address) -> TokenmillError | None:
    """Return the error to raise if trying again cannot help, else None."""
    url, kind = str(address), type(error).__name__
    status = status_of(error)
    if isinstance(error, FileNotFoundError):
        return ObjectNotFound("no such object", url=url, hint="is the name right?")
    if kind in ("AlreadyExistsError", "PreconditionError", "NotModifiedError"):
        what = "exists already" if kind == "AlreadyExistsError" else "was changed by somebody else"
        return ObjectChanged(f"the object {what}", url=url)
    if (refusal := _refusal(error, address)) is not None:
        return refusal
    is_wrong = kind in (
        "InvalidPathError",
        "NotSupportedError",
        "NotImplementedError",
        "ValueError",
        "TypeError",
    )
    if is_wrong or (status is not None and status not in _AGAIN):
        return StoreError(f"the request is refused: {brief(error)}", url=url)
    return None


def _refusal(error: Exception, address: Address) -> StoreError | None:
    """Return an error that says what to check, if the store refuses for a known reason."""
    url = str(address)
    if type(error).__name__ in ("PermissionDeniedError", "UnauthenticatedError"):
        return StoreError(
            f"the store refuses: {brief(error)}",
            url=url,
            hint="are the credentials in the environment right, and do they allow this?",
        )
    if "NoSuchBucket" in str(error):
        hint = "is the name right, and is it a bucket of this store and region?"
        return StoreError(f"no such bucket: {address.bucket}", url=url, hint=hint)
    if any(words in str(error) for words in _NO_RANGES):
        return StoreError(
            "this server sends whole files only, not ranges", url=url, hint="download the file"
        )
    return None


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status in an error of obstore; None if there was no answer."""
    found = _STATUS.search(str(error))
    return int(found[1]) if found else None


def brief(error: BaseException) -> str:
    """Return one line about an error of obstore, which writes pages."""
    text = str(error)
    status, code = status_of(error), _CODE.search(text)
    if status is not None:
        return f"HTTP status {status}" + (f" {code[1]}" if code else "")
    line: Any = text.partition("\n\nDebug source")[0].strip().splitlines() or [type(error).__name__]
    return str(line[0])[:300]
