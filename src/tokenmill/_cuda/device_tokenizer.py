"""DeviceTokenizer: a tokenizer that is ready to run -> the same tokenizer on one device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tokenmill._calls.batch import TokenBatch
from tokenmill._calls.options import SPECIAL_MODES, bits_of, modes, texts_of, thread_count
from tokenmill._checks import whole_number
from tokenmill._core import DeviceTurn, Model
from tokenmill._cuda.cupy_backend import connect_cupy
from tokenmill._cuda.engine import DeviceEngine
from tokenmill._cuda.fallback import CpuFallback
from tokenmill._cuda.gpu_batch import GpuTokenBatch
from tokenmill._cuda.jsonl import TILE
from tokenmill._cuda.line_device import NativeLines
from tokenmill._cuda.options import (
    DTYPES,
    CallOptions,
    DeviceOptions,
    check_out,
    dtype_of,
)
from tokenmill._cuda.part_encoder import PartEncoder
from tokenmill._cuda.reasons import device_error
from tokenmill._cuda.requests import Requests
from tokenmill._cuda.selftest import sample_texts
from tokenmill._cuda.short import MOST_DOCUMENTS
from tokenmill._cuda.sinks import EncodeCall
from tokenmill._cuda.slot import BatchJob
from tokenmill._cuda.splice import NO_SPECIAL_IDS, special_ids
from tokenmill._cuda.steps import WordCapacity
from tokenmill._cuda.support import check_support
from tokenmill._cuda.tables import defines
from tokenmill._cuda.texts import FlatTexts, parts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from tokenmill._cuda.chunks import Chunk
    from tokenmill._cuda.protocols import Connect, DeviceBackend, Mark
    from tokenmill._cuda.splice import SpecialIds
    from tokenmill._cuda.texts import TextPart
    from tokenmill._model.ready import Ready


class DeviceTokenizer:
    """A tokenizer on a device, with the ids of the CPU engine.

    `connect` and `tile` are for tests: what compiles the kernels, and the bytes of a tile.
    """

    def __init__(
        self,
        ready: Ready,
        device: int = 0,
        options: DeviceOptions | None = None,
        *,
        connect: Connect | None = None,
        tile: int = 8192,
    ) -> None:
        whole_number("device", device, least=0)
        options = options or DeviceOptions()
        model, name = ready.model, ready.meta["name"]
        if not isinstance(model, Model):
            raise device_error("unsupported_model", "its own library runs it", name)
        facts = model.device_tables()
        check_support(facts, name)
        self._model = model
        self._backend = (connect or connect_cupy(device))(defines(facts, tile))
        self._special = special_ids(facts)
        self._turn = DeviceTurn()
        self._last: Mark | None = None
        self._threads = thread_count(None)
        self.kept_lines: dict[Any, Any] = {}  # made of `new_lines`, and used again by later runs
        self._calls: dict[tuple[Any, ...], tuple[BatchJob, SpecialIds, int, int]] = {}
        words = WordCapacity(entries=1 << options.table_bits)
        with self._backend.using(None):
            engine = DeviceEngine(self._backend, facts, words=words, learn=options.learn, tile=tile)
            self._encoder = PartEncoder(engine, options.batch_bytes, options.max_memory)
            self._requests = Requests(
                self._turn, self._encode_short, self._encoder.short_bytes, MOST_DOCUMENTS
            )
            self._self_test(sample_texts(facts))

    @property
    def device(self) -> str:
        """The name of the device, e.g. "cuda:0"."""
        return self._backend.name

    name = device

    @property
    def backend(self) -> DeviceBackend:
        """What runs kernels on the device."""
        return self._backend

    @property
    def model(self) -> Model:
        """The same tokenizer on the CPU."""
        return self._model

    @property
    def encoder(self) -> PartEncoder:
        """What encodes batches: for tests and measurements."""
        return self._encoder

    @property
    def batch_bytes(self) -> int:
        """How much text is encoded at a time."""
        return self._encoder.batch_bytes

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

        With `output="host"` the arrays are on the host. `stream` is a CuPy stream to use in place
        of the current one. The other options are those of `Tokenizer.encode_batch`.
        """
        options = CallOptions(dtype, add_special_tokens, special_in_text, errors, output, stream)
        return self.encode_parts(self.parts(texts), options)

    def encode_parts(self, parts: Sequence[TextPart], options: CallOptions) -> GpuTokenBatch:
        """Return the ids of texts that `parts` returned."""
        call = self._call(options)
        made: Mark | None = None
        if options.output == "host":
            ids, offsets = self._to_host(parts, call, options)
        else:
            ids, offsets, made = self._to_device(parts, call, options)
        wanted = ids.view(np.int32) if options.dtype == "int32" else ids
        return GpuTokenBatch(self._backend, wanted, offsets, call.cpu.fallbacks, made)

    def _to_device(
        self, parts: Sequence[TextPart], call: EncodeCall, options: CallOptions
    ) -> tuple[Any, Any, Mark]:
        backend, encoder = self._backend, self._encoder
        chunk = encoder.short_chunk(parts)
        with self._turn, backend.using(options.stream):
            self._take_turn()
            if chunk is None:
                ids, offsets = encoder.to_device(parts, call)
            else:
                ids, offsets = encoder.encode_short_there(chunk, call)
            made = self._remember(backend.mark())
        if options.stream is not None:
            with backend.using(None):
                backend.wait(made)
        return ids, offsets, made

    def _to_host(
        self, parts: Sequence[TextPart], call: EncodeCall, options: CallOptions
    ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        chunk = self._encoder.short_chunk(parts)
        if chunk is not None and options.stream is None:
            return self._requests.encode(chunk, call)
        with self._turn, self._backend.using(options.stream):
            self._take_turn()
            found = self._encoder.to_host(parts, call)
            # A mark, though ids on the host have been waited for: a call without any, or with long
            # texts only, waits for nothing, and results of the call before may not be copied yet.
            self._remember(self._backend.mark())
        return found

    def _encode_short(
        self, chunks: Sequence[Chunk], call: EncodeCall
    ) -> tuple[NDArray[Any], NDArray[np.int64]] | None:
        """Encode requests together; the caller holds the lock."""
        with self._backend.using(None):
            self._take_turn()
            found = self._encoder.encode_short(chunks, call)
            self._remember(None)  # the host has waited
        return found

    def cpu_encoder(self, options: CallOptions) -> Callable[[TextPart], object]:
        """Return what encodes a part by the CPU engine, with the same options: to compare times."""
        cpu = self._call(options).cpu
        return lambda part: cpu.encode(part.pick(self._backend, np.arange(len(part))))

    def parts(self, texts: Any) -> list[TextPart]:
        """Find out where texts are; TextTypeError for anything that is not a text."""
        if isinstance(texts, FlatTexts):
            with self._backend.using(None):
                return parts_of(texts, self._backend)
        return parts_of(texts_of(texts), self._backend, self._threads)

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
        """Encode text in host memory into host memory, while copies and kernels overlap.

        `data` and `offsets` are those of FlatTexts. The ids go into `out` (of `dtype`), if given;
        OutputTooSmall if they do not fit. Pinned memory saves a copy on the host: `pinned` makes
        such memory. Returns the ids and their offsets.
        """
        wanted = dtype_of(dtype, DTYPES[1:])
        call = self._call(CallOptions(wanted, False, special_in_text, errors))
        check_out(out, wanted)
        with self._turn, self._backend.using(None):
            self._take_turn()
            found = self._encoder.to_host(self.parts(FlatTexts(data, offsets)), call, out)
            self._remember(self._backend.mark())  # as in _to_host
        return found

    def encode_flat(
        self,
        data: Any,
        offsets: Any,
        *,
        special_in_text: Literal["encode", "text", "raise"] = "encode",
    ) -> tuple[Any, Any]:
        """Return ids (uint32) and offsets on the device, from text that lies back to back."""
        batch = self.encode_batch(
            FlatTexts(data, offsets), dtype="uint32", special_in_text=special_in_text
        )
        return batch.ids, batch.offsets

    def forget_words(self) -> None:
        """Forget learnt words; the next batch is as slow as the first one."""
        with self._turn, self._backend.using(None):
            self._take_turn()
            self._encoder.engine.forget_words()
            self._remember(self._backend.mark())

    def pinned(self, count: int, dtype: Any = np.uint8) -> NDArray[Any]:
        """Return host memory that the device copies to and from directly."""
        return self._backend.pinned(count, dtype)

    def _call(self, options: CallOptions) -> EncodeCall:
        key = (options.dtype, options.add_special_tokens, options.special_in_text, options.errors)
        known = self._calls.get(key)
        if known is None:
            special, policy = modes(options.special_in_text, options.errors)
            unsigned = "uint32" if options.dtype == "int32" else options.dtype
            bits = bits_of(unsigned, self._model.max_id)
            job = BatchJob(
                special != SPECIAL_MODES["text"], bits, special == SPECIAL_MODES["raise"]
            )
            around = self._special if options.add_special_tokens else NO_SPECIAL_IDS
            known = self._calls[key] = (job, around, special, policy)
        job, around, special, policy = known
        return EncodeCall(job, around, CpuFallback(self._model, special, policy))

    def _take_turn(self) -> None:
        """Let the stream of this call wait for the previous call: they share tables and buffers."""
        if self._last is not None:
            self._backend.wait(self._last)

    def _remember(self, mark: Any) -> Any:
        """Note the end of this call, also for native ones."""
        self._last = mark
        self._turn.last = 0 if mark is None else self._backend.handle(mark)
        return mark

    def add_to_turn(self) -> None:
        """Let later calls wait for work on the current stream, which reads results of this one."""
        with self._turn:
            self._take_turn()  # the mark is to be after all calls so far
            self._remember(self._backend.mark())

    def new_lines(self, options: CallOptions) -> NativeLines:
        """Return what reads and encodes lines by native calls, still without memory."""
        with self._backend.using(None):
            return NativeLines(self._encoder.engine, self._turn, self._call(options).job, TILE)

    def _self_test(self, texts: Sequence[str]) -> None:
        """Encode texts here and by the CPU engine; DeviceError unless the ids are the same."""
        options = CallOptions("uint32", errors="replace")
        found = self.encode_parts(self.parts(texts), options).to_host()
        if found != TokenBatch(*self._call(options).cpu.encode(texts)):
            raise device_error("selftest_failed", where=self.device)
