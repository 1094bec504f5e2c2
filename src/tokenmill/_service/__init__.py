"""service: tokenizers -> `Service`, their calls for asyncio with bounds, deadlines and counts."""

from __future__ import annotations

from tokenmill._service.counters import Counters
from tokenmill._service.explain import explain
from tokenmill._service.limits import Limits
from tokenmill._service.models import ModelState
from tokenmill._service.service import Service

__all__ = ["Counters", "Limits", "ModelState", "Service", "explain"]
