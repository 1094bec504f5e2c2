"""The documentation is true: its Python runs, its links lead somewhere, its lists are full."""

from __future__ import annotations

import os
import re
import runpy
from pathlib import Path
from unittest.mock import patch

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

import tokenmill
import tokenmill.cuda
from tokenmill._cli import _parser
from tokenmill._load.known import KNOWN

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
SNIPPETS = [page for page in PAGES if "```python" in page.read_text(encoding="utf-8")]
SKETCH = re.compile(r"^```py\n(.*?)^```", re.MULTILINE | re.DOTALL)  # needs what tests do without
SKETCHES = [page for page in PAGES if SKETCH.search(page.read_text(encoding="utf-8"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
MAX_README_LINES = 150


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", SNIPPETS, ids=name_of)
def test_the_snippets_of_a_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    document = Sybil(parsers=[PythonCodeBlockParser()], path=str(ROOT)).parse(page)
    with patch.dict(os.environ):  # what a snippet sets ends with it
        for example in document.examples():
            example.evaluate()


@pytest.mark.parametrize("page", SKETCHES, ids=name_of)
def test_what_is_not_run_is_python_all_the_same(page: Path) -> None:
    for sketch in SKETCH.findall(page.read_text(encoding="utf-8")):
        compile(sketch, name_of(page), "exec")


@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_an_example_runs(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(example), run_name="__main__")
    assert "DIFFERENT" not in capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_links_of_a_page_lead_to_files(page: Path) -> None:
    targets = [t for t in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in t]
    assert [t for t in targets if not (page.parent / t).exists()] == []


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= MAX_README_LINES


def test_the_reference_lists_every_public_name_and_pattern() -> None:
    page = (ROOT / "docs/reference/api.md").read_text(encoding="utf-8")
    methods = [name for name in dir(tokenmill.Tokenizer) if not name.startswith("_")]
    wanted = [*tokenmill.__all__, *methods, *KNOWN]
    assert [name for name in wanted if not re.search(rf"\b{name}\b", page)] == []


def test_the_pages_on_gpus_list_every_name_and_reason() -> None:
    guide = (ROOT / "docs/guides/gpu.md").read_text(encoding="utf-8")
    assert [name for name in tokenmill.cuda.REASONS if f"| `{name}` |" not in guide] == []
    page = (ROOT / "docs/reference/cuda.md").read_text(encoding="utf-8")
    assert [name for name in tokenmill.cuda.__all__ if not re.search(rf"\b{name}\b", page)] == []


def test_the_reference_lists_every_option_of_the_command_line() -> None:
    page = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
    commands = next(a.choices for a in _parser()._actions if isinstance(a.choices, dict))
    options = {
        option
        for command in commands.values()
        for action in command._actions
        for option in action.option_strings
    }
    assert [name for name in [*commands, *sorted(options - {"-h"})] if name not in page] == []
