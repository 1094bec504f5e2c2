"""GpuTokenizer: texts in, ids that stay on the device out."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from tokenmill._calls.batch import TokenBatch
from tokenmill._calls.options import bits_of, modes, texts_of
from tokenmill._cuda.backend import connect_cupy
from tokenmill._cuda.engine import LONGEST, SMALLEST, Engine, Job, Outcome, Place, Slot
from tokenmill._cuda.reasons import device_error
from tokenmill._cuda.ring import SLOTS, Ring
from tokenmill._cuda.selftest import sample_texts
from tokenmill._cuda.splice import (
    NO_FRAME,
    CpuEngine,
    Encoded,
    Frame,
    frame_of,
    place_batch,
)
from tokenmill._cuda.steps import WordCapacity
from tokenmill._cuda.support import check_support
from tokenmill._cuda.tables import defines
from tokenmill._cuda.texts import FlatTexts, NotTexts, parts_of
from tokenmill._errors import DtypeError, OptionError

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tokenmill._cuda.backend import Backend, Connect, Mark
    from tokenmill._cuda.texts import Part

DTYPES = ("int32", "uint32", "uint16")
OUTPUTS = ("device", "host")
_AS_TEXT = 1  # of special_in_text, as the core counts


class GpuTokenBatch:
    """Rows of ids on a device. Row `i` is `ids[offsets[i]:offsets[i + 1]]`.

    `ids` and `offsets` (int64) are arrays of the device, which torch and CuPy take without a copy
    (`torch.from_dlpack(batch.ids)`). They are ready for work on the stream that was the current one
    in the call. `device` is its name; `fallbacks` counts the documents that the CPU engine encoded,
    by reason (`tokenmill.cuda.REASONS`).
    """

    __slots__ = ("_backend", "_made", "device", "fallbacks", "ids", "offsets")

    def __init__(
        self,
        backend: Backend,
        ids: Any,
        offsets: Any,
        fallbacks: Counter[str],
        made: Mark,
    ) -> None:
        self._backend = backend
        self._made = made
        self.ids = ids
        self.offsets = offsets
        self.device = backend.name
        self.fallbacks = fallbacks

    def __len__(self) -> int:
        return int(self.offsets.size) - 1

    def to_host(self) -> TokenBatch:
        """Copy to the host; ids are unsigned there, as TokenBatch has them."""
        ids, offsets = map(self._to_host, (self.ids, self.offsets))
        unsigned = ids.view(np.uint32) if ids.dtype == np.int32 else ids
        return TokenBatch(unsigned, offsets, device=self.device)

    def _to_host(self, array: Any) -> NDArray[Any]:
        if not self._backend.is_own(array):
            return cast("NDArray[Any]", array)  # output="host"
        with self._backend.using(None):
            self._backend.wait(self._made)  # another stream may be the current one by now
            return self._backend.to_host(array)

    def __repr__(self) -> str:
        size, dtype = int(self.ids.size), self.ids.dtype
        return f"GpuTokenBatch({len(self)} rows, {size} {dtype} ids on {self.device})"


@dataclass(frozen=True)
class _Call:
    """The options of a call, ready to be used."""

    job: Job
    frame: Frame
    cpu: CpuEngine


class GpuTokenizer:
    """A tokenizer on a CUDA device, with the ids of the CPU engine.

    `batch_bytes` is how much text is encoded at a time, `table_bits` the size of the word table
    (2 ** table_bits entries of 32 bytes), which learns words as they come if `learn` is true; what
    it holds changes the speed alone. `max_memory` bounds the memory in which text is encoded,
    tables and results left out; documents that do not fit are encoded by the CPU engine.
    DeviceError says why a device cannot be used.
    """

    def __init__(
        self,
        tokenizer: Any,  # a Tokenizer, which imports this
        device: int = 0,
        *,
        batch_bytes: int = 256 << 20,
        learn: bool = True,
        table_bits: int = 21,
        max_memory: int | None = None,
        _connect: Connect | None = None,
        _tile: int = 8192,
    ) -> None:
        ready = getattr(tokenizer, "_ready", None)  # the engine behind the face
        if ready is None:
            problem = f"expected a tokenmill.Tokenizer, got {type(tokenizer).__name__}"
            raise OptionError(f"tokenizer: {problem}", hint="Tokenizer.load makes one")
        _check_numbers(device, batch_bytes, table_bits, max_memory)
        if ready.payload is None:
            raise device_error("unsupported_model", "its own library runs it", ready.meta["name"])
        self._model = ready.model
        facts = ready.model.device_tables()
        check_support(facts, ready.meta["name"])
        connect = _connect or connect_cupy(device)
        self._backend = connect(defines(facts, _tile))
        self._lock = threading.Lock()
        with self._backend.using(None):
            self._engine = Engine(
                self._backend, facts, ready.meta, words=WordCapacity(entries=1 << table_bits),
                learn=learn, tile=_tile,
            )  # fmt: skip
            self._longest = _longest(self._engine, max_memory)
            self.batch_bytes = min(batch_bytes, self._longest)
            self._frame = frame_of(self._model)
            self._slot: Slot | None = None
            self._ring: Ring | None = None
            self._last: Mark | None = None
            self._self_test(facts)

    @property
    def device(self) -> str:
        """The name of the device, as "cuda:0"."""
        return self._backend.name

    name = device

    @property
    def backend(self) -> Backend:
        """What runs kernels on the device."""
        return self._backend

    def encode_batch(
        self,
        texts: Any,
        *,
        dtype: Literal["int32", "uint32", "uint16"] = "int32",
        add_special_tokens: bool = False,
        special_in_text: Literal["encode", "text", "raise"] = "encode",
        errors: Literal["strict", "replace"] = "strict",
        output: Literal["device", "host"] = "device",
        stream: Any = None,
    ) -> GpuTokenBatch:
        """Return the ids of many texts: a list, an Arrow array, or FlatTexts on host or device.

        `output`: "host" gives arrays of the host instead. `stream` is a CuPy stream to work on in
        place of the current one. The other options are those of `Tokenizer.encode_batch`.
        """
        return self.encode_parts(
            self.parts(texts),
            dtype=dtype,
            add_special_tokens=add_special_tokens,
            special_in_text=special_in_text,
            errors=errors,
            output=output,
            stream=stream,
        )

    def encode_parts(
        self,
        parts: Sequence[Part],
        *,
        dtype: str = "int32",
        add_special_tokens: bool = False,
        special_in_text: str = "encode",
        errors: str = "strict",
        output: str = "device",
        stream: Any = None,
    ) -> GpuTokenBatch:
        """Return the ids of texts that lie back to back, as `parts` gives them."""
        kind = _dtype_of(dtype, DTYPES)
        call = self._call(kind, add_special_tokens, special_in_text, errors)
        if output not in OUTPUTS:
            raise OptionError(f"output: expected one of {OUTPUTS}, got {output!r}")
        backend = self._backend
        with self._lock, backend.using(stream):
            self._take_turn()
            encode = self._to_host if output == "host" else self._to_device
            ids, offsets = encode(parts, call)
            made = self._last = backend.mark()
        if stream is not None:
            with backend.using(None):
                backend.wait(made)
        wanted = ids.view(np.int32) if kind == "int32" else ids
        return GpuTokenBatch(backend, wanted, offsets, call.cpu.fallbacks, made)

    def parts(self, texts: Any) -> list[Part]:
        """Bring texts into parts that lie back to back; TextTypeError for what is no text."""
        try:
            with self._backend.using(None):
                flat = isinstance(texts, FlatTexts)
                return parts_of(texts if flat else texts_of(texts), self._backend)
        except NotTexts:
            # The CPU engine says it in its own words.
            self._model.encode_batch(texts, 1, 32, False, 0, 0)
            raise

    def encode_host(
        self,
        data: Any,
        offsets: Any,
        *,
        dtype: Literal["uint32", "uint16"] = "uint32",
        out: NDArray[Any] | None = None,
        special_in_text: Literal["encode", "text", "raise"] = "encode",
        errors: Literal["strict", "replace"] = "strict",
    ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Encode text of the host into memory of the host, copies and work side by side.

        `data` and `offsets` are those of FlatTexts. `out` (of `dtype`) takes the ids;
        OutputTooSmall if they do not fit. Memory that is pinned, of either, is not copied once
        more on the host: `pinned` makes such memory. Returns the ids and their offsets.
        """
        wanted = _dtype_of(dtype, DTYPES[1:])
        call = self._call(wanted, False, special_in_text, errors)
        _check_out(out, wanted)
        with self._lock, self._backend.using(None):
            self._take_turn()
            parts = self.parts(FlatTexts(data, offsets))
            found = self._ring_of().encode(parts, call.job, call.cpu, out)
            self._last = self._backend.mark()
        return found

    def encode_flat(
        self,
        data: Any,
        offsets: Any,
        *,
        special_in_text: Literal["encode", "text", "raise"] = "encode",
    ) -> tuple[Any, Any]:
        """Encode text that lies back to back; ids (uint32) and offsets stay on the device."""
        batch = self.encode_batch(
            FlatTexts(data, offsets), dtype="uint32", special_in_text=special_in_text
        )
        return batch.ids, batch.offsets

    def forget_words(self) -> None:
        """Forget the words that were learnt; the next batch is as slow as the first one."""
        with self._lock, self._backend.using(None):
            self._take_turn()
            self._engine.forget_words()

    def pinned(self, count: int, dtype: Any = np.uint8) -> NDArray[Any]:
        """Return memory of the host that the device copies from and to by itself."""
        return self._backend.pinned(count, dtype)

    def _call(
        self, dtype: str, add_special_tokens: bool, special_in_text: str, errors: str
    ) -> _Call:
        special, policy = modes(special_in_text, errors)
        bits = bits_of("uint32" if dtype == "int32" else dtype, self._model.max_id)
        return _Call(
            Job(special != _AS_TEXT, bits),
            self._frame if add_special_tokens else NO_FRAME,
            CpuEngine(self._model, special, policy),
        )

    def _take_turn(self) -> None:
        """Let this call's stream wait for the one before: they share tables and buffers."""
        if self._last is not None:
            self._backend.wait(self._last)

    def _encode(self, part: Part, begin: int, end: int, call: _Call, place: Place) -> Any:
        """Encode one batch, and return its ids."""
        size = int(part.offsets[end] - part.offsets[begin])
        slot = self._slot_for(min(size, self._longest), end - begin)
        if size > self._longest:
            replaced = call.cpu.replace_long(self._backend, part, begin)
            self._backend.upload(slot.doc_ids[:2], np.zeros(2, np.uint32))
            batch = Encoded(slot, Outcome(1, 0, None), replaced)
        else:
            self._engine.load(slot, part, begin, end)
            self._engine.launch(slot, call.job, place)
            outcome = self._engine.outcome(slot)
            some = call.cpu.replace(self._backend, part, begin, outcome)
            batch = Encoded(slot, outcome, some)
        return place_batch(self._backend, batch, call.frame, place, call.job.bits)

    def _slot_for(self, size: int, documents: int) -> Slot:
        slot = self._slot
        if slot is None or slot.size < size or slot.documents < documents:
            size = max(size, 0 if slot is None else slot.size)
            documents = max(documents, 0 if slot is None else slot.documents)
            self._slot = None  # gives its memory back
            slot = self._slot = self._engine.slot(size, documents)
        return slot

    def _to_device(self, parts: Sequence[Part], call: _Call) -> tuple[Any, Any]:
        backend = self._backend
        offsets = backend.zeros(sum(map(len, parts)) + 1, np.int64)
        around = (call.frame.before.size, call.frame.behind.size)
        pieces, base = [], 0
        for part in parts:
            for begin, end in part.batches(self.batch_bytes):
                own = offsets[part.first + begin : part.first + end + 1]
                pieces.append(self._encode(part, begin, end, call, Place(own, base, *around)))
                base += int(pieces[-1].size)
        if len(pieces) == 1:
            return pieces[0], offsets
        ids = backend.empty(base, np.uint16 if call.job.bits == 16 else np.uint32)  # noqa: PLR2004
        at = 0
        for piece in pieces:
            backend.copy(ids[at : at + piece.size], piece)
            at += int(piece.size)
        return ids, offsets

    def _to_host(self, parts: Sequence[Part], call: _Call) -> tuple[Any, Any]:
        if call.frame.size == 0 and not any(part.on_device for part in parts):
            return self._ring_of().encode(parts, call.job, call.cpu, None)
        ids, offsets = self._to_device(parts, call)
        return self._backend.to_host(ids), self._backend.to_host(offsets)

    def _ring_of(self) -> Ring:
        if self._ring is None:
            self._ring = Ring(self._engine, min(self.batch_bytes, 64 << 20), self._longest)
        return self._ring

    def _self_test(self, facts: Any) -> None:
        """Encode a text here and by the CPU engine; DeviceError if the ids are not the same."""
        texts = sample_texts(facts)
        found = self.encode_batch(texts, dtype="uint32", errors="replace").to_host()
        ids, offsets = self._model.encode_batch(texts, 1, 32, False, 0, 1)
        if found != TokenBatch(ids, offsets):
            raise device_error("selftest_failed", where=self.device)


