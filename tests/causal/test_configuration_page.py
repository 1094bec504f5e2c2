"""The reference page of the configuration is what the schema says now."""

from __future__ import annotations

import runpy
from pathlib import Path

from tokenmill._causal.schema import KEYS

ROOT = Path(__file__).resolve().parent.parent.parent


def test_the_page_is_what_the_tool_writes() -> None:
    tool = runpy.run_path(str(ROOT / "tools/gen_configuration.py"))
    written = tool["PAGE"].read_text(encoding="utf-8")
    assert written == tool["page"](), "run tools/gen_configuration.py"


def test_the_page_has_every_key_with_what_is_allowed() -> None:
    page = (ROOT / "docs/reference/configuration.md").read_text(encoding="utf-8")
    assert [key.name for key in KEYS if f"### `{key.name}`" not in page] == []
    assert [key.name for key in KEYS if key.allowed_words not in page] == []
