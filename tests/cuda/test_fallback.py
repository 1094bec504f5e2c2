"""Why a device does not do the work: in words, as an error, or in the result of the CPU."""

from __future__ import annotations

import logging
import pickle
import random
import re
import sys
import unicodedata
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import pytest
from tests.conftest import small_definition
from tests.cuda.tokenizers_small import write

from tokenmill import DeviceError, OptionError, Tokenizer, _core
from tokenmill._cuda import choose
from tokenmill._cuda.backend import CupyBackend, connect_cupy
from tokenmill._cuda.reasons import DOCUMENT, FLAGS, WHOLE, device_error, reason_of
from tokenmill._cuda.ring import SLOTS
from tokenmill._cuda.source import KERNELS, header_folder, kernel_text
from tokenmill._cuda.support import (
    added_prefixes,
    added_texts,
    check_support,
    packed_first_bytes,
    unsafe_bits,
)
from tokenmill.cuda import REASONS, GpuTokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cuda.conftest import Bench

MUCH = ["hello world " * 1000] * 400  # more than `auto` leaves to the CPU


@pytest.fixture(autouse=True)
def _nothing_opened() -> Iterator[None]:
    choose._OPENED.clear()
    choose._SAID.clear()
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


def test_every_reason_has_words_and_a_way_out() -> None:
    for words in (*WHOLE.values(), *DOCUMENT.values()):
        assert words.what
        assert words.way_out
    assert set(REASONS) == {*WHOLE, *DOCUMENT}
    assert set(FLAGS) < set(DOCUMENT)


def test_the_guide_names_every_reason() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "gpu.md").read_text()
    assert re.findall(r"^\| `(\w+)` \|", guide, re.MULTILINE) == [*WHOLE, *DOCUMENT]


def test_flags_are_those_of_the_kernels() -> None:
    text = (KERNELS / "batch.h").read_text()
    body = text[text.index("enum Reason") : text.index("};")]
    named = dict(re.findall(r"k(\w+) = (\d+)", body))
    snake = {re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower(): int(b) for name, b in named.items()}
    assert {name.replace("utf8", "_utf8").replace("__", "_"): b for name, b in snake.items()} == {
        name: 1 << bit for bit, name in enumerate(FLAGS)
    }
    assert reason_of(4 | 8) == "added_token"
    with pytest.raises(ValueError, match="0x40"):
        reason_of(64)


def test_an_error_keeps_its_reason_over_a_process_boundary() -> None:
    error = pickle.loads(pickle.dumps(device_error("no_cupy", "detail", "here")))  # noqa: S301
    assert isinstance(error, DeviceError)
    assert error.reason == "no_cupy"
    assert str(error).startswith("here: the package cupy is not installed (detail); hint: pip ")


