"""The workflows parse, pin what they use, and run files that are there."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_is_yaml_and_pins_what_it_uses(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        uses = [job.get("uses"), *(step.get("uses") for step in job.get("steps", ()))]
        for name in filter(None, uses):
            assert name.startswith("./") or re.search(r"@v[0-9]", name), name
        assert "uses" in job or job["timeout-minutes"] <= 180


def test_files_that_workflows_run_are_there() -> None:
    for path in WORKFLOWS:
        text = path.read_text(encoding="utf-8")
        for name in re.findall(r"(?:tests|tools|[.]github)/[\w/]+[.](?:py|yml)", text):
            assert (ROOT / name).exists(), name


def test_workflows_follow_the_schema() -> None:
    found = Path(sys.executable).with_name("check-jsonschema")
    command = str(found) if found.exists() else shutil.which("check-jsonschema")
    if command is None:
        pytest.skip("no check-jsonschema: pip install check-jsonschema")
    given = [command, "--builtin-schema", "vendor.github-workflows", *map(str, WORKFLOWS)]
    subprocess.run(given, check=True)  # noqa: S603


def test_a_wheel_does_its_work() -> None:
    """The program that each wheel must pass before it is published."""
    program = ROOT / "tests" / "platform" / "smoke.py"
    done = subprocess.run(  # noqa: S603
        [sys.executable, str(program)], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("works: ")
