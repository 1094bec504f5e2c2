"""`pack` on a device: the same bytes, blocks of many workers together, and the reason if not."""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.cuda.fake_encoder import CpuEncoder
from tests.mill.corpus import LONGEST, Corpus, dirty_corpus
from tests.mill.outputs import BOS, digests
from tests.mill.tuned import shrink

from tokenmill import DeviceError, OptionError, SpecialTokenInText, Tokenizer, TokenmillError, pack
from tokenmill._cli import main
from tokenmill._mill.device import choose as device_module
from tokenmill._mill.device import measure
from tokenmill._mill.device.shared_encoder import SharedEncoder
from tokenmill._mill.pack import pack_task
from tokenmill._mill.plan.task import prepare_task

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

OPTIONS: list[dict[str, Any]] = [
    {"context_length": 128, "overlap": 17},
    {"context_length": 128, "pack": "bestfit", "validation": "20%", "shuffle": "docs"},
    {"context_length": 64, "pack": "bos-bestfit-crop", "bos": BOS, "special_in_text": "encode"},
    {"pack": "none", "format": "datatrove,megatron"},
]
COMMON: dict[str, Any] = {"shard_tokens": 4000, "max_document_bytes": LONGEST}
HANGS = 600  # seconds after which a thread must be stuck


@pytest.fixture(scope="module")
def tokenizer(small_json: Path) -> Tokenizer:
    return Tokenizer.load(small_json)