@pytest.mark.usefixtures("no_cupy")
def test_without_cupy_cuda_raises_and_auto_says_why(
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
        f"device='auto' takes the CPU: {str(first.reason).removeprefix('no_cupy: ')}"
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
    with pytest.raises(DeviceError, match="ids alone"):
        tokenizer.encode_batch(["hello"], device="cuda", offsets="byte")
    with pytest.raises(DeviceError, match="ids alone"):
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
def test_a_device_that_is_none_is_refused(tokenizer: Tokenizer, device: Any) -> None:
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
def test_what_cupy_says_becomes_a_reason(
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


def test_a_device_that_is_too_old_is_told_from_when_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(capability="72"))
    with pytest.raises(DeviceError, match=r"it has 7\.2, and CUDA 13 begins with 7\.5.*cuda12"):
        connect_cupy(0)


def test_the_text_of_the_kernels_stands_alone() -> None:
    text = kernel_text()
    assert re.findall(r'#\s*include "([^"]+)"', text) == ["shim.h"]  # of the host build alone
    for name in ("bounds_masks", "look_up", "emit_ids", "splice_ids", "struct Tables {"):
        assert name in text
    assert text.count("struct Batch {") == 1
    assert (header_folder() / "base" / "hash.h").is_file()


def test_too_little_memory_is_a_reason(plain: Bench) -> None:
    with pytest.raises(DeviceError, match="too little") as caught:
        plain.gpu(max_memory=1000)
    assert caught.value.reason == "out_of_memory"
    # With room for small batches alone, long documents go to the CPU.
    enough = plain.gpu()._engine.memory_for(1 << 20, 1 + SLOTS)
    gpu = plain.gpu(max_memory=enough)
    texts = ["hello", "hello world " * 100_000]
    for output in ("device", "host"):
        found = gpu.encode_batch(texts, output=cast("Any", output))
        assert found.fallbacks == {"long_document": 1}
        assert found.to_host() == plain.tokenizer.encode_batch(texts)


def definition(**changes: Any) -> dict[str, Any]:
    return {**small_definition(), **changes}


BYTE_LEVEL = small_definition()["pre_tokenizer"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"normalizer": {"type": "Lowercase"}}, "unsupported_normalizer"),
        ({"normalizer": {"type": "NFKC"}}, "unsupported_normalizer"),
        ({"pre_tokenizer": {**BYTE_LEVEL, "add_prefix_space": True}}, "unsupported_normalizer"),
        (
            {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
                {"type": "Digits", "individual_digits": False},
                {"type": "Punctuation", "behavior": "Isolated"}, BYTE_LEVEL]}},
            "unsupported_split",
        ),
    ],
)  # fmt: skip
def test_tokenizers_that_the_kernels_cannot_run(
    tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    tokenizer = Tokenizer.load(write(tmp_path, definition(**changes)))
    with pytest.raises(DeviceError, match=tokenizer.name) as caught:
        GpuTokenizer(tokenizer)
    assert caught.value.reason == reason
    batch = tokenizer.encode_batch(MUCH, device="auto")
    assert str(batch.reason).startswith(f"{reason}: ")


@pytest.mark.parametrize(
    ("facts", "reason"),
    [({"kind": 1}, "unsupported_model"), ({"has_ends": True}, "unsupported_model"),
     ({"has_ties": True}, "unsupported_model"), ({"rule": {"family": 4}}, "unsupported_split"),
     ({"rule": {"family": 0}, "stage_count": 3}, "unsupported_split")],
)  # fmt: skip
def test_models_that_the_kernels_cannot_run(
    tokenizer: Tokenizer, facts: dict[str, Any], reason: str
) -> None:
    own = tokenizer._model.device_tables()
    check_support(own, "here")
    with pytest.raises(DeviceError, match=r"^here: ") as caught:
        check_support({**own, **facts}, "here")
    assert caught.value.reason == reason


def safe_characters() -> str:
    unsafe = np.unpackbits(unsafe_bits().view(np.uint8), bitorder="little")
    assert unsafe.size == 0x110000
    return "".join(map(chr, np.flatnonzero(unsafe == 0)))


def test_text_of_safe_characters_is_composed_whatever_stands_beside_what() -> None:
    safe = safe_characters()
    assert len(safe) > 250_000
    assert {"a", "\u00e9", "\u4e2d", "\uac00", "\U0001f600"} < set(safe)
    order = random.Random(5)  # noqa: S311
    for text in (safe, safe[::-1], *("".join(order.sample(safe, len(safe))) for _ in range(3))):
        assert unicodedata.is_normalized("NFC", text)
        assert _core.is_normalized(b"\x01", text.encode())
        assert _core.normalize(b"\x01", text.encode()) == text.encode()


def test_what_may_change_or_compose_is_not_safe() -> None:
    safe = set(safe_characters())
    for code in range(0x110000):
        character = chr(code)
        if character in safe:
            assert unicodedata.combining(character) == 0
            parts = unicodedata.decomposition(character).split()
            if parts and not parts[0].startswith("<"):
                composed = "".join(chr(int(part, 16)) for part in parts)
                assert unicodedata.normalize("NFC", composed) == character
    assert not safe & {"\u0301", "\u1161", "\u11a8", "\u212b", "\u0340", "\u09be", "\U000110ba"}


def test_beginnings_of_added_tokens_are_few_and_catch_all_of_them(tokenizer: Tokenizer) -> None:
    facts = tokenizer._model.device_tables()
    for count in (1, 64, 65, 3000):
        texts = [f"<|{number:06d}|>".encode() for number in range(count)]
        first, prefixes, masks = added_prefixes([*texts, b""], facts)
        assert 1 <= prefixes.size <= 64
        for text in texts:
            begin = np.uint64(int.from_bytes(text[:8], "little"))
            assert ((begin & masks) == prefixes).any()
            assert first[text[0] >> 5] >> (text[0] & 31) & 1
    nothing = added_prefixes([], facts)
    assert nothing.added_prefixes.size == nothing.added_first.sum() == 0


def test_first_bytes_in_a_number() -> None:
    few = [b"<s>", b"<|x|>", b"[x", b"\xff"]
    for texts, wanted in (
        ([], 0),
        (few, 3 << 56 | 0xFF5B3C),
        ([bytes([byte]) for byte in range(7)], 7 << 56 | 0x06050403020100),
        ([bytes([byte]) for byte in range(8)], 8 << 56),
        ([bytes([byte]) for byte in range(256)], 255 << 56),
    ):
        first = np.zeros(256, np.uint8)
        first[[text[0] for text in texts]] = 1
        bits = np.packbits(first, bitorder="little").view(np.uint32)
        assert packed_first_bytes(bits) == wanted


def test_bytes_that_drop_out_of_words_are_looked_for(tokenizer: Tokenizer) -> None:
    facts = dict(tokenizer._model.device_tables())
    external = facts["external"].copy()
    external[4] = 0xFFFF_FFFF
    found = added_prefixes([], {**facts, "drops_bytes": True, "external": external})
    assert found.added_prefixes.tolist() == [4]
    assert found.added_masks.tolist() == [0xFF]


def test_added_tokens_are_looked_for_raw_and_composed() -> None:
    meta = {"added_tokens": {"<e\u0301>": 1, "<s>": 2}, "special_tokens": {"<s>": 2}}
    found = added_texts(meta, {"normalizer": b"\x01"}, with_special=True)
    assert found == [b"<e\xcc\x81>", b"<s>", b"<\xc3\xa9>"]
    assert added_texts(meta, {"normalizer": b""}, with_special=False) == [b"<e\xcc\x81>"]


def test_a_tokenizer_is_put_on_a_device_once(monkeypatch: pytest.MonkeyPatch, plain: Bench) -> None:
    made: list[int] = []

    def open_it(_tokenizer: object, number: int) -> GpuTokenizer:
        made.append(number)
        return plain.gpu({"number": number})

    monkeypatch.setattr(choose, "GpuTokenizer", open_it)
    tokenizer = plain.tokenizer
    wanted = tokenizer.encode_batch(MUCH[:3], add_special_tokens=True, dtype="uint16")
    monkeypatch.setattr(choose, "_is_worth_it", lambda _: True)
    for asked, name in (("cuda", "host:0"), ("cuda:1", "host:1"), ("auto", "host:0")):
        found = tokenizer.encode_batch(
            MUCH[:3], add_special_tokens=True, dtype="uint16", device=asked
        )
        assert found == wanted
        assert found.ids.dtype == np.uint16
        assert (found.device, found.reason) == (name, None)
    assert made == [0, 1]


def test_what_counts_as_worth_a_device() -> None:
    import pyarrow as pa

    assert choose._is_worth_it(MUCH)
    assert not choose._is_worth_it(["a"] * 1000)
    assert choose._is_worth_it(pa.array(MUCH))
    assert not choose._is_worth_it(pa.array(["a"]))
