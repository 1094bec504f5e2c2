"""The disk tier: shared, restarted, damaged, foreign, full. It is used or it says why not."""

from __future__ import annotations

import multiprocessing
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tokenmill import MissingDependency, Tokenizer
from tokenmill._cache import SegmentCache
from tokenmill._cache.disk_file import NAME

pytest.importorskip("lmdb.verify")

TEXTS = [f"segment {number} of words that come back " * 80 for number in range(12)]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.load()


def open_cache(folder: Path, **options: Any) -> SegmentCache:
    usual = {"verify": 0, "adaptive": False, "disk_min_bytes": 1}
    return SegmentCache(1 << 20, disk=folder, **{**usual, **options})


def run(folder: Path, tokenizer: Tokenizer, texts: list[str], **options: Any) -> dict[str, Any]:
    """Encode all texts with a new cache on `folder`, compare, and return its stats."""
    with open_cache(folder, **options) as cache:
        for text in texts:
            assert cache.encode(tokenizer, text).tolist() == tokenizer.encode(text).tolist()
        flush(cache)
        return cache.stats()


def flush(cache: SegmentCache) -> None:
    assert cache._disk is not None
    assert cache._disk.flush(30)


def test_a_restart_finds_what_was_encoded(tmp_path: Path, tokenizer: Tokenizer) -> None:
    first = run(tmp_path, tokenizer, TEXTS)
    assert first["disk"]["entries"] == first["disk"]["written"] == len(TEXTS)
    second = run(tmp_path, tokenizer, TEXTS)
    assert second["disk"]["hits"] == len(TEXTS)
    assert second["memory"]["stored"] == 0
    assert second["disk"]["hit_tokens"] == sum(len(tokenizer.encode(text)) for text in TEXTS)


def test_another_tokenizer_finds_nothing_in_the_file(
    tmp_path: Path, tokenizer: Tokenizer, small: Tokenizer
) -> None:
    run(tmp_path, tokenizer, TEXTS)
    stats = run(tmp_path, small, TEXTS)
    assert stats["disk"]["hits"] == 0
    assert stats["disk"]["entries"] == 2 * len(TEXTS)
    assert run(tmp_path, tokenizer, TEXTS)["disk"]["hits"] == len(TEXTS)


def test_a_file_with_flipped_bits_is_not_believed(tmp_path: Path, tokenizer: Tokenizer) -> None:
    run(tmp_path, tokenizer, TEXTS)
    whole = (tmp_path / NAME).read_bytes()
    choose = random.Random(5)  # noqa: S311
    thrown_away = damaged = 0
    for turn in range(30):
        broken = bytearray(whole)
        for _ in range(1 if turn < 15 else 40):
            broken[choose.randrange(len(broken))] ^= 1 << choose.randrange(8)
        (tmp_path / NAME).write_bytes(broken)
        (tmp_path / f"{NAME}-lock").unlink(missing_ok=True)
        stats = run(tmp_path, tokenizer, TEXTS)  # compares every answer
        thrown_away += stats["disk"]["thrown_away"]
        damaged += stats["disk"]["damaged"]
    assert thrown_away > 0
    assert damaged > 0


@pytest.mark.parametrize("keep", [0.0, 0.01, 0.3, 0.9])
def test_a_file_that_was_cut_short_is_thrown_away(
    tmp_path: Path, tokenizer: Tokenizer, keep: float
) -> None:
    run(tmp_path, tokenizer, TEXTS)
    size = (tmp_path / NAME).stat().st_size
    os.truncate(tmp_path / NAME, int(size * keep))
    (tmp_path / f"{NAME}-lock").unlink(missing_ok=True)
    stats = run(tmp_path, tokenizer, TEXTS)
    assert stats["disk"]["thrown_away"] == (1 if keep else 0)
    assert stats["disk"]["hits"] == 0
    assert run(tmp_path, tokenizer, TEXTS)["disk"]["hits"] == len(TEXTS)


def test_a_file_of_something_else_is_thrown_away(tmp_path: Path, tokenizer: Tokenizer) -> None:
    (tmp_path / NAME).write_bytes(os.urandom(50_000))
    stats = run(tmp_path, tokenizer, TEXTS)
    assert stats["disk"]["thrown_away"] == 1
    assert stats["disk"]["entries"] == len(TEXTS)


def test_a_database_of_something_else_is_left_alone(tmp_path: Path, tokenizer: Tokenizer) -> None:
    import lmdb

    with lmdb.open(str(tmp_path / NAME), subdir=False) as env, env.begin(write=True) as change:
        change.put(b"mine", b"value")
    stats = run(tmp_path, tokenizer, TEXTS)
    assert not stats["disk"]["is_open"]
    assert "something else" in stats["disk"]["reason"]
    with lmdb.open(str(tmp_path / NAME), subdir=False) as env, env.begin() as view:
        assert view.get(b"mine") == b"value"


def test_a_folder_that_cannot_be_used_is_said_and_the_rest_works(
    tmp_path: Path, tokenizer: Tokenizer
) -> None:
    (tmp_path / "file").write_text("not a folder")
    for folder in (tmp_path / "file", Path("/proc/no/such")):
        stats = run(folder, tokenizer, TEXTS)
        assert not stats["disk"]["is_open"]
        assert "cannot be opened" in stats["disk"]["reason"]
        assert stats["memory"]["stored"] == len(TEXTS)


