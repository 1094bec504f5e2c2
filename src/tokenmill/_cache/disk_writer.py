"""Records -> the file, on a thread of its own; the oldest leave when the cap is reached."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenmill._cache.disk_file import DiskFile

_PAGE = 4096
_QUEUE_BYTES = 64 << 20
_BATCH_BYTES = 4 << 20
_FULL = 0.7  # of the cap: earlier versions of pages, and odd sizes, need the rest
_MOST_FAILURES = 3
_NUMBER = 8


class DiskWriter:
    """A queue of records and the thread that writes them; `None` for a record removes it."""

    def __init__(self, file: DiskFile, cap: int, asked: set[bytes], error: type[Exception]) -> None:
        self.written = self.dropped = self.evictions = self.failures = self.queued_bytes = 0
        self.last_failure = ""
        self._file = file
        self._cap = int(cap * _FULL)
        self._asked = asked  # keys that were read: they get a second round
        self._error = error
        self._queue: deque[tuple[bytes, bytes | None]] = deque()
        self._changed = threading.Condition()
        self._is_closing = False
        self._is_busy = False
        self.writing = threading.Lock()  # held while the file is changed
        self._thread: threading.Thread | None = None

    def add(self, records: list[tuple[bytes, bytes | None]]) -> None:
        """Queue records; when too many wait, or the disk refuses them, they are dropped."""
        with self._changed:
            for key, record in records:
                size = len(record or b"")
                is_full = self.queued_bytes + size > _QUEUE_BYTES
                if is_full or self._is_closing or self.failures >= _MOST_FAILURES:
                    self.dropped += 1
                    continue
                self._queue.append((key, record))
                self.queued_bytes += size
            if self._thread is None and self._queue:
                self._thread = threading.Thread(
                    target=self._run, name="tokenmill-cache-disk", daemon=True
                )
                self._thread.start()
            self._changed.notify_all()

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until the queue is written; False if `timeout` seconds were not enough."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._queue and not self._is_busy, timeout)

    def close(self, timeout: float) -> None:
        """Write what waits, then end the thread."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(timeout)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._is_busy = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._queue or self._is_closing)
                if not self._queue:
                    return
                batch = self._take()
                self._is_busy = True
            self._write(batch)

    def _take(self) -> list[tuple[bytes, bytes | None]]:
        batch, size = [], 0
        while self._queue and size < _BATCH_BYTES:
            key, record = self._queue.popleft()
            batch.append((key, record))
            size += len(record or b"")
        self.queued_bytes -= size
        return batch

    def _write(self, batch: list[tuple[bytes, bytes | None]]) -> None:
        """Write a batch; on a full file try again with half of it free, then give up."""
        attempts: list[Callable[[], None]] = [
            lambda: self._change(batch, self._cap),
            lambda: self._change([], self._cap // 2),
            lambda: self._change(batch, self._cap),
        ]
        for attempt in (attempts[:1], attempts[1:]):
            try:
                for step in attempt:
                    step()
            except (self._error, OSError) as error:
                self.last_failure = str(error)
                continue
            self.written += sum(record is not None for _, record in batch)
            self.failures = 0
            return
        self.failures += 1
        self.dropped += len(batch)

    def _change(self, batch: list[tuple[bytes, bytes | None]], cap: int) -> None:
        file = self._file
        with self.writing, file.env.begin(write=True) as change:
            used = int.from_bytes(change.get(b"bytes", b"", db=file.meta), "little")
            number = self._last_number(change)
            for key, record in batch:
                if record is None:
                    change.delete(key, db=file.records)
                elif change.put(key, record, db=file.records, overwrite=False):
                    number += 1
                    cost = -(-len(record) // _PAGE) * _PAGE + _PAGE
                    value = key + cost.to_bytes(_NUMBER, "little")
                    change.put(number.to_bytes(_NUMBER, "big"), value, db=file.order)
                    used += cost
            used = self._evict(change, used, number, cap)
            change.put(b"bytes", used.to_bytes(_NUMBER, "little"), db=file.meta)

    def _last_number(self, change: Any) -> int:
        with change.cursor(db=self._file.order) as places:
            return int.from_bytes(places.key(), "big") if places.last() else 0

    def _evict(self, change: Any, used: int, number: int, cap: int) -> int:
        """Remove the oldest until `cap` holds; those that were read go to the end once."""
        with change.cursor(db=self._file.order) as places:
            while used > cap and places.first():
                value = places.value()
                key, cost = value[:-_NUMBER], int.from_bytes(value[-_NUMBER:], "little")
                places.delete()
                if key in self._asked:
                    self._asked.discard(key)
                    number += 1
                    places.put(number.to_bytes(_NUMBER, "big"), value)
                    continue
                change.delete(key, db=self._file.records)
                used -= cost
                self.evictions += 1
        return max(used, 0)
