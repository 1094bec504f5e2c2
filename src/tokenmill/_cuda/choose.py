"""Which device encodes a call, and why another one does it where the wish cannot be met."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from tokenmill._cuda.gpu_tokenizer import GpuTokenizer
from tokenmill._cuda.names import device_number
from tokenmill._cuda.reasons import device_error
from tokenmill._errors import DeviceError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokenmill._calls.batch import TokenBatch

    # Texts, bits of an id, add_special_tokens, special_in_text, errors.
    Asked = tuple[Any, int, bool, Any, Any]

WORTH_IT = 4 << 20  # bytes: "auto" leaves less to the CPU
_LOG = logging.getLogger("tokenmill")
_LOCK = threading.Lock()
# What a tokenizer became on each device, or why it did not; kept as long as the tokenizer.
_OPENED: WeakKeyDictionary[object, dict[int, GpuTokenizer | DeviceError]] = WeakKeyDictionary()
_SAID: set[str] = set()


def encode_on(device: str, tokenizer: object, asked: Asked, *, ids_alone: bool) -> TokenBatch | str:
    """Encode on a device. With "auto", return why not if it cannot be; otherwise DeviceError."""
    number = device_number(device)
    try:
        if not ids_alone:
            raise device_error("unsupported_option", where="device")
        if number is None and not _is_worth_it(asked[0]):
            raise device_error("batch_too_small", where="device")
        return _encode(opened(tokenizer, number or 0, retry=number is not None), asked)
    except DeviceError as error:
        if number is not None:
            raise
        _say(error)
        return f"{error.reason}: {error}"


def opened(tokenizer: object, number: int, *, retry: bool = True) -> GpuTokenizer:
    """Return the tokenizer on a device, the same one each time; `retry` after a failure."""
    with _LOCK:
        known = _OPENED.setdefault(tokenizer, {})
        entry = known.get(number)
        if entry is None or (retry and isinstance(entry, DeviceError)):
            try:
                entry = GpuTokenizer(tokenizer, number)
            except DeviceError as error:
                entry = error.with_traceback(None)
            known[number] = entry
    if isinstance(entry, DeviceError):
        raise entry
    return entry


def _encode(gpu: GpuTokenizer, asked: Asked) -> TokenBatch:
    texts, bits, add_special_tokens, special_in_text, errors = asked
    return gpu.encode_batch(
        texts,
        dtype="uint16" if bits == 16 else "uint32",  # noqa: PLR2004
        add_special_tokens=add_special_tokens,
        special_in_text=special_in_text,
        errors=errors,
        output="host",
    ).to_host()


def _is_worth_it(texts: Any) -> bool:
    """Say whether texts have enough bytes, or characters, which are never more."""
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


def _say(error: DeviceError) -> None:
    """Log why a device is not used, once for each reason."""
    with _LOCK:
        if error.reason in _SAID:
            return
        _SAID.add(error.reason)
    level = logging.DEBUG if error.reason == "batch_too_small" else logging.WARNING
    _LOG.log(level, "device='auto' takes the CPU: %s", error)
