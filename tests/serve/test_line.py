"""The line of requests that wait for the event loop, and the gate of the large ones."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any, cast

import pytest
from tests.serve.server import read_from, serving

from tokenmill import Service, Tokenizer
from tokenmill._serve import line as line_module
from tokenmill._serve.gate import Gate
from tokenmill._serve.line import Line

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from tokenmill._serve.connection import Connection

HEAD = b"POST /count HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\n"


class Clock:
    """The time that a line sees: it passes only when a test lets it."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


CLOCK = Clock()


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.setattr(line_module, "perf_counter", CLOCK)
    return CLOCK


class Waiter:
    """As much of a connection as a line needs; its turn takes so many seconds."""

    def __init__(self, number: int, turns: list[int], seconds: float) -> None:
        self._number = number
        self._turns = turns
        self._seconds = seconds

    def take_turn(self, waited: float) -> None:
        assert waited >= 0
        CLOCK.now += self._seconds
        self._turns.append(self._number)


def on_a_line(test: Callable[[Line], Coroutine[Any, Any, None]], **limits: Any) -> Service:
    service = Service(Tokenizer.load(), **limits)

    async def main() -> None:
        await test(Line(service))

    asyncio.run(main())
    return service


def used_up(line: Line) -> None:
    """Use the time of this round."""
    while line.has_time():
        CLOCK.now += 1e-4


def wait_in(line: Line, number: int, turns: list[int], seconds: float = 0.0) -> None:
    line.add(cast("Connection", Waiter(number, turns, seconds)), 100)


def test_those_who_wait_are_answered_in_order_over_several_rounds() -> None:
    async def test(line: Line) -> None:
        turns: list[int] = []
        used_up(line)
        for number in range(30):
            wait_in(line, number, turns, 0.0004)
        rounds = 0
        while len(line):
            await asyncio.sleep(0)
            rounds += 1
        assert turns == list(range(30))
        assert rounds == 10  # 12 ms of work; a round of a millisecond ends with its third request
        assert line.has_time()

    service = on_a_line(test)
    assert service.counters.as_dict(["m"])["line"]["count"] == 30


@pytest.mark.parametrize(("gap", "most"), [(0.0, 3), (0.004, 30), (1.0, 75)])
def test_rounds_grow_with_what_reading_and_refusing_took(
    clock: Clock, gap: float, most: int
) -> None:
    """Three times as long, and 30 ms at most: so requests keep most of the time."""

    async def test(line: Line) -> None:
        turns: list[int] = []
        used_up(line)
        for number in range(200):
            wait_in(line, number, turns, 0.0004)
        await asyncio.sleep(0)
        answered = len(turns)
        clock.now += gap
        await asyncio.sleep(0)
        assert len(turns) - answered == most

    on_a_line(test)


def test_a_pause_of_the_machine_does_not_make_the_line_short(clock: Clock) -> None:
    async def test(line: Line) -> None:
        turns: list[int] = []
        used_up(line)
        for number in range(100):
            wait_in(line, number, turns, 0.0001)
        while len(line):
            await asyncio.sleep(0)
            clock.now += 0.5  # between the rounds
        used_up(line)
        waiting = 0
        while line.refusal(1) is None and waiting < 1000:
            wait_in(line, waiting, turns)
            waiting += 1
        assert waiting >= 150  # 50 ms of 0.1 ms each, and of other work for as long again

    on_a_line(test, timeout=0.1, max_queue=1_000_000)


def test_a_round_of_the_line_is_no_turn_of_the_service() -> None:
    async def main() -> None:
        async with Service(Tokenizer.load()) as service:
            line = Line(service)
            door = service._open_door()
            door._spent = 1.0  # as after many small requests
            assert line.has_time()  # plans a round
            assert line.has_time()
            assert door._spent == 0.0

    asyncio.run(main())


