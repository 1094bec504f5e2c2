"""device='cuda' raises why it cannot be used; device='auto' uses the CPU and reports it."""

from __future__ import annotations

import logging
import sys
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest

from tokenmill import DeviceError, OptionError, Tokenizer
from tokenmill._cuda import choose
from tokenmill._cuda.crossover import CallTime, Crossover, measure
from tokenmill._cuda.cupy_backend import CupyBackend, connect_cupy
from tokenmill._cuda.texts import host_parts
from tokenmill.cuda import GpuTokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cuda.conftest import Bench

    from tokenmill._cuda.device_tokenizer import DeviceTokenizer


MUCH = ["hello world " * 1000] * 400  # more than `auto` leaves to the CPU


@pytest.fixture(autouse=True)
def _nothing_opened() -> Iterator[None]:
    choose._OPENED.clear()
    choose._LOGGED.clear()
    yield
    choose._OPENED.clear()


@pytest.fixture
def tokenizer(small_json: Path) -> Tokenizer:
    return Tokenizer.load(small_json)


@pytest.fixture
def no_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)  # as if it were not installed


class CudaError(RuntimeError):
    def __init__(self, status: int) -> None:
        super().__init__(f"cuda error {status}")
        self.status = status


def fake_cupy(
    devices: int = 1,
    capability: str = "90",
    status: int = 0,
    compile_error: str = "",
    compiler: int = 13,
) -> ModuleType:
    """Make a module that answers the questions that are asked before any work is done."""

    def count() -> int:
        if status:
            raise CudaError(status)
        return devices

    class CompileError(Exception):
        pass

    class Device:
        attributes: ClassVar = {"MultiProcessorCount": 7}
        compute_capability = capability

        def __init__(self, number: int) -> None:
            self.id = number

        def __enter__(self) -> None:
            return None

        def __exit__(self, *_: object) -> None:
            return None

    def compile_it(**_: object) -> Any:
        def refuse() -> None:
            raise CompileError(compile_error)

        return SimpleNamespace(compile=refuse if compile_error else lambda: None)

    def version() -> tuple[int, int]:
        if not compiler:
            raise RuntimeError("No such file: libnvrtc.so.13")
        return compiler, 0

    cupy = ModuleType("cupy")
    cupy.cuda = SimpleNamespace(  # type: ignore[attr-defined]
        runtime=SimpleNamespace(getDeviceCount=count, CUDARuntimeError=CudaError),
        compiler=SimpleNamespace(CompileException=CompileError),
        nvrtc=SimpleNamespace(getVersion=version),
        Device=Device,
    )
    cupy.RawModule = compile_it  # type: ignore[attr-defined]
    return cupy


@pytest.mark.usefixtures("no_cupy")
def test_without_cupy_cuda_raises_and_auto_reports_why(
    tokenizer: Tokenizer, caplog: pytest.LogCaptureFixture
) -> None:
    for asked in ("cuda", "cuda:1"):
        with pytest.raises(DeviceError, match="cupy is not installed") as caught:
            tokenizer.encode_batch(["hello"], device=asked)
        assert caught.value.reason == "no_cupy"
    with pytest.raises(DeviceError, match=r"tokenmill\[cuda13\]"):
        GpuTokenizer(tokenizer)
    with caplog.at_level(logging.WARNING, "tokenmill"):
        first = tokenizer.encode_batch(MUCH, device="auto")
        second = tokenizer.encode_batch(MUCH, device="auto")
    assert [record.message for record in caplog.records] == [
        f"device='auto' uses the CPU: {str(first.reason).removeprefix('no_cupy: ')}"
    ]
    assert first == second == tokenizer.encode_batch(MUCH)
    for batch in (first, second, first[:1], first[::2]):
        assert batch.device == "cpu"
        assert str(batch.reason).startswith("no_cupy: the package cupy is not installed")


def test_the_cpu_has_no_reason_to_be_used(tokenizer: Tokenizer) -> None:
    batch = tokenizer.encode_batch(["hello"])
    assert (batch.device, batch.reason) == ("cpu", None)


