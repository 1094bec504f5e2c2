"""`SegmentCache`: ids of segments, in memory and, if asked for, on disk."""

from __future__ import annotations

import os
import secrets
import weakref
from threading import Lock
from typing import TYPE_CHECKING, Any

from tokenmill import _core
from tokenmill._cache.stats import stats_of
from tokenmill._cache.support import Support, supported
from tokenmill._calls.options import modes
from tokenmill._checks import whole_number
from tokenmill._stats import OTHER_OWNERS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import Self

    from tokenmill._cache.disk import DiskTier
    from tokenmill._cache.warm import Warming
    from tokenmill._core import Stop
    from tokenmill._post.request import Errors, SpecialInText
    from tokenmill._tokenizer import Tokenizer
    from tokenmill._tokenizer.tokenizer import Text

# Measured: docs/develop/decisions/0014-segment-cache.md.
MEMORY_BYTES = 64 << 20
DISK_BYTES = 512 << 20
MIN_BYTES = 1024
DISK_MIN_BYTES = 8 << 10
CUT_BYTES = 8 << 10
VERIFY = 1000

# A WeakSet cannot be read while another thread changes it; to copy a set is one step.
_alive: set[weakref.ref[SegmentCache]] = set()


def _living() -> list[SegmentCache]:
    return [cache for one in list(_alive) if (cache := one()) is not None]


def _bytes_of_all() -> int:
    return sum(cache.memory_in_use() for cache in _living())


OTHER_OWNERS["cache"] = _bytes_of_all


class SegmentCache:
    """Ids of texts between special tokens, so that a text seen before is not encoded again.

    `encode` returns what `Tokenizer.encode` returns, always. One cache may serve several
    tokenizers, and any number of threads; a process that is forked has a copy of its own.

    `memory_bytes` is the budget for texts, ids and all that is kept about them. Segments shorter
    than `min_bytes` are encoded as ever. The last segment, if longer than twice `cut_bytes`, is cut
    where the engine knows that it is safe, so that a text which grows is found again; 0 cuts none.
    One hit in `verify` is encoded again and compared; 0 checks none. With `adaptive`, the cache
    switches itself off for tokenizers that it costs more time than it saves, and tries again later.

    `disk` is a folder for a second tier, which processes share and which outlives them, of at most
    `disk_bytes`, for segments of `disk_min_bytes` or more; it needs the package lmdb
    (`pip install tokenmill[disk]`).
    """

    def __init__(
        self,
        memory_bytes: int = MEMORY_BYTES,
        *,
        disk: str | os.PathLike[str] | None = None,
        disk_bytes: int = DISK_BYTES,
        disk_min_bytes: int = DISK_MIN_BYTES,
        min_bytes: int = MIN_BYTES,
        cut_bytes: int = CUT_BYTES,
        verify: int = VERIFY,
        adaptive: bool = True,
    ) -> None:
        budget = whole_number("memory_bytes", memory_bytes, least=0)
        least = whole_number("min_bytes", min_bytes)
        cut = whole_number("cut_bytes", cut_bytes, least=0)
        other = whole_number("disk_min_bytes", disk_min_bytes)
        every = whole_number("verify", verify, least=0, most=2**31)
        self._disk: DiskTier | None = None
        if disk is not None:
            from tokenmill._cache.disk import DiskTier  # imports lmdb

            self._disk = DiskTier(disk, whole_number("disk_bytes", disk_bytes))
        seed = secrets.token_bytes(16) if self._disk is None else self._disk.seed
        self._core = _core.SegmentCache(budget, least, cut, other, every, seed, adaptive)
        self._names: dict[int, tuple[bytes, str]] = {}
        _alive.add(weakref.ref(self, _alive.discard))

    def encode(
        self,
        tokenizer: Tokenizer,
        text: Text,
        *,
        add_special_tokens: bool = False,
        special_in_text: SpecialInText = "encode",
        errors: Errors = "strict",
        stop: Stop | None = None,
    ) -> NDArray[np.uint32]:
        """Return the ids of one text: what `tokenizer.encode` returns, and the same errors."""
        special, policy = modes(special_in_text, errors)
        model: Any = tokenizer.ready.model
        given = add_special_tokens, special, policy, stop
        ids = None
        if type(model) is _core.Model:
            if id(model) not in self._names:
                self._names[id(model)] = self._core.fingerprint(model), tokenizer.name
            disk = self._disk
            tier = disk if disk is not None and disk.is_open else None
            ids = self._core.encode_cached(model, text, *given, tier)
        found: NDArray[np.uint32] = model.encode(text, *given) if ids is None else ids
        return found

    @staticmethod
    def supported(tokenizer: Tokenizer) -> Support:
        """Tell whether segments of a tokenizer are cached; if not, `reason` says why."""
        return supported(tokenizer)

    def warm(
        self, tokenizer: Tokenizer, texts: Iterable[str | bytes], *, background: bool = True
    ) -> Warming:
        """Put the most frequent segments of `texts` in, up to the budget, and say what was done.

        In the background, a thread of low priority does it, and `texts` must not be changed
        meanwhile; `wait()` on the result returns the report.
        """
        from tokenmill._cache.warm import Warming

        warming = Warming(self._core, self._disk, tokenizer, texts)
        if background:
            warming.start()
        else:
            warming.run()
        return warming

    def clear(self) -> None:
        """Forget all entries in memory; those on disk stay."""
        self._core.clear()

    def resize(self, memory_bytes: int) -> None:
        """Change the budget; what is above it leaves at once."""
        self._core.resize(whole_number("memory_bytes", memory_bytes, least=0))

    def stats(self) -> dict[str, Any]:
        """Return what it holds and what it has saved, as plain JSON."""
        return stats_of(self._core, self._disk, dict(self._names.values()))

    def memory_in_use(self) -> int:
        """Return the bytes of its entries and of all that is kept about them."""
        return int(self._core.use()["bytes"])

    def close(self) -> None:
        """Write what is left to the disk and close it; the memory tier stays."""
        if self._disk is not None:
            self._disk.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def at_fork(self, when: str) -> None:
        """Be ready for a fork: `when` is "before", "parent" or "child"."""
        if when == "child":
            self._core.after_fork()
        disk = self._disk
        if disk is not None:
            steps = {
                "before": disk.before_fork,
                "parent": disk.after_fork_in_parent,
                "child": disk.after_fork,
            }
            steps[when]()


_forking = Lock()  # of two threads that fork, one waits
_at_fork: list[SegmentCache] = []  # those that are ready for the fork at hand


def _before() -> None:
    _forking.acquire()
    _at_fork[:] = _living()
    for cache in _at_fork:
        cache.at_fork("before")


def _after(when: str) -> None:
    for cache in _at_fork:
        cache.at_fork(when)
    _at_fork.clear()
    _forking.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before,
        after_in_parent=lambda: _after("parent"),
        after_in_child=lambda: _after("child"),
    )
