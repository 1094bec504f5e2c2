"""Deadlines and cancellation reach the work itself, and what waits is skipped."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING

import pytest
from tests.service.blocks import LONG, Block, turns, until

from tokenmill import DeadlineExceeded, InvalidUtf8, Service, Tokenizer

if TYPE_CHECKING:
    from tokenmill._core import Stop

PATIENCE = 30.0


def spin(stop: Stop) -> None:
    """Work that ends only by its Stop."""
    while True:
        stop.check()
        time.sleep(0.001)


def test_a_deadline_ends_running_work(small: Tokenizer) -> None:
    async def main() -> None:
        async with Service(small, max_inflight=1) as service:
            with pytest.raises(DeadlineExceeded):
                await service.run(spin, size=LONG, timeout=0.01)
            assert await service.run(lambda _: 1, size=LONG) == 1  # the thread is free again
            with pytest.raises(TimeoutError):  # what people expect of a timeout
                await service.encode("hello", timeout=0)

    asyncio.run(main())


def test_the_timeout_of_the_service_is_the_default(small: Tokenizer) -> None:
    async def main() -> None:
        async with Service(small, timeout=0.01) as service:
            with pytest.raises(DeadlineExceeded):
                await service.run(spin, size=LONG)
            block = Block()
            task = asyncio.create_task(service.run(block, size=LONG, timeout=PATIENCE))
            await until(block.began)
            block.may_end.set()
            assert await task == "done"

    asyncio.run(main())


def test_expired_requests_never_run(small: Tokenizer) -> None:
    async def main() -> None:
        async with Service(small, max_inflight=1) as service:
            first, ran = Block(), threading.Event()
            blocked = first.start(service)
            await until(first.began)
            with pytest.raises(DeadlineExceeded):  # at once, though the thread is busy
                await service.run(lambda _: ran.set(), size=LONG, timeout=0.005)
            assert service.stats()["counters"]["queued"] == 0
            first.may_end.set()
            await blocked
            assert not ran.is_set()

    asyncio.run(main())


def test_work_that_cannot_be_stopped_does_not_delay_the_answer(small: Tokenizer) -> None:
    async def main() -> None:
        async with Service(small, max_inflight=1) as service:
            block = Block()
            with pytest.raises(DeadlineExceeded):
                await service.run(block, size=LONG, timeout=0.01)
            assert service.stats()["counters"]["inflight"] == 1  # it still has its thread
            block.may_end.set()

    asyncio.run(main())


def test_cancelled_requests_are_stopped_or_skipped(small: Tokenizer) -> None:
    async def main() -> None:
        async with Service(small, max_inflight=1, timeout=None) as service:
            began, ended, ran = (threading.Event() for _ in range(3))

            def work(stop: Stop) -> None:
                began.set()
                try:
                    spin(stop)
                finally:
                    ended.set()

            running = asyncio.create_task(service.run(work, size=LONG))
            await until(began)
            waiting = asyncio.create_task(service.run(lambda _: ran.set(), size=LONG))
            await turns()
            for task in (waiting, running):
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            await until(ended)
            assert service.stats()["counters"]["queued"] == 0
            assert await service.run(lambda _: "free", size=LONG) == "free"
            assert not ran.is_set()

    asyncio.run(main())


def test_wait_for_cancels_the_work(small: Tokenizer) -> None:
    async def main() -> None:
        async with Service(small, max_inflight=1, timeout=None) as service:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(service.run(spin, size=LONG), 0.01)
            assert await service.run(lambda _: 1, size=LONG) == 1

    asyncio.run(main())


def test_errors_keep_their_type_text_and_traceback(small: Tokenizer) -> None:
    def fails(_: Stop) -> None:
        raise KeyError("mine")

    async def main() -> None:
        async with Service(small) as service:
            for size in (1, LONG):
                with pytest.raises(KeyError, match="mine") as caught:
                    await service.run(fails, size=size)
                assert "fails" in [entry.name for entry in caught.traceback]
            with pytest.raises(RuntimeError, match="StopIteration"):
                await service.run(lambda _: next(iter([])), size=LONG)
            bad = b"hello world " * 100_000 + b"\xff"
            for text in (bad[-1:], bad[-1000:], bad):
                with pytest.raises(InvalidUtf8) as wrong:
                    await service.encode(text)
                with pytest.raises(InvalidUtf8) as expected:
                    small.encode(text)
                assert str(wrong.value) == str(expected.value)

    asyncio.run(main())


def test_the_number_of_a_bad_text_is_that_in_the_list(small: Tokenizer) -> None:
    async def main() -> None:
        texts: list[object] = [b"hello"] * 10_000
        async with Service(small) as service:
            for bad in (b"\xff", 5):
                texts[9_000] = bad
                with pytest.raises(ValueError, match="document 9000"):
                    await service.encode_batch(texts)
            texts[9_000] = b"hello"
            batch = await service.encode_batch(texts)
            assert len(batch) == 10_000
            assert len(batch.ids) == 10_000

    asyncio.run(main())


def test_one_error_does_not_break_others(small: Tokenizer) -> None:
    async def main() -> None:
        async with Service(small) as service:
            texts = [b"hello" * n for n in (1, 5000, 50_000)]
            calls = [service.encode(text) for text in (*texts, b"\xff", *texts)]
            answers = await asyncio.gather(*calls, return_exceptions=True)
            lengths = [1, 5000, 50_000]
            assert isinstance(answers[3], InvalidUtf8)
            good = [answer for answer in answers if not isinstance(answer, BaseException)]
            assert [len(answer) for answer in good] == lengths * 2

    asyncio.run(main())