def test_a_request_that_fails_does_not_keep_those_behind_it() -> None:
    class Broken(Waiter):
        def take_turn(self, waited: float) -> None:
            raise RuntimeError("a bug")

    async def test(line: Line) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        turns: list[int] = []
        used_up(line)
        line.add(cast("Connection", Broken(0, turns, 0.0)), 100)
        wait_in(line, 1, turns)
        for _ in range(5):
            await asyncio.sleep(0)
        assert turns == [1]

    on_a_line(test)


def test_refusals_have_a_share_of_the_time_and_then_requests_wait() -> None:
    async def test(line: Line) -> None:
        turns: list[int] = []
        used_up(line)
        refused = []
        for number in range(1000):
            answer = line.refusal(100)
            refused.append(answer is not None)
            if answer is None:
                wait_in(line, number, turns)
            else:
                assert (answer.status, answer.headers) == (503, b"retry-after: 1\r\n")
        assert refused[:8] == [False] * 8  # there is room
        first = refused.index(True)
        assert first == 8
        assert 50 < sum(refused) < 500
        assert not any(refused[-100:])

    service = on_a_line(test, max_queue=8)
    assert 50 < service.counters.as_dict(["m"])["rejected"]["max_queue"] < 500


@pytest.mark.parametrize(
    ("limits", "reason"),
    [({"max_queue_bytes": 100_000}, "max_queue_bytes"), ({"timeout": 0.01}, "max_queue")],
)
def test_bytes_and_seconds_of_the_line_have_a_hard_bound(
    limits: dict[str, Any], reason: str
) -> None:
    async def test(line: Line) -> None:
        turns: list[int] = []
        used_up(line)
        for number in range(100):  # half a millisecond each is learnt here
            wait_in(line, number, turns, 0.0005)
        while len(line):
            await asyncio.sleep(0)
        used_up(line)
        waiting = 0
        for number in range(5000):
            if line.refusal(100) is None:
                wait_in(line, number, turns)
                waiting += 1
        assert 1 <= waiting <= 1000

    service = on_a_line(test, max_queue=1_000_000, **limits)
    assert service.counters.as_dict(["m"])["rejected"][reason] >= 4000


def test_a_request_whose_time_is_over_is_told_so() -> None:
    async def test(line: Line) -> None:
        assert line.late(0.4) is None
        late = line.late(0.6)
        assert late is not None
        assert late.status == 504

    service = on_a_line(test, timeout=0.5)
    statuses = service.counters.as_dict(["m"])["models"]["m"]["encode"]["status"]
    assert statuses["timeout"] == 1


def test_the_gate_refuses_what_would_wait_for_half_of_its_time() -> None:
    async def test() -> None:
        service = Service(Tokenizer.load(), timeout=0.2, threads=1, max_queue=1000)
        gate = Gate(service)
        large = 100_000
        for _ in range(40):  # one answer in 5 ms is learnt here
            assert gate.refusal(large) is None
            gate.enter(large)
            time.sleep(0.005)
            gate.leave(large)
        inside = 0
        while gate.refusal(large) is None and inside < 1000:
            gate.enter(large)
            inside += 1
        assert 1 <= inside <= 25  # 0.1 s of 5 ms each, or of more on a busy machine
        for _ in range(inside):
            gate.leave(large)
        assert gate.refusal(large) is None

    asyncio.run(test())


def test_probes_are_never_refused_and_all_others_are_answered(small_json: Path) -> None:
    body = json.dumps({"prompt": "hello world " * 400}).encode()
    whole = HEAD + b"content-length: %d\r\n\r\n" % len(body) + body
    with serving(str(small_json), "--max-queue", "2") as server:
        made = [server.connect() for _ in range(200)]
        for _ in range(5):
            for one in made[:180]:
                one.sendall(whole)
            for one in made[180:]:
                one.sendall(b"GET /livez HTTP/1.1\r\nhost: t\r\n\r\n")
            statuses = [read_from(one.makefile("rb")).status for one in made]
            assert set(statuses[:180]) <= {200, 503}
            assert 200 in statuses[:180]
            assert statuses[180:] == [200] * 20
        for one in made:
            one.close()
