"""Sources and recipes as people write them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow
import pytest

from tokenmill import OptionError, Source, TooManyBadRecords, pack, stream
from tokenmill._cli import main
from tokenmill._mill.plan.recipe import read_recipe
from tokenmill._mill.plan.sources import as_sources

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    lines = [json.dumps({"text": f"document {number}"}) for number in range(20)]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join([*lines, "{broken", ""]))
    return path


def test_a_source_of_one_path_needs_no_tuple() -> None:
    assert Source("a.jsonl") == Source(("a.jsonl",))  # type: ignore[arg-type]


def test_a_weight_is_kept_as_it_is_written() -> None:
    assert Source(("a",), weight=0.1).weight == "0.1"  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="above 0"):
        Source(("a",), weight="-1")


@pytest.mark.parametrize("suffix", [".yaml", ".toml"])
def test_a_recipe_says_all_of_a_command(corpus: Path, tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("tomllib" if suffix == ".toml" else "yaml")
    output, recipe = tmp_path / "packed", tmp_path / f"recipe{suffix}"
    yaml = f"output: {output}\nprogress: none\ncontext_length: 8\nsources:\n  - path: {corpus}\n"
    toml = f'output = "{output}"\nprogress = "none"\ncontext_length = 8\n'
    toml += f'[[sources]]\npath = "{corpus}"\n'
    recipe.write_text(yaml if suffix == ".yaml" else toml)
    assert main(["pack", "--recipe", str(recipe)]) == 0
    manifest = json.loads((output / "manifest.json").read_text())
    assert (manifest["documents"]["out"], manifest["context_length"]) == (20, 8)


def test_an_option_that_there_is_not_is_no_default(corpus: Path, tmp_path: Path) -> None:
    slip: Any = {"context_lenght": 64}
    more: Any = {"verbose": True}
    with pytest.raises(OptionError, match=r"'context_lenght'; hint: did you mean context_length\?"):
        pack(corpus, output=tmp_path / "out", **slip)
    with pytest.raises(OptionError, match=r"'verbose'; hint: one of bos, context_length, "):
        stream(corpus, **more)
    assert not (tmp_path / "out").exists()


def test_a_dataset_of_several_splits_is_no_source() -> None:
    rows = pyarrow.table({"text": ["a"]})
    with pytest.raises(OptionError, match=r"got the splits 'train', 'test'; hint: choose one"):
        as_sources({"train": rows, "test": rows})


def test_an_unknown_key_of_a_recipe_is_named(tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_text("sources: [a]\ncontext: 8\n")
    with pytest.raises(OptionError, match="unknown key 'context'"):
        read_recipe(str(tmp_path / "r.yaml"))


def test_without_an_output_the_command_is_wrong(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["pack", str(corpus), "--context-length", "8"])
    assert "--output" in capsys.readouterr().err


def test_what_is_past_the_budget_stands_in_the_quarantine(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(TooManyBadRecords):
        pack(corpus, output=tmp_path / "o", context_length=8, max_bad=0)
    (line,) = (tmp_path / "o" / "quarantine.jsonl").read_text().splitlines()
    assert (json.loads(line)["line"], json.loads(line)["reason"]) == (21, "bad_json")
    assert not (tmp_path / "o" / "manifest.json").exists()
    assert pack(corpus, output=tmp_path / "o", context_length=8).documents["out"] == 20
