"""Which targets a processor gets, by what it and the system say."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]

# Bits by the manuals of Intel and AMD, written down apart from core/simd/cpu.cpp.
POPCNT, OSXSAVE, AVX = 1 << 23, 1 << 27, 1 << 28  # leaf 1, ecx
BMI1, AVX2, BMI2 = 1 << 3, 1 << 5, 1 << 8  # leaf 7, ebx
AVX512 = 1 << 16 | 1 << 17 | 1 << 30 | 1 << 31  # leaf 7, ebx: F, DQ, BW, VL
VBMI = 1 << 1 | 1 << 6  # leaf 7, ecx: VBMI, VBMI2
LZCNT = 1 << 5  # leaf 80000001, ecx
YMM, ZMM = 0b110, 0b1110_0110  # what the system saves, xgetbv(0); always with bit 0

HASWELL = (POPCNT | OSXSAVE | AVX, BMI1 | AVX2 | BMI2, 0, LZCNT, 1 | YMM)
ZEN4 = (POPCNT | OSXSAVE | AVX, BMI1 | AVX2 | BMI2 | AVX512, VBMI, LZCNT, 1 | YMM | ZMM)


@pytest.fixture(scope="module")
def targets_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[str]]:
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler: install one (the command c++) to test how targets are chosen")
    program = tmp_path_factory.mktemp("cpu") / "targets_of"
    sources = [ROOT / "tests/platform/targets_of.cpp", ROOT / "core/simd/cpu.cpp"]
    command: list[str | Path] = [
        compiler,
        "-std=c++20",
        f"-I{ROOT / 'core'}",
        *sources,
        "-o",
        program,
    ]
    subprocess.run(command, check=True)  # noqa: S603

    def ask(*facts: int) -> list[str]:
        words = [f"{fact:x}" for fact in facts]
        run = subprocess.run(  # noqa: S603
            [program, *words], check=True, capture_output=True, text=True
        )
        return run.stdout.split()

    return ask


def test_a_processor_gets_all_that_it_can_run(targets_of: Callable[..., list[str]]) -> None:
    assert targets_of(*HASWELL) == ["avx2"]
    assert targets_of(*ZEN4) == ["avx2", "avx512"]
    assert targets_of(0, 0, 0, 0, 0) == []


@pytest.mark.parametrize(
    ("fact", "bit"),
    [(0, POPCNT), (0, OSXSAVE), (0, AVX), (1, BMI1), (1, AVX2), (1, BMI2), (3, LZCNT), (4, 4)],
)
def test_avx2_needs_every_bit(targets_of: Callable[..., list[str]], fact: int, bit: int) -> None:
    for machine in (HASWELL, ZEN4):
        without = [*machine]
        without[fact] &= ~bit
        assert targets_of(*without) == []


@pytest.mark.parametrize(
    ("fact", "bit"),
    [(1, 1 << 16), (1, 1 << 17), (1, 1 << 30), (1, 1 << 31), (2, 1 << 1), (2, 1 << 6)],
)
def test_avx512_needs_every_bit(targets_of: Callable[..., list[str]], fact: int, bit: int) -> None:
    without = [*ZEN4]
    without[fact] &= ~bit
    assert targets_of(*without) == ["avx2"]


def test_registers_that_the_system_does_not_save_are_not_used(
    targets_of: Callable[..., list[str]],
) -> None:
    """Some hypervisors pass the bits of AVX-512 on without saving its registers."""
    assert targets_of(*ZEN4[:4], 1 | YMM) == ["avx2"]
    for missing in (5, 6, 7):
        assert targets_of(*ZEN4[:4], (1 | YMM | ZMM) & ~(1 << missing)) == ["avx2"]
    assert targets_of(*ZEN4[:4], 1) == []
