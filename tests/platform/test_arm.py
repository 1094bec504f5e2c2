"""The core on aarch64, built with zig and run under qemu: a short form of tools/check_arm.

The long form compares with all reference libraries over real tokenizers and corpora.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.models import compile_payload, pair_model, spec_of
from tests.split.patterns import CHAINS

from tokenmill import _core

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools"))
import _arm_parity  # noqa: E402
import _arm_tools  # noqa: E402

KINDS = ("gpt2", "llama3", "o200k", "deepseek")
NEEDED = ("zig", "cmake", "ninja", "qemu-aarch64-static")
TEXTS = (
    "The quick brown fox isn't here; it's 42 or 1,234.5 metres away.\n\n  Twice\tas far...\r\n",
    "\u4e2d\u6587\u7684\u6587\u672c\uff0c\u6ca1\u6709\u7a7a\u683c\u3002" * 9 + "abc 1\u4e2d2",
    "\ud55c\uad6d\uc5b4 \ubb38\uc7a5\uc785\ub2c8\ub2e4. \u041f\u0440\u0438\u0432\u0435\u0442, "
    "\u043c\u0438\u0440! caf\u00e9 na\u00efve \u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22",
    "\U0001f600\U0001f468\u200d\U0001f469 \u00a0\u2003\u3000 \u0663\u0664 if(x){return y[i]!=0;}",
    "supercalifragilisticexpialidocious antidisestablishmentarianism " * 3,
    "",
)


@pytest.fixture(scope="module")
def tools() -> _arm_tools.Tools:
    found = _arm_tools.find_tools()
    if problem := found.missing(*NEEDED):
        pytest.skip(problem)
    return found


@pytest.fixture(scope="module")
def built(tools: _arm_tools.Tools) -> Path:
    return _arm_tools.build(tools, ROOT / "build" / "arm")


def documents() -> list[bytes]:
    """Return texts whose blocks start at every offset, and one for several threads."""
    texts = [text.encode() for text in TEXTS]
    joined = b" ".join(texts)
    shifted = (joined[n:].decode(errors="ignore").encode() for n in range(1, 67))
    return [*texts, *shifted, joined * (1_200_000 // len(joined))]


@pytest.mark.slow  # it builds the core first
@pytest.mark.parametrize("pattern", KINDS)
def test_ids_are_those_of_this_machine(
    tools: _arm_tools.Tools, built: Path, tmp_path: Path, pattern: str
) -> None:
    payload = compile_payload(spec_of(pair_model(0.5), CHAINS[pattern]))
    model, out = tmp_path / "model.mill", tmp_path / "ids"
    model.write_bytes(bytes(_arm_parity.HEADER) + payload)
    texts = documents()
    paths = [str(model), str(_arm_parity.write_documents(texts, tmp_path / "texts")), str(out)]
    ids, offsets = _core.Model(payload).encode_batch(texts, 1, 32, False, 0, 0)
    expected = [ids[offsets[n] : offsets[n + 1]] for n in range(len(texts))]
    for target in _arm_tools.TARGETS:
        for threads in ("1", "2"):
            ran = _arm_tools.run_arm(
                tools, built / "encode_file", *paths, "--threads", threads, target=target
            )
            assert (ran.returncode, ran.stdout) == (0, f"{target}\n"), ran.stderr
            assert _arm_parity.mismatches(expected, _arm_parity.read_ids(out)) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [("fuzz_encode", "--seconds", "5", "--least", "50"), ("fuzz_read", "2000"), ("fuzz_threads",)],
    ids=lambda command: str(command[0]),
)
def test_targets_agree_on_made_inputs(
    tools: _arm_tools.Tools, built: Path, command: tuple[str, ...]
) -> None:
    ran = _arm_tools.run_arm(tools, built / command[0], *command[1:])
    assert ran.returncode == 0, ran.stderr[-5000:]


def test_missing_tools_are_named_with_the_way_to_get_them() -> None:
    missing = _arm_tools.Tools({"cmake": "/usr/bin/cmake"}).missing(*NEEDED)
    assert missing == (
        "zig is missing; hint: pip install ziglang==0.17.0; ninja is missing; hint: pip install "
        "ninja; qemu-aarch64-static is missing; hint: apt install qemu-user-static"
    )


def test_ids_that_differ_are_found() -> None:
    same, other = [[1, 2], [3]], [[1, 2], [4]]
    assert _arm_parity.mismatches(same, same) == []
    assert _arm_parity.mismatches(same, other) == [1]
    assert _arm_parity.mismatches(same, same[:1]) == [0, 1]
