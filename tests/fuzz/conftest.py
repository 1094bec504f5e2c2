"""Begins to build the fuzz programs before the first test of any folder runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.fuzz.building import ROOT, Build

if TYPE_CHECKING:
    from pathlib import Path

PROGRAMS = (
    "fuzz_encode", "fuzz_read", "fuzz_share", "fuzz_threads", "fuzz_view", "fuzz_wire",
)  # fmt: skip
_BUILD = pytest.StashKey[Build]()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Begin if a test that was selected needs them."""
    needed = any("program" in getattr(item, "fixturenames", ()) for item in session.items)
    if needed and not session.config.option.collectonly:
        build = Build(ROOT / "build" / "fuzz", "address,undefined", PROGRAMS)
        session.config.stash[_BUILD] = build
        session.config.add_cleanup(build.stop)


@pytest.fixture(scope="session")
def program(request: pytest.FixtureRequest) -> Path:
    """The fuzz target of encoding; the others are next to it."""
    return request.config.stash[_BUILD].wait() / "fuzz_encode"
