"""Chooses the device that encodes a call, and reports why the CPU does it instead."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from tokenmill._calls.options import thread_count
from tokenmill._cuda.crossover import SAMPLE_BYTES, measure
from tokenmill._cuda.device_tokenizer import DeviceTokenizer
from tokenmill._cuda.names import device_number
from tokenmill._cuda.options import CallOptions
from tokenmill._cuda.reasons import device_error
from tokenmill._cuda.texts import host_parts
from tokenmill._errors import DeviceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenmill._calls.batch import TokenBatch
    from tokenmill._cuda.crossover import Crossover
    from tokenmill._cuda.texts import TextPart
    from tokenmill._model.ready import Ready

__all__ = ["CallOptions", "encode_on", "opened"]

WORTH_OPENING = 4 << 20  # bytes: "auto" opens a device for as much, which takes seconds
_LOG = logging.getLogger("tokenmill")
_LOCK = threading.Lock()
# A tokenizer on each device, or why it is not there; kept as long as the tokenizer.
_OPENED: WeakKeyDictionary[Ready, dict[int, DeviceTokenizer | DeviceError]] = WeakKeyDictionary()
# What was measured for each kind of input.
_MEASURED: WeakKeyDictionary[Ready, dict[str, Crossover]] = WeakKeyDictionary()
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
        if number is None:
            return _encode_where_it_pays(ready, texts, options)
        tokenizer = opened(ready, number)
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


def _encode_where_it_pays(ready: Ready, texts: Any, options: CallOptions) -> TokenBatch:
    """Encode on the first device if that is faster; DeviceError, with the times, if it is not."""
    parts = host_parts(texts, thread_count(None))
    size, kind = sum(part.size for part in parts), kind_of(texts)
    entry = _OPENED.get(ready, {}).get(0)
    if (entry is None or isinstance(entry, DeviceError)) and size < WORTH_OPENING:
        detail = f"{size} bytes, and no device is open: one is opened for {WORTH_OPENING}"
        raise device_error("batch_too_small", detail, where="device")
    tokenizer = opened(ready, 0, retry=False)
    crossover = _crossover(ready, tokenizer, parts, kind, options)
    if crossover is None or not crossover.prefers_device(size):
        reason = "batch_too_small" if size < SAMPLE_BYTES else "cpu_faster"
        detail = crossover.comparison(size, kind, tokenizer.device) if crossover else ""
        raise device_error(reason, detail, where="device")
    return tokenizer.encode_parts(parts, options).to_host()


def kind_of(texts: Any) -> str:
    """Return the kind of input, for a measurement: "str", "bytes", "Arrow", ...

    Texts of a list are looked at where it begins, in the middle and at the end.
    """
    if not isinstance(texts, (list, tuple)):
        return "Arrow"
    places = sorted({0, len(texts) // 2, len(texts) - 1}) if texts else []
    return " and ".join(sorted({type(texts[place]).__name__ for place in places})) or "nothing"


def _crossover(
    ready: Ready,
    tokenizer: DeviceTokenizer,
    parts: Sequence[TextPart],
    kind: str,
    options: CallOptions,
) -> Crossover | None:
    """Return what was measured for a kind of input; None if all texts so far were too short."""
    known = _MEASURED.setdefault(ready, {})
    enough = sum(part.size for part in parts) >= SAMPLE_BYTES
    if kind not in known and enough and parts[0].size:
        cpu = tokenizer.cpu_encoder(options)
        known[kind] = measure(
            parts, cpu, lambda part: tokenizer.encode_parts([part], options).to_host()
        )
        _LOG.debug(
            "device='auto': %s", known[kind].comparison(SAMPLE_BYTES, kind, tokenizer.device)
        )
    return known.get(kind) or next(iter(known.values()), None)


def _log_once(error: DeviceError) -> None:
    """Log why a device is not used, once for each reason."""
    with _LOCK:
        if error.reason in _LOGGED:
            return
        _LOGGED.add(error.reason)
    is_choice = error.reason in ("batch_too_small", "cpu_faster")
    level = logging.DEBUG if is_choice else logging.WARNING
    _LOG.log(level, "device='auto' uses the CPU: %s", error)
