"""Health: thresholds, hysteresis and events, on recorded traces."""

from __future__ import annotations

import pytest

from tokenmill._service.health import USUAL_RULES, Health, HealthRule

RULE = HealthRule("queue_seconds", trips=0.25, clears=0.05, action="shed", for_seconds=2.0)


def replay(health: Health, values: list[float]) -> list[str]:
    """Feed one value a second; return `second+`, `second-` for rules that tripped and cleared."""
    return [
        f"{second}{'+' if event.began else '-'}"
        for second, value in enumerate(values)
        for event in health.observe(float(second), {"queue_seconds": value})
    ]


def as_text(health: Health) -> str:
    return f"{health.state}: {', '.join(sorted(health.actions))}"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.0] * 10, []),
        ([1.0] * 10, ["2+"]),
        ([1.0, 1.0, 0.2, 1.0, 1.0, 1.0], ["5+"]),  # a dip starts the count again
        ([1.0] * 4 + [0.0] * 4, ["2+", "6-"]),
        ([1.0] * 4 + [0.1] * 20, ["2+"]),  # between the thresholds nothing changes
        ([1.0] * 4 + [0.0, 0.0, 0.1, 0.0, 0.0, 0.0], ["2+", "9-"]),
        ([1.0] * 3 + [0.0] * 3 + [1.0] * 3, ["2+", "5-", "8+"]),
        ([0.25] * 10, []),  # at the threshold is not above it
    ],
)
def test_a_rule_trips_and_clears_only_after_its_time(
    values: list[float], expected: list[str]
) -> None:
    assert replay(Health([RULE]), values) == expected


def test_a_flickering_measure_changes_nothing() -> None:
    assert replay(Health([RULE]), [1.0, 0.0] * 50) == []


def test_a_missing_measure_leaves_the_rule_as_it_is() -> None:
    health = Health([RULE])
    replay(health, [1.0] * 3)
    assert health.observe(100.0, {}) == []
    assert health.state == "degraded"


def test_the_state_names_the_worst_action() -> None:
    ready = HealthRule("errors", 0.5, 0.1, "fail_readiness", for_seconds=0.0, why="it fails")
    health = Health([RULE, ready])
    assert (health.state, health.reasons) == ("ok", [])
    health.observe(0.0, {"queue_seconds": 9.0})
    health.observe(2.0, {"queue_seconds": 9.0})
    assert as_text(health) == "degraded: shed"
    health.observe(3.0, {"errors": 1.0})
    assert as_text(health) == "failing: fail_readiness, shed"
    assert health.reasons[1] == "errors above 0.5: it fails"
    health.observe(4.0, {"errors": 0.0})
    assert as_text(health) == "degraded: shed"


def test_events_are_kept_and_counted() -> None:
    health = Health([HealthRule("memory", 0.9, 0.8, "shrink_cache", for_seconds=0.0)])
    for second in range(300):
        health.observe(float(second), {"memory": 0.95 if second % 2 == 0 else 0.5})
    assert (len(health.events), health.event_count) == (100, 300)
    assert str(health.events[-2]) == "health: start shrink_cache: memory is 0.95"
    assert health.as_json()["events"][-1] == {
        "at": 299.0,
        "measure": "memory",
        "value": 0.5,
        "action": "shrink_cache",
        "began": False,
    }


def test_the_usual_rules_clear_below_where_they_trip_and_say_why() -> None:
    for rule in USUAL_RULES:
        assert rule.clears < rule.trips
        assert rule.why
