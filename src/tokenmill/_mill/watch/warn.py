"""Warnings of what is only for show: they never stop a run."""

from __future__ import annotations

import warnings


def say(problem: str) -> None:
    """Warn; a filter that turns warnings into errors must not stop the run."""
    try:
        warnings.warn(problem, RuntimeWarning, stacklevel=2)
    except RuntimeWarning:
        return
