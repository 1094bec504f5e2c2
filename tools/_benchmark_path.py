"""Import this first to import from benchmarks/compare/encode, which defines the documents."""

from __future__ import annotations

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks" / "compare" / "encode"
sys.path.append(str(FOLDER))
