"""What the tests of models share."""

from __future__ import annotations

import pytest

from tokenmill._model.shared import SHELF


@pytest.fixture(autouse=True)
def _no_models_of_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load and compile as a new process would: equal content is one model otherwise."""
    monkeypatch.setattr(SHELF, "_models", {})