def test_a_read_only_folder_is_said_and_the_rest_works(
    tmp_path: Path, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    import lmdb

    def refuse(*_: object, **__: object) -> None:
        raise lmdb.ReadonlyError("read-only file system")

    monkeypatch.setattr(lmdb, "open", refuse)  # the tests may run as root, who may write anywhere
    stats = run(tmp_path, tokenizer, TEXTS)
    assert "read-only" in stats["disk"]["reason"]


def test_a_full_disk_is_counted_and_the_answers_stay_right(tmp_path: Path) -> None:
    code = f"""if True:
        import resource, signal
        from pathlib import Path
        from tests.cache.test_disk import TEXTS, open_cache, flush
        from tokenmill import Tokenizer
        tokenizer = Tokenizer.load()
        with open_cache(Path({str(tmp_path)!r})) as cache:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
            for text in TEXTS * 3:
                assert cache.encode(tokenizer, text).tolist() == tokenizer.encode(text).tolist()
                flush(cache)
                cache.clear()
            disk = cache.stats()["disk"]
            assert disk["failures"] > 0 and disk["dropped"] > 0 and disk["last_failure"], disk
    """
    root = Path(__file__).resolve().parents[2]
    subprocess.run([sys.executable, "-c", code], check=True, cwd=root)  # noqa: S603


def test_the_cap_holds_and_the_oldest_leave(tmp_path: Path, tokenizer: Tokenizer) -> None:
    cap = 2 << 20
    many = [f"number {number} is a text of its own " * 300 for number in range(150)]
    with open_cache(tmp_path, disk_bytes=cap) as cache:
        for text in many:
            cache.encode(tokenizer, text)
            flush(cache)
        disk = cache.stats()["disk"]
    assert disk["evictions"] > 0
    assert disk["failures"] == 0
    assert 0 < disk["bytes"] <= cap
    assert (tmp_path / NAME).stat().st_size <= cap
    assert run(tmp_path, tokenizer, many[-10:], disk_bytes=cap)["disk"]["hits"] == 10


def test_short_segments_are_kept_in_memory_only(tmp_path: Path, tokenizer: Tokenizer) -> None:
    stats = run(tmp_path, tokenizer, TEXTS, disk_min_bytes=len(TEXTS[0]) + 1)
    assert stats["memory"]["stored"] == len(TEXTS)
    longer = sum(len(text) > len(TEXTS[0]) for text in TEXTS)
    assert stats["disk"]["lookups"] == stats["disk"]["entries"] == longer > 0


def test_two_processes_share_one_file(tmp_path: Path, tokenizer: Tokenizer) -> None:
    code = f"""if True:
        from pathlib import Path
        from tests.cache.test_disk import TEXTS, run
        from tokenmill import Tokenizer
        stats = run(Path({str(tmp_path)!r}), Tokenizer.load(), TEXTS)
        assert stats["disk"]["hits"] == len(TEXTS), stats
    """
    with open_cache(tmp_path) as cache:
        for text in TEXTS:
            cache.encode(tokenizer, text)
        flush(cache)
        root = Path(__file__).resolve().parents[2]
        subprocess.run([sys.executable, "-c", code], check=True, cwd=root)  # noqa: S603


def _child(cache: SegmentCache, tokenizer: Tokenizer, results: Any) -> None:
    cache.clear()
    wrong = sum(
        cache.encode(tokenizer, text).tolist() != tokenizer.encode(text).tolist() for text in TEXTS
    )
    results.put((wrong, cache.stats()["disk"]["hits"]))


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_many_forked_readers(tmp_path: Path, tokenizer: Tokenizer) -> None:
    context = multiprocessing.get_context("fork")
    with open_cache(tmp_path) as cache:
        for text in TEXTS:
            cache.encode(tokenizer, text)
        flush(cache)
        results = context.Queue()
        children = [
            context.Process(target=_child, args=(cache, tokenizer, results)) for _ in range(8)
        ]
        for number, child in enumerate(children):
            child.start()
            cache.encode(tokenizer, f"written while they read {number} " * 100)
        assert sorted(results.get(timeout=60) for _ in children) == [(0, len(TEXTS))] * 8
        for child in children:
            child.join(30)
            assert child.exitcode == 0
        flush(cache)
        assert cache.stats()["disk"]["failures"] == 0


def test_a_folder_is_for_one_cache_of_a_process(tmp_path: Path, tokenizer: Tokenizer) -> None:
    with open_cache(tmp_path):
        stats = run(tmp_path, tokenizer, TEXTS)
    assert "already open in this process" in stats["disk"]["reason"]


def test_without_the_package_the_error_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "lmdb.verify", None)
    with pytest.raises(MissingDependency, match=r"tokenmill\[disk\]"):
        SegmentCache(disk=tmp_path)


def test_nothing_of_lmdb_is_imported_unless_a_disk_is_asked_for() -> None:
    code = "import sys, tokenmill._cache as c; c.SegmentCache(); assert 'lmdb' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603
