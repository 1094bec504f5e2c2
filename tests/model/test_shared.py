"""Equal content is one model in a process: shared, built once, given back, and safe in forks."""

from __future__ import annotations

import gc
import json
import os
import pickle
import threading
from typing import TYPE_CHECKING, Any

import pytest
from tests.conftest import small_definition

import tokenmill
from tokenmill import OptionError, Tokenizer
from tokenmill._model import resolve
from tokenmill._model.resolve import compile_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

THREADS = 32
TEXT = "hello world, these are words. " * 60_000  # enough for large tables


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A tokenizer that no other test loads: its name is in its model."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "tokenizer.json").write_text(json.dumps(small_definition()))
    return folder


@pytest.fixture
def _keeps_none() -> Iterator[None]:
    yield
    tokenmill.keep_models(0)


def models() -> int:
    gc.collect()
    return tokenmill.memory()["models"]


def test_equal_content_is_one_model(source: Path, tmp_path: Path) -> None:
    first = Tokenizer.load(source)
    compiled = tmp_path / "mine.mill"
    compile_file(source, compiled)
    others = [
        Tokenizer.load(source),
        Tokenizer.load(compiled),
        pickle.loads(pickle.dumps(first)),  # noqa: S301
    ]
    assert {id(other.ready) for other in others} == {id(first.ready)}
    assert len({tuple(t.encode("hello <s>").tolist()) for t in (first, *others)}) == 1


def test_other_content_or_tables_are_another_model(source: Path) -> None:
    first = Tokenizer.load(source)
    small = Tokenizer.load(source, tables="small")
    definition = small_definition()
    definition["added_tokens"][0]["lstrip"] = True
    (source / "tokenizer.json").write_text(json.dumps(definition))
    changed = Tokenizer.load(source)
    assert len({id(t.ready) for t in (first, small, changed)}) == 3


def test_threads_that_load_at_once_build_one_model(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = []
    build = resolve._build

    def counted(*arguments: Any, **options: Any) -> Any:
        built.append(threading.get_ident())
        return build(*arguments, **options)

    monkeypatch.setattr(resolve, "_build", counted)
    start = threading.Barrier(THREADS)
    loaded: list[Tokenizer] = []

    def load() -> None:
        start.wait()
        loaded.append(Tokenizer.load(source))

    threads = [threading.Thread(target=load) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loaded) == THREADS
    assert len(built) == 1
    assert len({id(tokenizer.ready) for tokenizer in loaded}) == 1


def test_a_load_that_fails_fails_in_every_thread_and_leaves_no_lock(source: Path) -> None:
    (source / "tokenizer.json").write_text("{")
    for _ in range(2):
        with pytest.raises(tokenmill.LoadError):
            Tokenizer.load(source)
    (source / "tokenizer.json").write_text(json.dumps(small_definition()))
    assert len(Tokenizer.load(source).encode("hello"))


@pytest.mark.usefixtures("_keeps_none")
def test_a_model_goes_with_its_last_tokenizer_unless_it_is_kept(source: Path) -> None:
    before = models()
    first = Tokenizer.load(source)
    second = Tokenizer.load(source)
    assert models() == before + 1
    del first
    assert models() == before + 1
    del second
    assert models() == before
    tokenmill.keep_models(2)
    for tables in ("usual", "small", "tiny"):
        Tokenizer.load(source, tables=tables)
    assert models() == before + 2  # the first of the three has gone
    kept = tokenmill.memory()["shared"]
    Tokenizer.load(source, tables="small")
    assert tokenmill.memory()["shared"] == kept + 1
    tokenmill.keep_models(0)
    assert models() == before
    with pytest.raises(OptionError, match="max_models"):
        tokenmill.keep_models(-1)


def test_memory_counts_every_model_once(source: Path) -> None:
    first = Tokenizer.load(source)
    first.encode(TEXT)
    alone = tokenmill.memory()
    others = [Tokenizer.load(source) for _ in range(3)]
    together = tokenmill.memory()
    assert {key: together[key] for key in ("models", "mapped", "tables")} == {
        key: alone[key] for key in ("models", "mapped", "tables")
    }
    assert together["tokenizers"] == alone["tokenizers"] + len(others)
    assert together["saved"] - alone["saved"] >= 3 * first.memory()["tables"]
    assert together["shared"] == alone["shared"] + 3


@pytest.mark.parametrize(("tables", "most"), [("usual", 60e6), ("small", 14e6), ("tiny", 1.5e6)])
@pytest.mark.parametrize("threads", [1, 2])
def test_tables_have_the_size_that_was_asked_for(
    source: Path, tables: Any, most: float, threads: int
) -> None:
    tokenizer = Tokenizer.load(source, tables=tables)
    usual = Tokenizer.load(source)
    texts = [f"{TEXT}{i}" for i in range(4)]
    batch = tokenizer.encode_batch(texts, threads=threads)
    assert batch.ids.tolist() == usual.encode_batch(texts, threads=threads).ids.tolist()
    assert 0 < tokenizer.memory()["tables"] < most * threads
    restored = pickle.loads(pickle.dumps(tokenizer))  # noqa: S301
    assert restored.ready is tokenizer.ready
    assert tokenizer.release() > 0
    assert tokenizer.memory()["tables"] == 0
    assert tokenizer.memory()["workers"] == 0
    assert tokenizer.encode_batch(texts, threads=threads).ids.tolist() == batch.ids.tolist()


def test_no_other_size_is_taken(source: Path) -> None:
    wrong: Any = "huge"
    with pytest.raises(OptionError, match="tables: expected one of 'usual', 'small', 'tiny'"):
        Tokenizer.load(source, tables=wrong)


def test_tables_may_be_given_back_while_others_encode(source: Path) -> None:
    tokenizer = Tokenizer.load(source)
    texts = [TEXT[: 4000 * i] + str(i) for i in range(1, 40)]
    wanted = tokenizer.encode_batch(texts, threads=1).ids.tolist()
    equal: list[bool] = []
    done = threading.Event()

    def work() -> None:
        equal.extend(
            tokenizer.encode_batch(texts, threads=2).ids.tolist() == wanted for _ in range(6)
        )

    def release() -> None:
        while not done.is_set():
            tokenizer.release()

    releaser = threading.Thread(target=release)
    workers = [threading.Thread(target=work) for _ in range(3)]
    for thread in (releaser, *workers):
        thread.start()
    for thread in workers:
        thread.join()
    done.set()
    releaser.join()
    assert equal == [True] * 18


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_can_load_while_threads_of_the_parent_did(source: Path) -> None:
    done = threading.Event()

    def load() -> None:
        while not done.is_set():
            Tokenizer.load(source)

    loader = threading.Thread(target=load)
    loader.start()
    statuses = []
    try:
        for _ in range(10):
            child = os.fork()
            if child == 0:
                os._exit(0 if len(Tokenizer.load(source).encode("hello")) else 1)
            statuses.append(os.waitpid(child, 0)[1])
    finally:
        done.set()
        loader.join()
    assert statuses == [0] * 10
