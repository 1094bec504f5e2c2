"""Chooses the device that encodes a call, and reports why the CPU does it instead."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from tokenmill._cuda.device_tokenizer import DeviceTokenizer
from tokenmill._cuda.names import device_number
from tokenmill._cuda.options import CallOptions
from tokenmill._cuda.reasons import device_error
from tokenmill._errors import DeviceError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokenmill._calls.batch import TokenBatch
    from tokenmill._model.ready import Ready

__all__ = ["CallOptions", "encode_on", "opened"]

WORTH_IT = 4 << 20  # bytes: "auto" leaves smaller batches to the CPU
_LOG = logging.getLogger("tokenmill")
_LOCK = threading.Lock()
# A tokenizer on each device, or why it is not there; kept as long as the tokenizer.
_OPENED: WeakKeyDictionary[Ready, dict[int, DeviceTokenizer | DeviceError]] = WeakKeyDictionary()
_LOGGED: set[str] = set()


def encode_on(
    device: str,
    ready: Ready,
    texts: Any,
    options: CallOptions,
    *,
    only_ids: bool,
) -> TokenBatch | str:
    """Encode on a device. If it cannot be used, "auto" returns why; others raise DeviceError."""
    number = device_number(device)
    try:
        if not only_ids:
            raise device_error("unsupported_option", where="device")
        if number is None and not _is_worth_it(texts):
            raise device_error("batch_too_small", where="device")
        tokenizer = opened(ready, number or 0, retry=number is not None)
        return tokenizer.encode_parts(tokenizer.parts(texts), options).to_host()
    except DeviceError as error:
        if number is not None:
            raise
        _log_once(error)
        return f"{error.reason}: {error}"


def opened(ready: Ready, number: int, *, retry: bool = True) -> DeviceTokenizer:
    """Return the tokenizer on a device, the same one each time; `retry` after a failure."""
    with _LOCK:
        known = _OPENED.setdefault(ready, {})
        entry = known.get(number)
        if entry is None or (retry and isinstance(entry, DeviceError)):
            try:
                entry = DeviceTokenizer(ready, number)
            except DeviceError as error:
                entry = error.with_traceback(None)
            known[number] = entry
    if isinstance(entry, DeviceError):
        raise entry
    return entry


def _is_worth_it(texts: Any) -> bool:
    """Check whether texts have enough bytes, or characters, which are never more than bytes."""
    size = getattr(texts, "nbytes", None)
    if size is not None:
        return int(size) >= WORTH_IT
    return _reaches(texts, WORTH_IT) if hasattr(texts, "__iter__") else True


def _reaches(texts: Iterable[Any], size: int) -> bool:
    for text in texts:
        size -= len(text) if hasattr(text, "__len__") else 0
        if size <= 0:
            return True
    return False


def _log_once(error: DeviceError) -> None:
    """Log why a device is not used, once for each reason."""
    with _LOCK:
        if error.reason in _LOGGED:
            return
        _LOGGED.add(error.reason)
    level = logging.DEBUG if error.reason == "batch_too_small" else logging.WARNING
    _LOG.log(level, "device='auto' uses the CPU: %s", error)
