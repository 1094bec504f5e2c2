r"""Health: measures of a service against thresholds -> its state, and what to do about it.

A rule trips when its measure stays above `trips` for `for_seconds`, and clears when the measure
stays below `clears` for as long. Between the two nothing changes (hysteresis), so that a service at
its limit does not flip every second::

    measure   ___trips_______/~~~~~~~\_____________________
              ___clears_____/_________\_______  ___________
    rule        ok          | tripped          | ok
                            for_seconds        for_seconds

Nothing here reads a clock or touches a service: `Health.observe` takes both, and returns what
changed. So a recorded trace tests it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# shed: nearly no queue, so that what is taken is answered soon. Above the memory limit itself,
# MemoryGuard refuses everything at once.
Action = Literal["shed", "shrink_cache", "release_tables", "fail_readiness"]
State = Literal["ok", "degraded", "failing"]

_KEPT_EVENTS = 100


@dataclass(frozen=True, slots=True)
class HealthRule:
    """One measure, the thresholds between which it may move, and the action above them."""

    measure: str  # a key of the measures, e.g. "queue_seconds"
    trips: float
    clears: float
    action: Action
    for_seconds: float = 2.0
    why: str = ""  # one sentence for `explain` and the docs


@dataclass(frozen=True, slots=True)
class HealthEvent:
    """A rule that tripped or cleared."""

    at: float  # seconds since the epoch
    measure: str
    value: float
    action: Action
    began: bool  # False: the measure is fine again

    def __str__(self) -> str:
        verb = "start" if self.began else "stop"
        return f"health: {verb} {self.action}: {self.measure} is {self.value:.6g}"

    def as_json(self) -> dict[str, Any]:
        """Return the event as `/stats` shows it."""
        return {
            "at": self.at,
            "measure": self.measure,
            "value": self.value,
            "action": self.action,
            "began": self.began,
        }


@dataclass(slots=True)
class _RuleState:
    tripped: bool = False
    turning_since: float | None = None  # since when the measure asks for a change


# `memory` is the resident share of the memory limit, `cache_loss_seconds` what the cache cost more
# than it saved, `errors` the share of requests that failed through a fault of the service and not
# of the caller; the last two over the last ten seconds.
USUAL_RULES: tuple[HealthRule, ...] = (
    HealthRule("queue_seconds", 0.25, 0.05, "shed", why="requests wait longer than clients do"),
    HealthRule(
        "loop_lag_seconds", 0.05, 0.01, "shed", why="the event loop cannot keep up with answers"
    ),
    HealthRule("memory", 0.90, 0.80, "shrink_cache", why="memory is near its limit"),
    HealthRule("memory", 0.95, 0.85, "release_tables", why="the cache alone was not enough"),
    HealthRule(
        "cache_loss_seconds", 0.05, 0.01, "shrink_cache", why="the cache costs more than it saves"
    ),
    HealthRule(
        "errors", 0.05, 0.01, "fail_readiness", 5.0, "requests fail for a reason of this process"
    ),
    HealthRule("memory", 0.98, 0.90, "fail_readiness", 5.0, "requests go elsewhere meanwhile"),
)


@dataclass(slots=True)
class Health:
    """The state of a set of rules, and the last events."""

    rules: Sequence[HealthRule] = USUAL_RULES
    events: deque[HealthEvent] = field(default_factory=lambda: deque(maxlen=_KEPT_EVENTS))
    event_count: int = 0
    _states: list[_RuleState] = field(init=False)

    def __post_init__(self) -> None:
        self._states = [_RuleState() for _ in self.rules]

    def observe(self, now: float, measures: Mapping[str, float]) -> list[HealthEvent]:
        """Take the measures of this moment and return the rules that changed.

        A measure that is missing leaves its rules as they are.
        """
        changed = []
        for rule, state in zip(self.rules, self._states, strict=True):
            value = measures.get(rule.measure)
            if value is not None and _turns(rule, state, value, now):
                changed.append(HealthEvent(now, rule.measure, value, rule.action, state.tripped))
        self.events.extend(changed)
        self.event_count += len(changed)
        return changed

    @property
    def actions(self) -> frozenset[Action]:
        """What is being done now."""
        return frozenset(rule.action for rule in self._tripped())

    @property
    def state(self) -> State:
        """Return "failing" if readiness fails, "degraded" if anything else is being done."""
        actions = self.actions
        if "fail_readiness" in actions:
            return "failing"
        return "degraded" if actions else "ok"

    @property
    def reasons(self) -> list[str]:
        """Why the state is not "ok", a sentence a rule."""
        return [f"{rule.measure} above {rule.trips:g}: {rule.why}" for rule in self._tripped()]

    def as_json(self) -> dict[str, Any]:
        """Return the state as `/stats` shows it."""
        return {
            "state": self.state,
            "actions": sorted(self.actions),
            "reasons": self.reasons,
            "events": [event.as_json() for event in self.events],
        }

    def _tripped(self) -> Iterable[HealthRule]:
        pairs = zip(self.rules, self._states, strict=True)
        return (rule for rule, state in pairs if state.tripped)


def _turns(rule: HealthRule, state: _RuleState, value: float, now: float) -> bool:
    """Update the state of one rule; True if it tripped or cleared."""
    wants_change = value < rule.clears if state.tripped else value > rule.trips
    if not wants_change:
        state.turning_since = None
        return False
    if state.turning_since is None:
        state.turning_since = now
    if now - state.turning_since < rule.for_seconds:
        return False
    state.tripped = not state.tripped
    state.turning_since = None
    return True
