"""The documentation is true: its Python runs, its links lead somewhere, its lists are full."""

from __future__ import annotations

import os
import re
import runpy
import shlex
from pathlib import Path
from unittest.mock import patch

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

import tokenmill
import tokenmill.cuda
from tokenmill._cli import _parser
from tokenmill._cli._parser import with_hyphens
from tokenmill._load.known import KNOWN
from tokenmill._model.shared import SHELF

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
SNIPPETS = [page for page in PAGES if "```python" in page.read_text(encoding="utf-8")]
SKETCH = re.compile(r"^```py\n(.*?)^```", re.MULTILINE | re.DOTALL)  # needs what tests do without
SKETCHES = [page for page in PAGES if SKETCH.search(page.read_text(encoding="utf-8"))]
SHELL = re.compile(r"^```(?:sh|bash)\n(.*?)^```", re.MULTILINE | re.DOTALL)
ENDS = {"|", ">", "2>", "&", "&&", ";"}  # of a command, where a word of a shell begins
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGES_WITH_LINKS = [*PAGES, ROOT / "benchmarks/README.md", ROOT / "examples/data/README.md"]
COMMAND_PAGES = [
    page
    for page in [*PAGES, ROOT / "wasm/README.md", ROOT / "deploy/README.md"]
    if re.search(r"^(.*[|;] )?tokenmill ", page.read_text(encoding="utf-8"), re.MULTILINE)
]
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
MAX_README_LINES = 90
MAX_LINES_BEFORE_CODE = 20
MAX_GLOSSARY_WORDS = 15


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", SNIPPETS, ids=name_of)
def test_the_snippets_of_a_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(SHELF, "_models", {})  # a snippet is read as a program of its own
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


def commands_of(page: Path) -> list[list[str]]:
    """Return the words after the command `tokenmill` in what a page tells people to type."""
    found = []
    for block in SHELL.findall(page.read_text(encoding="utf-8")):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            begins = [0, *(i + 1 for i, word in enumerate(words) if word in ENDS)]
            for begin, end in zip(begins, [*begins[1:], len(words) + 1], strict=True):
                command = words[begin : end - 1]
                while command and "=" in command[0]:  # a variable for this command
                    del command[0]
                if command[:1] == ["tokenmill"]:
                    found.append(command[1:])
    return found


@pytest.mark.parametrize("page", COMMAND_PAGES, ids=name_of)
def test_the_commands_of_a_page_are_understood(page: Path) -> None:
    for words in commands_of(page):
        _parser().parse_args(with_hyphens(words))


def test_commands_are_found_in_pages(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```sh\nzcat a.gz | tokenmill pack - \\\n  -o b > c  # so\nA=1 tokenmill info\n```\n"
    )
    assert commands_of(page) == [["pack", "-", "-o", "b"], ["info"]]


def anchors(page: Path) -> set[str]:
    """The names that GitHub gives to the headings of a page."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading.strip()).replace(" ", "-") for heading in plain}


def broken_links(page: Path) -> list[str]:
    """The relative links of a page that lead to no file, or to no heading of it."""
    found = []
    for target, anchor in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        other = page.parent / target if target else page
        if "://" in target:
            continue
        if not other.exists() or (anchor and anchor not in anchors(other)):
            found.append(f"{target}#{anchor}")
    return found


@pytest.mark.parametrize("page", PAGES_WITH_LINKS, ids=name_of)
def test_the_links_of_a_page_lead_to_files_and_headings(page: Path) -> None:
    assert broken_links(page) == []


def test_broken_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("# Options of `call(x, *, y)`\n```sh\n# not a heading\n```\n")
    page = tmp_path / "a.md"
    page.write_text("[1](b.md#options-of-callx--y) [2](b.md#not-a-heading) [3](c.md) [4](#none)")
    assert broken_links(page) == ["b.md#not-a-heading", "c.md#", "#none"]


def test_the_readme_is_short_and_shows_code_early() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= MAX_README_LINES
    assert lines.index("```python") < MAX_LINES_BEFORE_CODE
    assert {"make demo", "make test"} <= {line[:9] for line in lines}


def test_the_index_links_to_every_page() -> None:
    index = ROOT / "docs/index.md"
    listed = {
        (index.parent / target).resolve()
        for target, _ in LINK.findall(index.read_text(encoding="utf-8"))
    }
    pages = {page for page in PAGES if page.is_relative_to(index.parent) and page != index}
    assert pages - listed == set()


def test_the_glossary_is_short_and_has_each_word_once() -> None:
    text = (ROOT / "docs/concepts/glossary.md").read_text(encoding="utf-8")
    words = re.findall(r"^\| ([a-z ]+) \|", text, re.MULTILINE)[1:]  # without the heading
    assert len(words) == len(set(words)) <= MAX_GLOSSARY_WORDS


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
