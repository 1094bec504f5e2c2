"""Profiles, options, explanations, the memory limit."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest

from tokenmill import OptionError, Overloaded, Service
from tokenmill._platform.memory import resident_bytes
from tokenmill._service import explain, ticker
from tokenmill._service.limits import PROFILES, limits_of
from tokenmill._service.memory import MemoryGuard

if TYPE_CHECKING:
    from pathlib import Path

    from tokenmill import Tokenizer


@pytest.mark.parametrize("profile", PROFILES)
def test_every_value_of_a_profile_is_explained(profile: str) -> None:
    limits = limits_of(profile, {})
    lines = explain(limits).splitlines()
    assert lines[0].startswith(f"{profile}: ")
    assert [line.split()[0] for line in lines[1:]] == list(PROFILES[profile])
    assert all(len(line.split()) > 4 for line in lines)


def test_values_are_shown_with_their_units() -> None:
    text = explain(limits_of("edge", {"timeout": None, "max_queue_bytes": 1000}))
    for part in ("memory_limit     128 MiB", "timeout          none", "1000 B", "5 s"):
        assert part in text


def test_an_unknown_option_names_the_nearest(small: Tokenizer) -> None:
    with pytest.raises(OptionError, match="did you mean max_queue"):
        Service(small, max_quue=5)  # type: ignore[call-arg]
    with pytest.raises(OptionError, match="'realtime'"):
        Service(small, profile="fast")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_inflight", 0), ("max_queue", -1), ("timeout", -1), ("timeout", "1"), ("grace", True),
        ("tables", "huge"), ("memory_limit", 0), ("threads", 0), ("inline_bytes", 1.5),
    ],
)  # fmt: skip
def test_a_wrong_value_is_an_error_that_names_the_option(
    small: Tokenizer, name: str, value: object
) -> None:
    with pytest.raises(OptionError, match=name):
        Service(small, **{name: value})  # type: ignore[arg-type]


def test_limits_cannot_be_changed(small: Tokenizer) -> None:
    service = Service(small, profile="realtime", max_queue=7)
    assert (service.limits.max_queue, service.limits.timeout) == (7, 0.1)
    with pytest.raises(AttributeError):
        service.limits.max_queue = 8  # type: ignore[misc]


def test_the_guard_releases_first_and_comes_back_below_the_limit() -> None:
    resident, released = [100], [0]
    guard = MemoryGuard(1000, lambda: resident[0])
    guard.hooks.append(lambda: released.append(1))
    assert not guard.look()
    resident[0] = 1001
    assert guard.look()
    assert len(released) == 2
    resident[0] = 980  # below the limit, but not by enough
    assert guard.look()
    resident[0] = 900
    assert not guard.look()
    guard.hooks.append(lambda: resident.__setitem__(0, 500))
    resident[0] = 2000
    assert not guard.look()  # what the hook released was enough


def test_resident_memory_is_measured() -> None:
    measured = resident_bytes()
    assert measured is None or measured > 10_000_000


def test_a_process_above_its_limit_sheds_load_until_it_is_below(small: Tokenizer) -> None:
    async def main() -> None:
        async with Service(small, memory_limit=1 << 50) as service:
            resident = [1 << 51]
            released = asyncio.Event()
            service._guard._resident = lambda: resident[0]
            service._guard.hooks.append(released.set)
            await asyncio.wait_for(released.wait(), 30)
            with pytest.raises(Overloaded) as refused:
                await service.encode("hello")
            assert refused.value.reason == "memory"
            assert service.stats()["shed"] == "memory"
            resident[0] = 0
            while service.stats()["shed"]:
                await asyncio.sleep(0.01)
            assert len(await service.encode("hello")) == 1
            assert service.stats()["memory"]["releases"] >= 1

    asyncio.run(main())


def test_a_service_that_nobody_asks_gives_its_tables_back(
    small_json: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with Service(str(small_json)) as service:
            await service.encode("hello world")
            assert service.memory()["tables"] > 0
            await asyncio.sleep(1)
            assert service.memory()["tables"] > 0  # a minute is not over
            monkeypatch.setattr(ticker, "IDLE_SECONDS", 0.01)
            deadline = time.monotonic() + 30
            while service.memory()["tables"]:
                assert time.monotonic() < deadline
                await asyncio.sleep(0.01)
            assert len(await service.encode("hello")) == 1

    asyncio.run(main())