def test_auto_leaves_small_batches_to_the_cpu(tokenizer: Tokenizer) -> None:
    batch = tokenizer.encode_batch(["hello", b"world"], device="auto")
    assert str(batch.reason).startswith("batch_too_small: ")
    assert batch == tokenizer.encode_batch(["hello", b"world"])


def test_rows_and_offsets_are_not_for_a_device(tokenizer: Tokenizer) -> None:
    with pytest.raises(DeviceError, match="only ids"):
        tokenizer.encode_batch(["hello"], device="cuda", offsets="byte")
    with pytest.raises(DeviceError, match="only ids"):
        tokenizer.encode_batch(["hello"], device="cuda", padding="longest")
    with_spans = tokenizer.encode_batch(["hello"], device="auto", offsets="byte")
    assert with_spans == tokenizer.encode_batch(["hello"], offsets="byte")
    assert str(with_spans.reason).startswith("unsupported_option: ")
    padded = tokenizer.encode_batch(["hello", "a b"], device="auto", padding="longest")
    assert (
        padded.ids.tolist()
        == tokenizer.encode_batch(["hello", "a b"], padding="longest").ids.tolist()
    )


@pytest.mark.parametrize("device", ["gpu", "cuda:x", "", None, 0])
def test_an_unknown_device_is_refused(tokenizer: Tokenizer, device: Any) -> None:
    with pytest.raises(OptionError, match="'cuda:1' or 'auto'"):
        tokenizer.encode_batch(["hello"], device=device)


@pytest.mark.parametrize(
    ("cupy", "number", "reason"),
    [
        (fake_cupy(status=35), 0, "no_driver"),
        (fake_cupy(status=100), 0, "no_device"),
        (fake_cupy(devices=0), 0, "no_device"),
        (fake_cupy(devices=2), 2, "no_device"),
        (fake_cupy(compiler=0), 0, "no_compiler"),
        (fake_cupy(capability="61", compiler=12), 0, "cc_too_old"),
        (fake_cupy(capability="70"), 0, "cc_too_old"),
        (fake_cupy(compile_error="line 7: no"), 0, "compile_failed"),
    ],
)
def test_errors_of_cupy_become_a_reason(
    monkeypatch: pytest.MonkeyPatch, tokenizer: Tokenizer, cupy: Any, number: int, reason: str
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    with pytest.raises(DeviceError) as caught:
        GpuTokenizer(tokenizer, number)
    assert caught.value.reason == reason
    with pytest.raises(DeviceError) as again:
        tokenizer.encode_batch(["hello"], device=f"cuda:{number}")
    assert str(again.value) == str(caught.value)
    if number == 0:
        batch = tokenizer.encode_batch(MUCH, device="auto")
        assert batch.reason == f"{reason}: {caught.value}"
        assert batch == tokenizer.encode_batch(MUCH)


@pytest.mark.parametrize(("capability", "compiler"), [("100", 13), ("75", 13), ("70", 12)])
def test_a_device_that_will_do_is_given_the_kernels(
    monkeypatch: pytest.MonkeyPatch, capability: str, compiler: int
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(capability=capability, compiler=compiler))
    backend = connect_cupy(0)({"TM_FAMILY": 1})
    assert isinstance(backend, CupyBackend)
    assert (backend.name, backend.processors) == ("cuda:0", 7)


def test_the_oldest_device_that_works_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(capability="72"))
    with pytest.raises(DeviceError, match=r"got 7\.2, and CUDA 13 needs 7\.5.*cuda12"):
        connect_cupy(0)


def test_a_tokenizer_is_put_on_a_device_once(monkeypatch: pytest.MonkeyPatch, plain: Bench) -> None:
    made: list[int] = []

    def open_it(_ready: object, number: int) -> DeviceTokenizer:
        made.append(number)
        return plain.gpu({"number": number})

    monkeypatch.setattr(choose, "DeviceTokenizer", open_it)
    tokenizer = plain.tokenizer
    wanted = tokenizer.encode_batch(MUCH[:3], add_special_tokens=True, dtype="uint16")
    monkeypatch.setattr(choose, "WORTH_OPENING", 0)
    monkeypatch.setattr(choose, "SAMPLE_BYTES", 0)
    monkeypatch.setattr(choose, "measure", lambda *_: QUICK_DEVICE)
    for asked, name in (("cuda", "host:0"), ("cuda:1", "host:1"), ("auto", "host:0")):
        found = tokenizer.encode_batch(
            MUCH[:3], add_special_tokens=True, dtype="uint16", device=asked
        )
        assert found == wanted
        assert found.ids.dtype == np.uint16
        assert (found.device, found.reason) == (name, None)
    assert made == [0, 1]


