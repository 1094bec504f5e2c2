"""One server that many tests ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.serve.server import Server, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def server(small_json: Path) -> Iterator[Server]:
    with serving(f"one={small_json}", f"two={small_json}", "--max-model-len", "4096") as started:
        yield started
