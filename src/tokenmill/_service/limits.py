"""What a service may use, as one frozen value: four profiles, and options that change them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal

from tokenmill._calls.options import thread_count
from tokenmill._checks import one_of, whole_number
from tokenmill._errors import OptionError

if TYPE_CHECKING:
    from typing_extensions import TypedDict

    class LimitOptions(TypedDict, total=False):
        """Options of a service that change its profile; `Limits` explains them."""

        threads: int | None
        max_inflight: int | None
        max_queue: int
        max_queue_bytes: int
        max_text_bytes: int
        timeout: float | None
        inline_bytes: int
        short_bytes: int
        tables: str
        cache_bytes: int
        memory_limit: int | None
        nice: int
        grace: float


KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
TABLES = ("usual", "small", "tiny")


@dataclass(frozen=True)
class Limits:
    """Limits of a service: `limits_of` makes them of a profile's name and options.

    `threads`: of one call with many texts or one long one; None is every CPU of the process.
    `max_inflight`: requests on threads at once, None is `threads`; one thread more is kept for
    short ones. `max_queue`, `max_queue_bytes`: requests that wait for them, and their bytes, for
    each of the lanes (inline, short, long). `max_text_bytes`: of one request. `timeout`: seconds
    from the call to the answer, None for no limit. `inline_bytes`: up to here a request runs on
    the event loop. `short_bytes`: up to here it is a short one. `tables`: of the tokenizers that
    the service loads. `cache_bytes`: of the segment cache, 0 is none. `memory_limit`: resident
    bytes of the process, None for no limit. `nice`: priority that threads give up for the event
    loop (Linux). `grace`: seconds that `close` waits for requests.
    """

    profile: str
    threads: int
    max_inflight: int
    max_queue: int
    max_queue_bytes: int
    max_text_bytes: int
    timeout: float | None
    inline_bytes: int
    short_bytes: int
    tables: Literal["usual", "small", "tiny"]
    cache_bytes: int
    memory_limit: int | None
    nice: int
    grace: float

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return asdict(self)


PROFILES: dict[str, LimitOptions] = {
    "training": {
        "threads": None,
        "max_inflight": None,
        "max_queue": 4096,
        "max_queue_bytes": GIB,
        "max_text_bytes": GIB,
        "timeout": None,
        "inline_bytes": 32 * KIB,
        "short_bytes": 256 * KIB,
        "tables": "usual",
        "cache_bytes": 0,
        "memory_limit": None,
        "nice": 0,
        "grace": 60.0,
    },
    "inference": {
        "threads": None,
        "max_inflight": None,
        "max_queue": 1024,
        "max_queue_bytes": 256 * MIB,
        "max_text_bytes": 64 * MIB,
        "timeout": 10.0,
        "inline_bytes": 32 * KIB,
        "short_bytes": 256 * KIB,
        "tables": "usual",
        "cache_bytes": 0,
        "memory_limit": None,
        "nice": 1,
        "grace": 10.0,
    },
    "realtime": {
        "threads": None,
        "max_inflight": None,
        "max_queue": 128,
        "max_queue_bytes": 16 * MIB,
        "max_text_bytes": 4 * MIB,
        "timeout": 0.1,
        "inline_bytes": 16 * KIB,
        "short_bytes": 64 * KIB,
        "tables": "usual",
        "cache_bytes": 0,
        "memory_limit": 512 * MIB,
        "nice": 5,
        "grace": 2.0,
    },
    "edge": {
        "threads": 1,
        "max_inflight": 1,
        "max_queue": 16,
        "max_queue_bytes": 4 * MIB,
        "max_text_bytes": MIB,
        "timeout": 5.0,
        "inline_bytes": 16 * KIB,
        "short_bytes": 64 * KIB,
        "tables": "tiny",
        "cache_bytes": 0,
        "memory_limit": 128 * MIB,
        "nice": 1,
        "grace": 5.0,
    },
}


def limits_of(profile: str, options: LimitOptions) -> Limits:
    """Return the limits of a profile with some of them changed; OptionError names what is wrong."""
    given: dict[str, Any] = {**PROFILES[one_of("profile", profile, PROFILES)]}
    for name, value in options.items():
        if name not in given:
            near = get_close_matches(name, given, n=1)
            hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(given)}"
            raise OptionError(f"a service has no option {name!r}", where=name, hint=hint)
        given[name] = value
    given["threads"] = thread_count(given["threads"])
    if given["max_inflight"] is None:
        given["max_inflight"] = given["threads"]
    return _checked(Limits(profile, **given))


def _checked(limits: Limits) -> Limits:
    for name in ("max_inflight", "max_queue_bytes", "max_text_bytes"):
        whole_number(name, getattr(limits, name))
    for name in ("max_queue", "inline_bytes", "short_bytes", "cache_bytes", "nice"):
        whole_number(name, getattr(limits, name), least=0)
    if limits.memory_limit is not None:
        whole_number("memory_limit", limits.memory_limit, hint="None for no limit")
    one_of("tables", limits.tables, TABLES)
    _seconds("timeout", limits.timeout)
    _seconds("grace", limits.grace)
    return limits


def _seconds(name: str, value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
        raise OptionError(f"expected seconds, 0 or more, got {value!r}", where=name)
    return float(value)
