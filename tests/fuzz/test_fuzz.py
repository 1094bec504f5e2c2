"""The fuzz programs, built with sanitizers, run for a while and find nothing."""

from __future__ import annotations

import os
import random
import re
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.encode.test_other_models import tokenizer_of, with_bytes
from tests.encode.test_reference_models import unigram, wordlevel, wordpiece
from tests.fuzz.building import ENVIRONMENT, HANGS, ROOT, Build
from tests.load.sentencepiece_models import UNK, Piece, model_file
from tests.load.sources import write_json
from tests.models import compile_payload, pair_model, spec_of
from tests.split.patterns import CHAINS

from tokenmill._load.source import load_source
from tokenmill._spec import AddedToken, NormalizerStep

if TYPE_CHECKING:
    from pathlib import Path

SECONDS = int(os.environ.get("TOKENMILL_FUZZ_SECONDS", "15"))
LEAST = 100  # inputs, however long they take
DAMAGED = 300  # models
ADDED = (
    AddedToken("<s>", 60_000, special=True, lstrip=True, rstrip=True),
    AddedToken("</s>", 60_001, special=True, normalized=True, single_word=True),
    AddedToken("<n>", 60_002, special=False),
    AddedToken("\n", 60_003, special=False, lstrip=True),
)


def run(*command: str | Path, more_seconds: int = 0) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603
        [str(part) for part in command], env=ENVIRONMENT, capture_output=True, text=True,
        check=False, timeout=HANGS + more_seconds,
    )  # fmt: skip


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compiled models: the same split by masks (native) and by its automaton (plain)."""
    directory = tmp_path_factory.mktemp("models")
    for name in ("gpt2", "cl100k", "qwen3.5", "o200k", "kimi", "smollm", "deepseek"):
        spec = spec_of(pair_model(0.5), CHAINS[name], ADDED)
        (directory / f"{name}.native").write_bytes(compile_payload(spec))
        if name != "deepseek":  # a chain of three, which no rule knows
            plain = compile_payload(spec, native=False)
            (directory / f"{name}.plain").write_bytes(plain)
    rewriting = replace(
        spec_of(pair_model(0.5), CHAINS["llama3"], ADDED),
        normalizer=(NormalizerStep("nfc"), NormalizerStep("replace", " ", "__")),
        add_prefix_space=True,
        prefix_ids=(60_000,),
        suffix_ids=(60_000, 60_002),
    )
    (directory / "rewriting.native").write_bytes(compile_payload(rewriting))
    write_other_models(directory, tmp_path_factory.mktemp("sources"))
    return directory


def write_other_models(directory: Path, sources: Path) -> None:
    """Models that start from characters or look words up; BERT's split also by its automaton."""
    generator = random.Random(1)  # noqa: S311
    kinds = {
        "characters": (with_bytes, "marked"),
        "unigram": (unigram, "words"),
        "wordlevel": (wordlevel, "white"),
        "wordpiece": (wordpiece, "bert"),
    }
    for name, (make, setting) in kinds.items():
        spec = load_source(write_json(sources, tokenizer_of(make(generator), setting)))
        (directory / f"{name}.native").write_bytes(compile_payload(spec))
    (directory / "wordpiece.plain").write_bytes(compile_payload(spec, native=False))
    pieces = [UNK, *(Piece(text, -len(text) - generator.random()) for text in ("a", "b", "the"))]
    file = sources / "sentences.model"
    file.write_bytes(model_file([*pieces, Piece("\u4e2d", -2.5), Piece("\u2581the", -1.0)]))
    (directory / "sentences.native").write_bytes(compile_payload(load_source(file)))


def test_random_inputs_find_nothing(program: Path, models: Path) -> None:
    options = ("--seconds", str(SECONDS), "--least", str(LEAST))
    ran = run(program, "--models", models, *options, more_seconds=SECONDS)
    assert ran.returncode == 0, ran.stderr[-8000:]
    match = re.fullmatch(r"(\d+) inputs, 15 families, (\d+) models\n", ran.stdout)
    assert match is not None, ran.stdout
    assert int(match[1]) >= LEAST


@pytest.mark.slow
def test_random_inputs_find_nothing_for_longer(program: Path, models: Path) -> None:
    ran = run(
        program, "--models", models, "--seconds", "300", "--seed", "1000000", more_seconds=300
    )
    assert ran.returncode == 0, ran.stderr[-8000:]


def test_kept_inputs_are_replayed(program: Path, models: Path, tmp_path: Path) -> None:
    """Inputs as libFuzzer writes them, one per file."""
    texts = [b"", b"\0", b"\0\0\0\0", b"\3\0\4\0it's <s>\n \xff", b"\0\5\1\0abcdefgh" * 20]
    paths = [tmp_path / str(i) for i in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(text)
    ran = run(program, "--models", models, *paths)
    assert ran.returncode == 0, ran.stderr[-8000:]


def test_damaged_lines_of_json_read_alike_on_every_target(program: Path) -> None:
    ran = run(program.with_name("fuzz_read"), "20000")
    assert (ran.returncode, ran.stdout) == (0, "20000 inputs\n"), ran.stderr[-8000:]


def test_damaged_requests_read_alike_on_every_target(program: Path) -> None:
    ran = run(program.with_name("fuzz_wire"), "20000")
    assert (ran.returncode, ran.stdout) == (0, "20000 inputs\n"), ran.stderr[-8000:]


def test_damaged_models_are_refused_or_run(program: Path, models: Path) -> None:
    ran = run(program.with_name("fuzz_view"), "--models", models, "--rounds", str(DAMAGED))
    assert ran.returncode == 0, ran.stderr[-8000:]
    match = re.fullmatch(rf"{DAMAGED} damaged models, (\d+) refused\n", ran.stdout)
    assert match is not None, ran.stdout
    assert DAMAGED // 10 < int(match[1]) < DAMAGED


def test_threads_that_share_words_agree_with_one(program: Path, models: Path) -> None:
    ran = run(program.with_name("fuzz_threads"), "--models", models)
    assert ran.returncode == 0, ran.stderr[-8000:]
    assert re.fullmatch(r"\d\d models agree\n", ran.stdout)


def test_threads_that_share_a_model_agree_with_one(program: Path, models: Path) -> None:
    ran = run(program.with_name("fuzz_share"), "--models", models)
    assert ran.returncode == 0, ran.stderr[-8000:]
    assert re.fullmatch(r"\d\d models agree in \d+ rounds\n", ran.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fuzz_share", "fuzz_threads"])
def test_threads_that_share_a_model_do_not_race(name: str, models: Path) -> None:
    programs = ("fuzz_share", "fuzz_threads")
    built = Build(ROOT / "build" / "fuzz-threads", "thread", programs).wait()
    ran = run(built / name, "--models", models, "--target", "scalar")
    assert ran.returncode == 0, ran.stderr[-8000:]