@pytest.fixture(scope="module")
def dirty(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return dirty_corpus(tmp_path_factory.mktemp("dirty"))


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch.setattr)
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture
def _no_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Be a machine without a GPU."""
    monkeypatch.setitem(sys.modules, "cupy", None)


@pytest.fixture
def encoder(tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> CpuEncoder:
    """Open this encoder where a GPU is asked for."""
    fake = CpuEncoder(tokenizer, None)  # type: ignore[arg-type]
    monkeypatch.setattr(device_module, "_open_device", lambda *_: fake)
    return fake


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("workers", [1, 5])
def test_a_device_changes_no_byte(
    options: dict[str, Any],
    workers: int,
    dirty: Corpus,
    encoder: CpuEncoder,
    tmp_path: Path,
) -> None:
    made = []
    for device in ("cpu", "cuda"):
        pack(
            dirty.paths,
            output=tmp_path / device,
            tokenizer=encoder.tokenizer,
            workers=workers,
            device=device,
            **{**COMMON, **options},
        )
        made.append(digests(tmp_path / device))
    assert made[0] == made[1]
    assert encoder.batches


def test_a_run_that_one_device_began_is_finished_by_another(
    dirty: Corpus, encoder: CpuEncoder, tmp_path: Path
) -> None:
    options: dict[str, Any] = {**COMMON, "context_length": 64, "tokenizer": encoder.tokenizer}
    first = pack(dirty.paths, output=tmp_path, device="cuda:1", **options)
    asked = len(encoder.batches)
    again = pack(dirty.paths, output=tmp_path, device="cpu", **options)  # the same plan
    assert again.plan_id == first.plan_id
    assert len(encoder.batches) == asked


@pytest.mark.usefixtures("_no_cupy")
def test_without_a_gpu_cuda_raises_the_reason_and_auto_takes_the_cpu(
    dirty: Corpus, tokenizer: Tokenizer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options: dict[str, Any] = {**COMMON, "context_length": 64, "tokenizer": tokenizer}
    with pytest.raises(TokenmillError, match="cupy"):
        pack(dirty.paths, output=tmp_path / "cuda", device="cuda", **options)
    assert not (tmp_path / "cuda").exists()
    pack(dirty.paths, output=tmp_path / "auto", device="auto", **options)
    pack(dirty.paths, output=tmp_path / "cpu", **options)
    assert digests(tmp_path / "auto") == digests(tmp_path / "cpu")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("device", ["gpu", "cuda:", "cuda:x", 0])
def test_a_device_that_there_is_not(
    device: Any,
    dirty: Corpus,
    tokenizer: Tokenizer,
    tmp_path: Path,
) -> None:
    with pytest.raises(OptionError, match="device: expected 'cpu', 'cuda', 'cuda:1' or 'auto'"):
        pack(dirty.paths, output=tmp_path, tokenizer=tokenizer, context_length=8, device=device)


@pytest.mark.usefixtures("_no_cupy")
def test_the_command_says_where_it_tokenized_and_why(
    small_json: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "a.txt"
    text.write_text("hello world")
    command = ["pack", str(text), "-t", str(small_json), "--eos", "</s>", "--context-length", "4"]
    main([*command, "-o", str(tmp_path / "a"), "--device", "auto", "--progress", "none"])
    printed = capsys.readouterr().err
    line = next(line for line in printed.splitlines() if line.startswith("device"))
    assert line.split()[1:4] == ["cpu", "no", "GPU:"]
    assert "cupy" in line
    main([*command, "-o", str(tmp_path / "b"), "--json", "--device", "auto"])
    facts = json.loads(capsys.readouterr().out)
    assert facts["device"] == "cpu"
    assert "cupy" in facts["device_note"]
    assert main([*command, "-o", str(tmp_path / "c"), "--device", "cuda"]) == 1
    assert "cupy" in capsys.readouterr().err


def test_the_command_says_what_the_cpu_did_in_the_place_of_a_gpu(
    encoder: CpuEncoder, small_json: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text("hello world")
    command = ["pack", str(tmp_path / "a.txt"), "-t", str(small_json), "--eos", "</s>"]
    command += ["--context-length", "4", "--device", "cuda:2", "--progress", "none"]
    main([*command, "-o", str(tmp_path / "a")])
    assert "cuda:2  encoded all documents\n" in capsys.readouterr().err
    encoder.fallbacks.update({"long_word": 1200, "invalid_utf8": 1})
    main([*command, "-o", str(tmp_path / "b")])
    note = (
        "encoded all documents except these, which the CPU encoded: 1 invalid_utf8, 1,200 long_word"
    )
    assert note in capsys.readouterr().err


@pytest.mark.usefixtures("_no_cupy")
def test_a_recipe_may_name_the_device(
    small_json: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text("hello world")
    recipe = tmp_path / "recipe.yaml"
    facts = {
        "sources": [str(tmp_path / "a.txt")],
        "device": "auto",
        "eos": "</s>",
        "tokenizer": str(small_json),
        "output": str(tmp_path / "out"),
        "context_length": 4,
    }
    recipe.write_text(json.dumps(facts))  # which is YAML too
    main(["pack", "--recipe", str(recipe), "--json"])
    assert "cupy" in json.loads(capsys.readouterr().out)["device_note"]


class GatedEncoder(CpuEncoder):
    """Lets the test decide when the first batch continues."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__(tokenizer, None)  # type: ignore[arg-type]
        self.begun, self.may_go_on = threading.Event(), threading.Event()

    def encode(self, text: NDArray[np.uint8], *args: Any) -> tuple[Any, Any]:
        self.begun.set()
        assert self.may_go_on.wait(HANGS)
        return super().encode(text, *args)


