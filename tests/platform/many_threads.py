"""A program in which many threads use the same tokenizers at the same time, and compare all ids.

    python many_threads.py FOLDER [--threads 4] [--rounds 60] [--seed 0]

FOLDER has tokenizers to load; if it has none, the one in the package is written there. Everything
that threads get is compared with what one thread got before. It needs nothing but the package, so
that it runs where the test tools cannot be installed. The last line it prints is JSON: whether
there is a GIL, what was done how often, what was wrong.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import threading
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import tokenmill
from tokenmill._tokenizer import compile_file

if TYPE_CHECKING:
    from collections.abc import Callable

WORDS = [
    "hello", "world", "the", "quick", "brown", "fox", "\u00e9t\u00e9", "\u4f60\u597d", "\U0001f600",
    "don't", "12345", "x=y;", "\n\n\t", "tokenizer", "<s>", "</s>",
]  # fmt: skip
N_TEXTS = 200


def make_texts(seed: int) -> list[str]:
    """Return texts of all sizes, in all widths of strings."""
    chance = random.Random(seed)
    texts = [
        " ".join(chance.choice(WORDS) for _ in range(chance.randrange(60))) for _ in range(N_TEXTS)
    ]
    texts += ["", "plain ascii " * 4000, "caf\u00e9 " * 3000, "\u4f60\u597d " * 4000]
    return texts


@dataclass
class Known:
    """A tokenizer, and what one thread found out about it."""

    path: str
    tokenizer: tokenmill.Tokenizer
    texts: list[str]
    ids: list[list[int]] = field(default_factory=list)
    decoded: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for text in self.texts:
            ids = self.tokenizer.encode(text).tolist()
            self.ids.append(ids)
            self.decoded.append(self.tokenizer.decode(ids))


@dataclass
class Shared:
    """What all threads use, and what they find."""

    known: list[Known]
    cache: tokenmill.SegmentCache
    list_of_texts: list[str]
    changing: list[str]  # one thread changes it all the time
    allowed: dict[str, list[int]]  # the ids of what may be in it
    sessions: list[tuple[tokenmill.Session, list[str]]]
    done: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)  # of this program's own notes
    change_now: threading.Event = field(default_factory=threading.Event)
    is_over: bool = False

    def check(self, what: str, got: object, expected: object) -> None:
        """Compare, and note a difference."""
        if got != expected:
            with self.lock:
                self.wrong.append(f"{what}: got {str(got)[:200]}, expected {str(expected)[:200]}")


class Caller:
    """One thread: calls in an order of its own."""

    def __init__(self, shared: Shared, seed: int) -> None:
        self.shared = shared
        self.chance = random.Random(seed)
        self.done: Counter[str] = Counter()
        self.ways: list[Callable[[Known], None]] = [
            self.encode, self.encode, self.encode, self.encode_batch, self.encode_batch,
            self.count, self.decode, self.decode_batch, self.spans, self.rows, self.session,
            self.shared_session, self.stream, self.load, self.facts, self.release, self.cached,
            self.changing, self.save_and_load,
        ]  # fmt: skip

    def run(self, rounds: int) -> None:
        """Call everything in every round."""
        try:
            for _ in range(rounds):
                for way in self.chance.sample(self.ways, len(self.ways)):
                    way(self.chance.choice(self.shared.known))
                    self.done[way.__name__] += 1
        except BaseException:
            self.shared.check("a thread", traceback.format_exc()[-190:], "no error")
        finally:
            with self.shared.lock:
                self.shared.done.update(self.done)

    def some(self, known: Known) -> list[int]:
        return [self.chance.randrange(len(known.texts)) for _ in range(20)]

    def encode(self, known: Known) -> None:
        for i in self.some(known):
            ids = known.tokenizer.encode(known.texts[i])
            self.shared.check("encode", ids.tolist(), known.ids[i])

    def encode_batch(self, known: Known) -> None:
        threads = self.chance.choice([1, 2])
        batch = known.tokenizer.encode_batch(self.shared.list_of_texts, threads=threads)
        self.shared.check("encode_batch", [row.tolist() for row in batch], known.ids)

    def count(self, known: Known) -> None:
        counts = known.tokenizer.count_batch(known.texts, threads=1)
        self.shared.check("count_batch", counts.tolist(), [len(ids) for ids in known.ids])
        for i in self.some(known):
            self.shared.check("count", known.tokenizer.count(known.texts[i]), len(known.ids[i]))

    def decode(self, known: Known) -> None:
        for i in self.some(known):
            text = known.tokenizer.decode(known.ids[i])
            self.shared.check("decode", text, known.decoded[i])

    def decode_batch(self, known: Known) -> None:
        texts = known.tokenizer.decode_batch(known.ids[:50])
        self.shared.check("decode_batch", texts, known.decoded[:50])

    def spans(self, known: Known) -> None:
        chosen = self.some(known)
        batch = known.tokenizer.encode_batch(
            [known.texts[i] for i in chosen], offsets="char", threads=1
        )
        self.shared.check("spans", [row.tolist() for row in batch], [known.ids[i] for i in chosen])

    def rows(self, known: Known) -> None:
        batch = known.tokenizer.encode_batch(
            known.texts[:40], truncation="longest_first", max_length=16, threads=1
        )
        self.shared.check(
            "rows", [row.ids.tolist() for row in batch], [ids[:16] for ids in known.ids[:40]]
        )

    def session(self, known: Known) -> None:
        i = self.chance.choice(self.some(known))
        session, text = known.tokenizer.session(), known.texts[i]
        cut = self.chance.randrange(len(text) + 1)
        session.append(text[:cut])
        other = session.fork()
        session.append(text[cut:])
        self.shared.check("session", session.ids.tolist(), known.ids[i])
        other.append(text[cut:])
        self.shared.check("fork", other.ids.tolist(), known.ids[i])

    def shared_session(self, _known: Known) -> None:
        """Each call adds a word; in which order they come is up to the threads."""
        session, words = self.chance.choice(self.shared.sessions)
        session.append(self.chance.choice(words))
        assert session.n_ids <= session.n_bytes

    def stream(self, known: Known) -> None:
        i = self.chance.choice(self.some(known))
        stream = known.tokenizer.decode_stream()
        pieces = [stream.push(token) for token in known.ids[i][:300]]
        text = "".join([*pieces, stream.finish()])
        self.shared.check("stream", text, known.tokenizer.decode(known.ids[i][:300]))

    def load(self, known: Known) -> None:
        again = tokenmill.Tokenizer.load(known.path or None)
        i = self.chance.choice(self.some(known))
        self.shared.check("load", again.encode(known.texts[i]).tolist(), known.ids[i])

    def facts(self, known: Known) -> None:
        self.shared.check("memory", tokenmill.memory()["models"] > 0, True)
        assert known.tokenizer.memory()["workers"] >= 0
        assert known.tokenizer.stats().words.looked_up >= 0
        token = known.ids[0][0] if known.ids[0] else 0
        spelled = known.tokenizer.id_to_token(token)
        self.shared.check("token", known.tokenizer.token_to_id(spelled), token)

    def release(self, known: Known) -> None:
        assert known.tokenizer.release() >= 0

    def cached(self, known: Known) -> None:
        for i in self.some(known):
            ids = self.shared.cache.encode(known.tokenizer, known.texts[i])
            self.shared.check("cache", ids.tolist(), known.ids[i])

    def changing(self, known: Known) -> None:
        """Encode a list while another thread changes it: any of its states, but no other text."""
        del known  # the ids are those of the first one
        allowed = list(self.shared.allowed.values())
        self.shared.change_now.set()
        for _ in range(10):
            batch = self.shared.known[0].tokenizer.encode_batch(self.shared.changing, threads=1)
            for row in batch:
                self.shared.check("changing list", row.tolist() in allowed, True)

    def save_and_load(self, known: Known) -> None:
        """All threads write the same files at the same time; readers see them whole."""
        path = Path(known.path).with_suffix(".mill")
        compile_file(known.path, path)
        saved = tokenmill.Tokenizer.load(path)
        self.shared.check("saved", saved.encode(known.texts[0]).tolist(), known.ids[0])


def new(text: str) -> str:
    """Return a string of its own with the same characters."""
    return text[:1] + text[1:]


def change(shared: Shared) -> None:
    """Change a list in all ways, whenever somebody is about to use it."""
    texts, chance = shared.changing, random.Random(1)
    words = list(shared.allowed)
    while shared.change_now.wait() and not shared.is_over:
        shared.change_now.clear()
        # New strings, so that the old ones are gone as soon as nobody holds them.
        for _ in range(20):
            texts[:] = [new(chance.choice(words)) for _ in range(chance.randrange(1, 200))]
            texts.append(new(words[0]))
            texts.pop(0)
            for i in range(len(texts)):
                texts[i] = new(words[i % len(words)])


def first_calls(folder: Path, threads: int) -> list[str]:
    """Let threads meet at everything that is imported or made at its first use."""
    barrier, found, failed = threading.Barrier(threads), [], []
    path = str(sorted(folder.glob("*.json"))[0])

    def call() -> None:
        try:
            barrier.wait()
            tokenizer = tokenmill.Tokenizer.load(path)
            ids = tokenizer.encode("hello world").tolist()
            barrier.wait()
            batch = tokenizer.encode_batch(["hello world"] * 3)
            text = tokenizer.decode(ids)
            stream = tokenizer.decode_stream()
            found.append((ids, [row.tolist() for row in batch], text, stream.push(ids[0]),
                          tokenizer.token_to_id("a"), tokenizer.count("hello")))  # fmt: skip
        except BaseException as error:
            failed.append(f"first calls: {error!r}")
            barrier.abort()

    workers = [threading.Thread(target=call) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if not failed and any(answer != found[0] for answer in found):
        failed.append(f"first calls differ: {found}")
    return failed


def run(folder: Path, threads: int, rounds: int, seed: int) -> Shared:
    """Use everything from many threads."""
    texts = make_texts(seed)
    paths = [str(path) for path in sorted(folder.glob("*.json"))]
    known = [Known(path, tokenmill.Tokenizer.load(path), texts) for path in paths]
    first = known[0].tokenizer
    words = ["apple", "pear tree", "\u4f60\u597d", "caf\u00e9 au lait", "x" * 300]
    shared = Shared(
        known,
        tokenmill.SegmentCache(memory_bytes=1 << 20, min_bytes=64),
        texts,
        ["apple"],
        {word: first.encode(word).tolist() for word in words},
        [(one.tokenizer.session(), [" a", " hello", "\u00e9 "]) for one in known],
    )
    callers = [Caller(shared, seed + n) for n in range(threads)]
    workers = [threading.Thread(target=caller.run, args=(rounds,)) for caller in callers]
    changer = threading.Thread(target=change, args=(shared,))
    changer.start()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    shared.is_over = True
    shared.change_now.set()
    changer.join()
    for one, (session, _) in zip(known, shared.sessions, strict=True):
        whole = one.tokenizer.encode(session.text_bytes)
        shared.check("shared session", session.ids.tolist(), whole.tolist())
    return shared


def packed(folder: Path, tokenizer: tokenmill.Tokenizer, texts: list[str], workers: int) -> object:
    """Pack texts by some workers; return the checksums of all shards."""
    source = folder / "texts.jsonl"
    source.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    output = folder / f"packed-{workers}"
    shutil.rmtree(output, ignore_errors=True)
    manifest = tokenmill.pack(
        source, output=output, tokenizer=tokenizer, context_length=64, shard_tokens=4000,
        workers=workers, format="bin,npy", progress="none",
    )  # fmt: skip
    assert tokenmill.verify(output).ok
    return [(shard["path"], shard["checksum"]) for shard in manifest.shards]


def has_gil() -> bool:
    """Return whether this interpreter runs with a GIL at this moment."""
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())


def main() -> int:
    """Run; the exit status is 0 if all ids were right."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("error")
    sys.setswitchinterval(1e-5)  # with a GIL, it goes round as often as it can
    begin = time.perf_counter()
    if not list(options.folder.glob("*.json")):
        tokenmill.Tokenizer.load().save(options.folder / "builtin.json")
    wrong = first_calls(options.folder, options.threads)
    shared = run(options.folder, options.threads, options.rounds, options.seed)
    first = shared.known[0]
    alone, together = (
        packed(options.folder, first.tokenizer, first.texts, workers) for workers in (1, 4)
    )
    shared.check("pack", together, alone)
    wrong += shared.wrong
    report = {
        "gil": has_gil(),
        "seconds": round(time.perf_counter() - begin, 2),
        "calls": dict(shared.done),
        "wrong": wrong[:20],
        "n_wrong": len(wrong),
    }
    print(json.dumps(report))  # noqa: T201 -- a program
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
