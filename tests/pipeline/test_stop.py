"""A stop ends a call early, in every kind of model, and the worker is as new after it."""

from __future__ import annotations

import random
import threading
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.load.sentencepiece_models import SPACE, UNK, Piece, model_file
from tests.load.sources import BYTES, tokenizer_json, write_json
from tests.models import Way, compile_payload, make_model
from tests.timing import seconds_of

from tokenmill import DeadlineExceeded, OptionError, _core
from tokenmill._errors import TokenmillError
from tokenmill._load.source import load_source

if TYPE_CHECKING:
    from pathlib import Path

    from tests.models import Engine

LETTERS = "ab\u00e9\u4e2d"
PAIRS = ["a a", "a b", "aa aa", "b b"]
BAR = {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "always"}
MODELS: dict[str, dict[str, Any]] = {
    "characters": {
        "type": "BPE",
        "unk_token": "<unk>",
        "vocab": {t: i for i, t in enumerate(["<unk>", SPACE, *LETTERS, "aa", "aaaa", "ab"])},
        "merges": ["a a", "aa aa", "a b"],
    },
    "wordpiece": {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 1_000_000_000,
        "vocab": {t: i for i, t in enumerate(["[UNK]", *LETTERS, *(f"##{c}" for c in LETTERS)])},
    },
    "unigram": {
        "type": "Unigram",
        "unk_id": 0,
        "vocab": [["<unk>", 0.0], [SPACE, -2.0], *([c, -3.0] for c in LETTERS), ["aa", -5.0]],
    },
}
KINDS = ["bytes", "dfa", "nfc", *MODELS, "sentence"]
SIZE = 4_000_000


def definition(kind: str) -> dict[str, Any]:
    """A tokenizer.json of this kind."""
    if kind in MODELS:
        sections = {"pre_tokenizer": BAR, "decoder": None, "model": MODELS[kind]}
        return {**tokenizer_json(), **sections}
    tokens = {**BYTES, **{pair.replace(" ", ""): 256 + i for i, pair in enumerate(PAIRS)}}
    normalizer = {"type": "NFC"} if kind == "nfc" else None
    return tokenizer_json(vocab=tokens, merges=PAIRS, normalizer=normalizer)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def engine(kind: str, tmp_path: Path) -> Engine:
    if kind == "sentence":
        path = tmp_path / "spiece.model"
        pieces = [Piece(SPACE, -2.0), *(Piece(c, -3.0) for c in LETTERS), Piece("aa", -5.0)]
        path.write_bytes(model_file([UNK, *pieces], remove_extra=True, dummy=True))
    else:
        path = write_json(tmp_path, definition(kind))
    payload = compile_payload(load_source(path), native=kind != "dfa")
    return make_model(payload, Way(_core.targets()[-1]))


def run(engine: Engine, texts: list[str], threads: int, stop: _core.Stop | None) -> Any:
    return engine.encode_batch(texts, threads, 32, stop=stop)  # type: ignore[call-arg]


def is_stopped(engine: Engine, texts: list[str], threads: int, stop: _core.Stop) -> bool:
    try:
        run(engine, texts, threads, stop)
    except (DeadlineExceeded, CancelledError):
        return True
    return False


@pytest.mark.parametrize("call", ["encode_batch", "encode_spans", "count"])
def test_one_long_word_ends_near_its_deadline(engine: Engine, kind: str, call: str) -> None:
    """Time of the processor, which a busy machine does not lengthen, against the whole call."""
    text = ("a\u0323\u0301" if kind == "nfc" else "a") * (SIZE // (3 if kind == "nfc" else 1))
    work = getattr(engine, call)
    given = text if call == "count" else [text]
    shares: list[float] = []

    def stopped(timeout: float) -> None:
        with pytest.raises(DeadlineExceeded, match="took longer"):
            work(given, stop=_core.Stop(timeout))

    while len(shares) < 5 and min(shares, default=1.0) > 0.6:
        whole = seconds_of(lambda: work(given))
        timeout = whole / 10
        shares.append(seconds_of(lambda: stopped(timeout)) / whole)  # noqa: B023
    assert min(shares) <= 0.6, shares


@pytest.mark.parametrize("threads", [1, 2])
def test_a_stopped_worker_is_as_good_as_new(engine: Engine, threads: int) -> None:
    choose = random.Random(threads)  # noqa: S311
    words = ["".join(choose.choices(LETTERS, k=choose.randrange(1, 9))) for _ in range(500)]
    texts = [" ".join(choose.choices(words, k=2000)) for _ in range(100)]
    texts += ["a" * 300_000 + "b", " ".join(words * 200)]
    expected = run(engine, texts, 1, None)
    limit = 2 * seconds_of(lambda: run(engine, texts, 1, None))
    n_stopped = 0
    for turn in range(12):
        stop = _core.Stop(choose.random() * limit / 2 if turn % 2 else None)
        timer = threading.Timer(0 if turn % 2 else choose.random() * limit / 2, stop.cancel)
        if turn % 2 == 0:
            timer.start()
        n_stopped += is_stopped(engine, texts, threads, stop)
        got = run(engine, texts, threads, None)
        assert np.array_equal(got[0], expected[0])
        assert np.array_equal(got[1], expected[1])
        if turn % 2 == 0:
            timer.join()
    assert n_stopped > 0


def test_a_stop_that_is_due_at_once(engine: Engine) -> None:
    cancelled = _core.Stop()
    assert not cancelled.due
    cancelled.cancel()
    assert cancelled.due
    with pytest.raises(CancelledError):
        run(engine, ["a b"], 1, cancelled)
    with pytest.raises(CancelledError):
        cancelled.check()
    with pytest.raises(DeadlineExceeded) as raised:
        run(engine, ["a b"], 2, _core.Stop(0))
    assert isinstance(raised.value, TimeoutError)
    assert isinstance(raised.value, TokenmillError)
    assert "timeout=" in raised.value.hint
    _core.Stop(1e300).check()
    for text in ("a", "a" * 9000):
        assert engine.encode(text).tolist() == run(engine, [text], 1, _core.Stop(60))[0].tolist()


@pytest.mark.parametrize("timeout", [-1.0, float("nan")])
def test_a_timeout_is_a_number_of_seconds(timeout: float) -> None:
    with pytest.raises(OptionError, match="0 or more"):
        _core.Stop(timeout)