def _dtype_of(dtype: Any, choices: Sequence[str]) -> str:  # whatever numpy takes
    with suppress(TypeError):
        name = str(np.dtype(dtype))
        if name in choices:
            return name
    raise DtypeError(f"dtype: expected one of {', '.join(map(repr, choices))}, got {dtype!r}")


def _check_out(out: Any, dtype: str) -> None:
    if out is None:
        return
    if not isinstance(out, np.ndarray) or out.dtype != dtype:
        got = getattr(out, "dtype", type(out).__name__)
        raise DtypeError(f"out: expected a row of {dtype}, got {got}")
    if out.ndim != 1 or not out.flags.c_contiguous or not out.flags.writeable:
        raise DtypeError(f"out: expected a row of {dtype} without gaps that can be written to")


def _check_numbers(device: Any, batch_bytes: Any, table_bits: Any, max_memory: Any) -> None:
    for name, number, least, most in (
        ("device", device, 0, None),
        ("batch_bytes", batch_bytes, 1, None),
        ("table_bits", table_bits, 10, 26),
        ("max_memory", 0 if max_memory is None else max_memory, 0, None),
    ):
        is_number = isinstance(number, int) and not isinstance(number, bool)
        if not is_number or number < least or (most is not None and number > most):
            limit = "" if most is None else f" to {most}"
            raise OptionError(
                f"{name}: expected a whole number from {least}{limit}, got {number!r}"
            )


def _longest(engine: Engine, max_memory: int | None) -> int:
    """Return the longest document that the device may take."""
    size = LONGEST
    slots = 1 + SLOTS  # that of a call, and those of a ring
    while max_memory is not None and engine.memory_for(size, slots) > max_memory:
        if size <= SMALLEST:
            needed = -(-engine.memory_for(SMALLEST, slots) >> 20)
            raise device_error("out_of_memory", f"max_memory: at least {needed} MiB are needed")
        size >>= 1
    return size
