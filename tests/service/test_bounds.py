"""Admission: exactly so many run, so many wait, and one more is refused at once."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

import pytest
from tests.service.blocks import LONG, Block, turns, until

from tokenmill import Overloaded, Service, TextTooLong

if TYPE_CHECKING:
    from tokenmill import Tokenizer


def status_of(service: Service, operation: str = "run") -> dict[str, int]:
    models = service.stats()["counters"]["models"]
    return next(iter(models.values()))[operation]["status"]  # type: ignore[no-any-return]


@pytest.mark.parametrize(("inflight", "queue"), [(1, 0), (1, 1), (3, 2)])
def test_so_many_run_so_many_wait_and_one_more_is_refused(
    small: Tokenizer, inflight: int, queue: int
) -> None:
    async def main() -> None:
        async with Service(small, max_inflight=inflight, max_queue=queue) as service:
            blocks = [Block(i) for i in range(inflight + queue)]
            tasks = [block.start(service) for block in blocks]
            for block in blocks[:inflight]:
                await until(block.began)
            with pytest.raises(Overloaded, match="max_queue") as refused:
                await service.run(Block(), size=LONG)
            assert refused.value.reason == "max_queue"
            assert refused.value.retry_after > 0
            stats = service.stats()["counters"]
            assert (stats["inflight"], stats["queued"]) == (inflight, queue)
            assert not any(block.began.is_set() for block in blocks[inflight:])
            for block in blocks:
                block.may_end.set()
            assert await asyncio.gather(*tasks) == list(range(inflight + queue))
            assert await service.run(lambda _: "again", size=LONG) == "again"
            assert status_of(service) == {
                "ok": inflight + queue + 1, "error": 0, "timeout": 0, "cancelled": 0, "rejected": 1,
            }  # fmt: skip

    asyncio.run(main())


def test_a_short_request_overtakes_long_ones(small: Tokenizer) -> None:
    async def main() -> None:
        async with Service(small, max_inflight=1, max_queue=8) as service:
            blocks = [Block() for _ in range(3)]
            tasks = [block.start(service) for block in blocks]
            await until(blocks[0].began)
            text = "hello world " * 5000  # 60 KB: not inline
            assert len(await service.encode(text)) == len(small.encode(text))
            assert not any(task.done() for task in tasks)
            for block in blocks:
                block.may_end.set()
            await asyncio.gather(*tasks)

    asyncio.run(main())


def test_long_requests_are_not_overtaken_for_ever(small: Tokenizer) -> None:
    async def main() -> None:
        async with Service(small, max_inflight=1) as service:
            ran: list[str] = []
            express, general = Block(), Block()
            blocking = [express.start(service, size=100_000)]
            await until(express.began)
            blocking.append(general.start(service))
            await until(general.began)
            long = asyncio.create_task(service.run(lambda _: ran.append("long"), size=LONG))
            await turns()
            shorts = [
                asyncio.create_task(service.run(lambda _: ran.append("short"), size=100_000))
                for _ in range(3)
            ]
            await turns()
            general.may_end.set()  # the general thread takes the oldest: the long one
            await asyncio.gather(long, *shorts)
            assert ran == ["long", "short", "short", "short"]
            express.may_end.set()
            await asyncio.gather(*blocking)

    asyncio.run(main())


def test_the_queue_is_bounded_in_bytes(small: Tokenizer) -> None:
    async def main() -> None:
        limits = {"max_inflight": 1, "max_queue": 100, "max_queue_bytes": 3 * LONG}
        async with Service(small, **limits) as service:  # type: ignore[arg-type]
            blocks = [Block() for _ in range(4)]  # one runs
            tasks = [block.start(service) for block in blocks]
            await until(blocks[0].began)
            with pytest.raises(Overloaded, match="max_queue_bytes"):
                await service.run(Block(), size=LONG)
            for block in blocks:
                block.may_end.set()
            await asyncio.gather(*tasks)

    asyncio.run(main())


@pytest.mark.parametrize("text", ["a" * 1001, b"a" * 1001, "\u00e9" * 501, "\U0001f600" * 251])
def test_a_text_that_is_too_long_is_refused(small: Tokenizer, text: str | bytes) -> None:
    async def main() -> None:
        async with Service(small, max_text_bytes=1000, inline_bytes=0) as service:
            with pytest.raises(TextTooLong) as refused:
                await service.encode(text)
            assert refused.value.limit == 1000
            size = len(text.encode() if isinstance(text, str) else text)
            assert refused.value.size == size
            with pytest.raises(TextTooLong):
                await service.count(text)
            with pytest.raises(TextTooLong):
                await service.encode_batch([text])
            fits = text[:250]
            assert len(await service.encode(fits)) == len(small.encode(fits))
            rejected = service.stats()["counters"]["rejected"]
            assert rejected["max_text_bytes"] == 3

    asyncio.run(main())


def test_a_list_is_bounded_as_a_whole(small: Tokenizer) -> None:
    async def main() -> None:
        async with Service(small, max_text_bytes=1000) as service:
            assert len(await service.encode_batch(["abcd"] * 250)) == 250
            with pytest.raises(TextTooLong):
                await service.encode_batch(["abcd"] * 251)

    asyncio.run(main())


def test_inline_requests_of_one_turn_are_bounded_and_come_in_order(small: Tokenizer) -> None:
    async def main() -> None:
        async with Service(small, max_queue=5) as service:
            ran: list[int] = []

            def slow(number: int, _: object) -> None:
                sum(range(20_000))
                ran.append(number)

            tasks = [asyncio.create_task(service.run(partial(slow, n), size=1)) for n in range(200)]
            await turns(1)
            answers = await asyncio.gather(*tasks, return_exceptions=True)
            refused = [answer for answer in answers if answer is not None]
            assert refused
            assert all(isinstance(answer, Overloaded) for answer in refused)
            assert ran == sorted(ran)
            assert len(ran) == 200 - len(refused)

    asyncio.run(main())


def test_a_task_that_awaits_in_a_loop_does_not_hold_the_event_loop(small: Tokenizer) -> None:
    async def main() -> None:
        async with Service(small) as service:
            rounds = 0
            is_done = False

            async def other() -> None:
                nonlocal rounds
                while not is_done:
                    rounds += 1
                    await asyncio.sleep(0)

            task = asyncio.create_task(other())
            asked = 0
            while rounds < 10 and asked < 5_000_000:  # a fast machine needs more of them
                await service.encode("hello world")
                asked += 1
            is_done = True
            await task
            assert rounds >= 10

    asyncio.run(main())


def test_shed_refuses_until_it_is_taken_back(small: Tokenizer) -> None:
    async def main() -> None:
        async with Service(small) as service:
            service._open_door().shed_for("memory", is_on=True)
            assert not service.ready
            with pytest.raises(Overloaded) as refused:
                await service.encode("hello")
            assert refused.value.reason == "memory"
            service._open_door().shed_for("memory", is_on=False)
            assert service.ready
            assert len(await service.encode("hello")) == 1

    asyncio.run(main())
