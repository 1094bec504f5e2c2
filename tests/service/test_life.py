"""Start, close, fork: no thread is left, and a service can be used again."""

from __future__ import annotations

import asyncio
import os
import threading
from typing import TYPE_CHECKING, Literal

import pytest
from tests.service.blocks import LONG, Block, turns, until
from tests.service.test_stops import spin

from tokenmill import (
    ModelNotReady,
    Service,
    ServiceClosed,
    SourceNotFound,
    Tokenizer,
    UnknownModel,
)

if TYPE_CHECKING:
    from pathlib import Path


def own_threads() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("tokenmill")]


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> object:
    yield
    assert own_threads() == []


def test_a_service_can_be_started_again_on_another_loop(small: Tokenizer) -> None:
    service = Service(small)

    async def main() -> None:
        with pytest.raises(ServiceClosed, match="async with"):
            await service.encode("hello")
        for _ in range(2):
            await service.start()
            await service.start()  # twice does nothing
            assert len(await service.encode("hello" * 10_000)) == 10_000
            assert own_threads() != []
            await service.close()
            await service.close()
            assert own_threads() == []
            with pytest.raises(ServiceClosed):
                await service.encode("hello")

    asyncio.run(main())
    asyncio.run(main())


def test_a_service_whose_loop_was_closed_starts_anew(small: Tokenizer) -> None:
    service = Service(small)

    async def forget() -> None:
        await service.start()
        await service.encode("hello" * 10_000)

    async def use() -> None:
        async with service:
            assert len(await service.encode("hello" * 10_000)) == 10_000

    asyncio.run(forget())
    asyncio.run(use())
    for thread in threading.enumerate():
        if thread.name.startswith("tokenmill"):
            thread.join(30)


def test_close_waits_for_what_is_inside(small: Tokenizer) -> None:
    async def main() -> None:
        service = Service(small, max_inflight=1)
        await service.start()
        blocks = [Block(i) for i in range(3)]
        tasks = [block.start(service) for block in blocks]
        await until(blocks[0].began)
        closing = asyncio.create_task(service.close())
        await turns()
        assert not service.ready
        with pytest.raises(ServiceClosed):
            await service.encode("hello")
        for block in blocks:
            block.may_end.set()
        await closing
        assert await asyncio.gather(*tasks) == [0, 1, 2]

    asyncio.run(main())


def test_close_stops_what_does_not_end_in_time(small: Tokenizer) -> None:
    async def main() -> None:
        service = Service(small, max_inflight=1, timeout=None)
        await service.start()
        tasks = [asyncio.create_task(service.run(spin, size=LONG)) for _ in range(3)]
        await turns()
        await service.close(grace=0.01)
        for answer in await asyncio.gather(*tasks, return_exceptions=True):
            assert isinstance(answer, ServiceClosed)

    asyncio.run(main())


def test_a_failed_model_does_not_take_the_others_down(
    small: Tokenizer, small_json: Path, tmp_path: Path
) -> None:
    async def main() -> None:
        sources: dict[str, Tokenizer | Path] = {
            "bad": tmp_path / "none.json",
            "good": small_json,
            "own": small,
        }
        async with Service(sources) as service:
            assert service.ready
            states = {name: state.state for name, state in service.models.items()}
            assert states == {"bad": "failed", "good": "ready", "own": "ready"}
            assert len(await service.encode("hello", model="good")) == 1
            with pytest.raises(ModelNotReady, match=r"none\.json") as failed:
                await service.encode("hello")
            assert isinstance(failed.value.__cause__, SourceNotFound)
            reason = service.stats()["models"]["bad"]["reason"]
            assert reason.startswith("SourceNotFound")

    asyncio.run(main())


def test_start_raises_if_no_model_can_be_used(tmp_path: Path) -> None:
    async def main() -> None:
        with pytest.raises(SourceNotFound):
            async with Service(tmp_path / "none.json"):
                pass

    asyncio.run(main())


def test_start_without_waiting_returns_before_models_are_loaded(
    small_json: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_load = threading.Event()
    load = Tokenizer.load

    def slow_load(source: object, *, tables: Literal["usual"]) -> Tokenizer:
        assert may_load.wait(30)
        return load(source, tables=tables)

    async def main() -> None:
        monkeypatch.setattr(Tokenizer, "load", slow_load)
        service = Service(small_json)
        await service.start(wait=False)
        assert not service.ready
        with pytest.raises(ModelNotReady, match="being loaded"):
            await service.encode("hello")
        may_load.set()
        await service.start()
        assert service.ready
        assert list(service.models) == [service.tokenizer().name]
        await service.close()

    asyncio.run(main())


def test_requests_hear_that_a_model_is_being_prepared(small_json: Path) -> None:
    """A source may have to be compiled first; that is a part of loading it."""
    go, prepared = threading.Event(), []

    def prepare(source: str) -> None:
        prepared.append(source)
        assert go.wait(30)

    async def main() -> None:
        service = Service({"a": str(small_json)})
        await service.start(wait=False, prepare=prepare)
        with pytest.raises(ModelNotReady, match="being loaded"):
            await service.encode("hello")
        with pytest.raises(UnknownModel):
            await service.encode("hello", model="b")
        assert not service.ready
        go.set()
        await service.start()  # waits
        assert prepared == [str(small_json)]
        assert len(await service.encode("hello")) == 1
        await service.close()

    asyncio.run(main())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_has_no_threads_and_can_start_its_own(small: Tokenizer) -> None:
    service = Service(small)

    async def main() -> None:
        await service.start()
        await service.encode("hello" * 10_000)
        child = os.fork()
        if child == 0:
            os._exit(_in_child(service))
        _, status = await asyncio.to_thread(os.waitpid, child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        counts = service.counters.as_dict(["small"])["models"]["small"]["encode"]
        assert counts["status"]["ok"] == 2  # the child counts in the same memory
        await service.close()

    asyncio.run(main())


def _in_child(service: Service) -> int:
    async def use() -> int:
        async with service:
            return len(await service.encode("hello" * 10_000))

    asyncio.set_event_loop(None)
    asyncio._set_running_loop(None)
    try:
        return 0 if asyncio.run(use()) == 10_000 else 1
    except BaseException:
        return 2
