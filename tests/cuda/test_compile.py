"""The kernels through the device's own compiler, down to machine code: it needs no device."""

from __future__ import annotations

import ctypes
import importlib.util
from functools import cache
from pathlib import Path

import pytest
from tests.cuda.test_bounds import facts_by_name

from tokenmill._cuda.cupy_backend import OLDEST
from tokenmill._cuda.source import kernel_text
from tokenmill._cuda.tables import defines

# One rule of every family, and the splits without one.
SPLITS = ("gpt2", "llama3", "o200k", "kimi", "words")


@cache
def nvrtc() -> ctypes.CDLL:
    """The library of `nvidia-cuda-nvrtc`, which is among the packages of the tests on Linux."""
    for package in ("nvidia.cu13", "nvidia.cuda_nvrtc"):
        try:
            found = importlib.util.find_spec(package)
        except ModuleNotFoundError:
            continue
        for place in (found.submodule_search_locations or []) if found else []:
            for library in sorted(Path(place).glob("lib/libnvrtc.so.*")):
                # It opens this one by name, which finds it only if it is loaded already.
                for part in library.parent.glob("libnvrtc-builtins.so.*"):
                    ctypes.CDLL(str(part))
                return ctypes.CDLL(str(library))
    pytest.skip("the package nvidia-cuda-nvrtc is not installed; hint: pip install '.[test]'")


def architectures(library: ctypes.CDLL) -> list[int]:
    """What the compiler knows, as 90 for compute capability 9.0."""
    count = ctypes.c_int()
    assert library.nvrtcGetNumSupportedArchs(ctypes.byref(count)) == 0
    known = (ctypes.c_int * count.value)()
    assert library.nvrtcGetSupportedArchs(known) == 0
    return list(known)


def compile_by_nvrtc(library: ctypes.CDLL, text: str, options: list[str]) -> str:
    """Compile a program; return the messages of the compiler, an empty text if all is well.

    For "sm_90" that includes the assembler, which refuses a kernel with more than 48 KB of shared
    memory: what every launch may have.
    """
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


def options_for(name: str, architecture: int) -> list[str]:
    macros = [f"-D{key}={value}" for key, value in defines(facts_by_name(name)).items()]
    return ["--std=c++17", f"--gpu-architecture=sm_{architecture}", *macros]


@pytest.mark.parametrize(
    "name",
    [name if name == "kimi" else pytest.param(name, marks=pytest.mark.slow) for name in SPLITS],
)
def test_nvrtc_takes_the_kernels(name: str) -> None:
    assert compile_by_nvrtc(nvrtc(), kernel_text(), options_for(name, 90)) == ""


@pytest.mark.slow
def test_nvrtc_takes_the_kernels_for_old_and_new_devices() -> None:
    library = nvrtc()
    known = architectures(library)
    major = ctypes.c_int()
    assert library.nvrtcVersion(ctypes.byref(major), ctypes.byref(ctypes.c_int())) == 0
    oldest = int(OLDEST[major.value])
    assert min(a for a in known if a >= int(min(OLDEST.values()))) == oldest
    for architecture in {oldest, 80, 100, max(known)}:
        assert compile_by_nvrtc(library, kernel_text(), options_for("kimi", architecture)) == ""


def test_too_much_shared_memory_does_not_compile() -> None:
    text = 'extern "C" __global__ void f(int* p) { __shared__ int s[12289]; s[*p] = 1; *p = s[0]; }'
    assert "shared data" in compile_by_nvrtc(nvrtc(), text, ["--gpu-architecture=sm_90"])
    small = text.replace("12289", "12288")
    assert compile_by_nvrtc(nvrtc(), small, ["--gpu-architecture=sm_90"]) == ""