QUICK_DEVICE = Crossover(cpu=CallTime(1e-6, 1e-9), device=CallTime(1e-7, 1e-10))
SLOW_START = Crossover(cpu=CallTime(1e-6, 1e-9), device=CallTime(1e-4, 1e-10))


@pytest.fixture
def opened_device(plain: Bench) -> Bench:
    choose._OPENED.setdefault(plain.tokenizer.ready, {})[0] = plain.gpu()
    choose._MEASURED.pop(plain.tokenizer.ready, None)
    return plain


def test_auto_chooses_by_what_was_measured(
    opened_device: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    def measured(parts: Any, *_: object) -> Crossover:
        calls.append(parts[0].size)
        return SLOW_START

    monkeypatch.setattr(choose, "measure", measured)
    tokenizer = opened_device.tokenizer
    small = tokenizer.encode_batch(["hello"], device="auto")
    assert str(small.reason).startswith("batch_too_small: ")
    assert calls == []  # too little to measure
    large = tokenizer.encode_batch(MUCH, device="auto")
    assert (large.device, large.reason) == ("host:0", None)
    small = tokenizer.encode_batch(["hello"], device="auto")
    assert "0.0 KB of str: about 0.001 ms on the CPU, 0.100 ms on host:0" in str(small.reason)
    assert len(calls) == 1
    tokenizer.encode_batch([text.encode() for text in MUCH], device="auto")
    assert len(calls) == 2  # another kind of input
    assert large == tokenizer.encode_batch(MUCH)


def test_auto_leaves_texts_to_a_faster_cpu(
    opened_device: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Crossover(cpu=CallTime(0, 1e-10), device=CallTime(0, 1e-9))
    monkeypatch.setattr(choose, "measure", lambda *_: slow)
    found = opened_device.tokenizer.encode_batch(MUCH, device="auto")
    assert found.device == "cpu"
    assert str(found.reason).startswith("cpu_faster: ")
    assert "MB of str: about 0.480 ms on the CPU, 4.800 ms on host:0" in str(found.reason)
    assert found == opened_device.tokenizer.encode_batch(MUCH)


def test_both_are_measured_on_the_first_documents(opened_device: Bench) -> None:
    tokenizer = opened_device.tokenizer
    sizes: dict[str, set[int]] = {"cpu": set(), "device": set()}
    parts = host_parts(["hello world " * 1000] * 400)
    crossover = measure(
        parts,
        lambda part: sizes["cpu"].add(part.size),
        lambda part: sizes["device"].add(part.size),
    )
    assert sizes["cpu"] == sizes["device"] == {72_000, 1_056_000}
    assert crossover.cpu.of(1000) >= 0
    found = tokenizer.encode_batch(MUCH, device="auto")  # by the clock, so either may win
    assert found == tokenizer.encode_batch(MUCH)
    assert list(choose._MEASURED[tokenizer.ready]) == ["str"]


def test_the_kind_of_input_is_looked_up_in_a_few_places() -> None:
    import pyarrow as pa

    assert choose.kind_of([]) == "nothing"
    assert choose.kind_of(["a", b"b", "c"]) == "bytes and str"
    assert choose.kind_of((b"b",)) == "bytes"
    assert choose.kind_of(pa.array(["a"])) == "Arrow"


def test_times_of_equal_samples_are_by_the_byte() -> None:
    parts = host_parts(["hello world " * 200_000])
    found = measure(parts, lambda _: None, lambda _: None)
    assert found.cpu.start <= found.cpu.of(1) <= found.cpu.of(1000)
