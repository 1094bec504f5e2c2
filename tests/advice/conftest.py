"""Fixtures of the causes."""

from __future__ import annotations

from tests.advice.causes import folder, recorded

__all__ = ["folder", "recorded"]
