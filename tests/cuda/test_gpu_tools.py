"""The tools for a machine with a device, tried on the simulated one: runs, tables and failures."""

from __future__ import annotations

import argparse
import json
import sys
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.mill.tuned import shrink

from tokenmill._cuda.encoder import GpuEncoder
from tokenmill._mill.device import choose as device_module

if TYPE_CHECKING:
    from tests.cuda.conftest import Bench

TOOLS = Path(__file__).resolve().parents[2] / "tools"
TEXT = "".join(f"document {i} has some words and {i * 7919} " for i in range(900)).encode()
HANGS = "import time; time.sleep(600)"


@pytest.fixture(autouse=True)
def _tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TOOLS))


def load_tool(name: str) -> Any:
    """Import a tool that has no suffix."""
    loader = SourceFileLoader(f"tool_{name}", str(TOOLS / name))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    sys.modules[loader.name] = module  # dataclasses look for it
    loader.exec_module(module)
    return module


def test_packs_in_turn_and_a_summary(
    plain: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shrink(monkeypatch.setattr)
    encoder = GpuEncoder(plain.gpu())
    monkeypatch.setattr(device_module, "_open_device", lambda *_: encoder)
    mill, packs = import_module("_gpu_mill"), import_module("_gpu_packs")
    monkeypatch.setattr(mill, "MEMORY", tmp_path)
    text = import_module("_gpu_texts").cut("text", np.frombuffer(TEXT, np.uint8), 50)
    ways = ["cpu", "cuda", "cuda, ids in files", "cuda, 3 workers"]
    with mill.JsonlFiles(text, 100_000) as files:
        found = dict(packs.time_packs(files, plain.tokenizer, ways, 2))
    assert len(found) == 2 * len(ways) + 1
    runs = {name: facts for name, facts in found.items() if name != "medians"}
    assert all(facts["same as the first"] for facts in runs.values())
    assert not runs["round 0: cpu"]["ids in memory"]
    assert not runs["round 1: cuda, ids in files"]["ids in memory"]
    for name in ("round 0: cuda", "round 1: cuda, 3 workers"):
        assert [one["parts refused"] for one in runs[name]["ids in memory"]] == [0]
        assert runs[name]["seconds in native calls"]["blocks"] > 0
        assert "Run._tokenize_all" in runs[name]["moments"]
    everything = {"machine": {}, "sections": {"pack": found}, "parts": {}}
    lines = import_module("_gpu_summary").summary(json.loads(json.dumps(everything)))
    assert len([line for line in lines if "same bytes" in line]) == len(ways)
    assert not [line for line in lines if "OTHER" in line]


def test_a_part_that_fails_or_hangs_costs_only_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = load_tool("gpu_run")
    monkeypatch.setattr(tool, "MEMORY", tmp_path)
    (tmp_path / "tokenmill-left").mkdir()
    given = argparse.Namespace(output=tmp_path / "out", seconds=1e6)
    driver = tool.Driver(given)
    finding = {"machine": {"device": "none"}, "sections": {"rows": {"a": False}}}
    works = f"import pathlib, sys; pathlib.Path(sys.argv[1]).write_text({json.dumps(finding)!r})"
    scripts = {"works": works, "fails": "raise SystemExit(3)", "hangs": HANGS, "last": works}
    driver.check = lambda part, output, _: [sys.executable, "-c", scripts[part.name], str(output)]
    for name in scripts:
        driver.run(tool.Part(name, (), 2.0 if name == "hangs" else 600.0))
    given.seconds = 0.0
    driver.run(tool.Part("too late", (), 600.0))
    assert driver.failed == ["fails", "hangs", "too late"]
    stored = json.loads((tmp_path / "out" / "gpu.json").read_text())
    assert stored["sections"] == {"rows": {"a": False}}
    assert driver.found["parts"]["hangs"]["failed"] == "stopped: it took too long"
    assert driver.found["parts"]["fails"]["failed"] == "exit 3"
    assert "FAILED too late" in capsys.readouterr().out
    assert not (tmp_path / "tokenmill-left").exists()
    driver.log.close()


def test_the_parts_of_a_dry_run_need_no_device() -> None:
    tool = load_tool("gpu_run")
    assert all("cpu" in part.words for part in tool.parts(dry=True))
    names = [part.name for part in tool.parts(dry=False)]
    assert names[-1] == "exact"  # it takes the time that is left
    assert {"pack", "fresh", "rows", "doors", "bench", "sanitizer"} < set(names)


def test_lines_are_compared_in_lent_lanes_and_in_others(plain: Bench) -> None:
    tool = import_module("_gpu_exact")
    assert tool.check_lines(plain.gpu(), np.frombuffer(TEXT.replace(b" has", b"\n"), np.uint8)) == 0
