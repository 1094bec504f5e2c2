"""The kernels through the device's own compiler, where one is installed: it needs no device."""

from __future__ import annotations

import ctypes
import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.cuda.test_bounds import facts_by_name

from tokenmill._cuda.source import kernel_text
from tokenmill._cuda.tables import defines

MOST_SHARED = 48 * 1024  # bytes of shared memory that every launch may have


def nvrtc() -> ctypes.CDLL | None:
    """The library of `nvidia-cuda-nvrtc`, of any major version."""
    for package in ("nvidia.cuda_nvrtc", "nvidia.cu13"):
        try:
            found = importlib.util.find_spec(package)
        except ModuleNotFoundError:
            continue
        for place in (found.submodule_search_locations or []) if found else []:
            for library in sorted(Path(place).glob("lib/libnvrtc.so.*")):
                return ctypes.CDLL(str(library))
    return None


def compile_by_nvrtc(library: ctypes.CDLL, text: str, options: list[str]) -> str:
    """Compile a program; returns what the compiler says, an empty text if all is well."""
    program = ctypes.c_void_p()
    source = text.encode()
    made = library.nvrtcCreateProgram(ctypes.byref(program), source, b"kernels.cu", 0, None, None)
    assert made == 0
    words = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    failed = library.nvrtcCompileProgram(program, len(options), words)
    size = ctypes.c_size_t()
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, log)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return log.value.decode() or "failed without a word" if failed else ""


def shared_bytes(folder: Path, nvcc: str, text: str, options: list[str]) -> dict[str, int]:
    """Shared memory of every kernel, as the assembler counts it."""
    source = folder / "kernels.cu"
    source.write_text("#define __CUDACC_RTC__ 1\n" + text)  # no headers of the host
    command = [nvcc, "-std=c++17", "-arch=sm_90", "-cubin", "-Xptxas", "-v", *options]
    done = subprocess.run(  # noqa: S603
        [*command, "-o", str(folder / "kernels.cubin"), str(source)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    parts = re.split(r"Compiling entry function '(\w+)'", done.stderr)
    sizes = (re.search(r"(\d+) bytes smem", report) for report in parts[2::2])
    return dict(zip(parts[1::2], (int(s[1]) if s else 0 for s in sizes), strict=True))


@pytest.mark.parametrize(
    "name", [*(pytest.param(name, marks=pytest.mark.slow) for name in ("gpt2", "llama3")), "kimi"]
)
def test_nvrtc_takes_the_kernels(name: str) -> None:
    library = nvrtc()
    if library is None:
        pytest.skip("no nvidia-cuda-nvrtc package")
    macros = [f"-D{key}={value}" for key, value in defines(facts_by_name(name)).items()]
    options = ["--std=c++17", "--gpu-architecture=compute_90", *macros]
    assert compile_by_nvrtc(library, kernel_text(), options) == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["llama3", "kimi"])
def test_shared_memory_fits_every_launch(tmp_path: Path, name: str) -> None:
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("no nvcc")
    macros = [f"-D{key}={value}" for key, value in defines(facts_by_name(name)).items()]
    sizes = shared_bytes(tmp_path, nvcc, kernel_text(), macros)
    assert {"bounds_masks", "bounds_scan"} <= sizes.keys()
    assert max(sizes.values()) <= MOST_SHARED