def flat(texts: list[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    data = [text.encode() for text in texts]
    offsets = np.concatenate(([0], np.cumsum([len(d) for d in data]))).astype(np.int64)
    return np.frombuffer(b"".join(data), np.uint8), offsets


def shared_by_threads(
    encoder: GatedEncoder,
    shared: SharedEncoder,
    blocks: list[list[str]],
    **options: Any,
) -> list[Any]:
    """Let the first block occupy the device while all others come."""
    results: list[Any] = [None] * len(blocks)

    def work(number: int) -> None:
        try:
            how = {"dtype": "uint16", "special_in_text": "text", **options}
            results[number] = shared.encode(*flat(blocks[number]), **how)
        except TokenmillError as error:
            results[number] = error

    threads = [threading.Thread(target=work, args=(n,)) for n in range(len(blocks))]
    threads[0].start()
    assert encoder.begun.wait(HANGS)
    for thread in threads[1:]:
        thread.start()
    while len(shared._waiting) < len(blocks) - 1:
        threading.Event().wait(0.001)
    encoder.may_go_on.set()
    for thread in threads:
        thread.join(HANGS)
        assert not thread.is_alive()
    return results


def test_blocks_that_wait_go_to_the_device_together(tokenizer: Tokenizer) -> None:
    encoder = GatedEncoder(tokenizer)
    blocks = [[f"hello {n}", "", f"world {n}" * n] for n in range(8)]
    results = shared_by_threads(encoder, SharedEncoder(encoder), blocks)
    for block, result in zip(blocks, results, strict=True):
        assert result == tokenizer.encode_batch(block, dtype="uint16", special_in_text="text")
    assert encoder.batches == [3, 21]


def test_a_batch_is_no_larger_than_a_device_takes(tokenizer: Tokenizer) -> None:
    encoder = GatedEncoder(tokenizer)
    blocks = [["hello hello"]] * 7  # 11 bytes each
    shared = SharedEncoder(encoder, batch_bytes=24)
    results = shared_by_threads(encoder, shared, blocks)
    assert all(r == results[0] for r in results)
    assert encoder.batches == [1, 2, 2, 2]
    assert shared.batches == 4


def test_only_the_block_at_fault_hears_of_it(tokenizer: Tokenizer) -> None:
    encoder = GatedEncoder(tokenizer)
    blocks = [["hello"], ["hello", "a </s> b"], ["world"]]
    results = shared_by_threads(encoder, SharedEncoder(encoder), blocks, special_in_text="raise")
    assert [type(result).__name__ for result in results] == [
        "TokenBatch", "SpecialTokenInText", "TokenBatch"
    ]  # fmt: skip
    assert isinstance(results[1], SpecialTokenInText)
    assert results[1].document == 1


class SmallEncoder(CpuEncoder):
    """Has no memory for more than some bytes."""

    most = 200

    def encode(self, text: NDArray[np.uint8], *args: Any) -> tuple[Any, Any]:
        if len(text) > self.most:
            raise DeviceError("no room", reason="out_of_memory")
        return super().encode(text, *args)


def test_what_a_device_fails_at_is_an_error_or_with_auto_the_work_of_the_cpu(
    dirty: Corpus,
    tokenizer: Tokenizer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small = SmallEncoder(tokenizer, None)  # type: ignore[arg-type]
    monkeypatch.setattr(device_module, "_open_device", lambda *_: small)
    monkeypatch.setattr(device_module, "_find_device", lambda _: None)
    monkeypatch.setattr(measure, "WORTH_OPENING", 0)
    monkeypatch.setattr(measure, "measure_blocks", lambda *_: None)
    options: dict[str, Any] = {**COMMON, "context_length": 64}
    with pytest.raises(DeviceError, match="no room"):
        pack(dirty.paths, output=tmp_path / "a", tokenizer=tokenizer, device="cuda", **options)
    task = prepare_task(dirty.paths, tokenizer=tokenizer, **options)
    result = pack_task(task, output=tmp_path / "b", device="auto", workers=3)
    pack(dirty.paths, output=tmp_path / "c", tokenizer=tokenizer, **options)
    assert digests(tmp_path / "b") == digests(tmp_path / "c")
    assert small.batches  # some blocks are small enough
    assert "which the CPU encoded: " in result.device.note
    assert result.device.note.endswith(" out_of_memory")


def test_a_special_token_in_a_text_is_named_with_its_place(
    encoder: CpuEncoder, tmp_path: Path
) -> None:
    lines = tmp_path / "a.jsonl"
    lines.write_text('{"text": "hello"}\n{"text": "a </s> b"}\n')
    with pytest.raises(SpecialTokenInText, match=r"a.jsonl:2: the text holds the special token"):
        pack(
            lines,
            output=tmp_path / "out",
            tokenizer=encoder.tokenizer,
            context_length=8,
            special_in_text="raise",
            device="cuda",
        )
