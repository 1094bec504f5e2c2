"""The architecture, written once and checked: who may include whom in core/."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CORE = ROOT / "core"

ROOMS = {  # row order = data flow
    "base": [],
    "simd": ["base"],
    "unicode": ["base"],
    "vocab": ["base"],
    "normalize": ["base", "simd", "unicode"],
    "split": ["base", "simd", "unicode"],
    "encode": ["base", "simd", "vocab"],
    "decode": ["base", "vocab"],
    "pack": ["base"],
    "read": ["base", "simd", "unicode"],
    "pipeline": [
        "base", "simd", "unicode", "vocab", "normalize", "split", "encode", "decode",
    ],
    "mill": ["base", "read", "pipeline"],
    "cache": ["base", "split", "pipeline"],
    "device": ["base", "read", "pipeline", "mill"],
    "wire": ["base", "simd", "unicode", "read"],
}  # fmt: skip
VOCABULARY = {"base", "simd"}  # every header is public
FUSES = {"pipeline"}  # may open the *-inl.h of a room too
# Doors of their own: a device compiler reads them alone, so they know nothing but each other.
FREESTANDING = {
    "base/device.h", "base/hash.h", "base/utf8.h", "read/record-inl.h", "read/value.h",
    "split/facts.h", "vocab/junction.h", "vocab/pairs.h", "vocab/trie.h",
}  # fmt: skip
VENDORS = re.compile(
    r"\b(gpt|openai|tiktoken|hugging ?face|llama|qwen|deepseek|mistral|tekken|kimi|olmo|falcon"
    r"|starcoder|smollm|gemma|bert|cl100k|o200k|r50k|p50k|gigatoken)",
    re.IGNORECASE,
)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
PYTHON = re.compile(r"<(Python|nanobind)\b")
MAX_LINES = 400


def sources(folder: Path = CORE) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.suffix in {".h", ".cpp", ".inc", ".cu"})


def all_sources() -> list[Path]:
    """Return every file that people write code in: C++, kernels and Python, tests included."""
    names = ("core", "bind", "capi", "include", "src", "tests", "tools", "benchmarks", "wasm")
    folders = [ROOT / name for name in names]
    files = [file for folder in folders for file in sources(folder)]
    files += [file for folder in folders for file in sorted(folder.rglob("*.py"))]
    return [file for file in files if not {"generated", "node_modules"} & set(file.parts)]


def is_door(room: str, target: str) -> bool:
    other, _, rest = target.partition("/")
    if target in FREESTANDING or rest == f"{other}.h":
        return True
    return room in FUSES and rest.endswith("-inl.h")


def wrong_includes(core: Path) -> list[str]:
    wrong = []
    for source in sources(core):
        room = source.relative_to(core).parts[0]
        for target in INCLUDE.findall(source.read_text(encoding="utf-8")):
            other = target.partition("/")[0]
            if other == room:
                continue
            if other not in ROOMS.get(room, []):
                wrong.append(f"{source.relative_to(core)}: {room} may not know {other}")
            elif other not in VOCABULARY and not is_door(room, target):
                wrong.append(
                    f"{source.relative_to(core)}: enter {other} by its door {other}/{other}.h, "
                    f"not {target}"
                )
    return wrong


def test_rooms_include_only_the_doors_of_rooms_below() -> None:
    wrong = wrong_includes(CORE)
    assert not wrong, "\n".join(wrong)


def test_freestanding_headers_know_only_each_other() -> None:
    for header in sorted(FREESTANDING):
        known = set(INCLUDE.findall((CORE / header).read_text(encoding="utf-8")))
        assert known <= FREESTANDING, header


def test_every_freestanding_header_is_used_by_a_kernel() -> None:
    kernels = ROOT / "src" / "tokenmill" / "_cuda" / "kernels"
    waiting = [p for p in kernels.iterdir() if p.suffix in {".h", ".cu"}]
    used: set[str] = set()
    while waiting:
        for target in INCLUDE.findall(waiting.pop().read_text(encoding="utf-8")):
            if target in FREESTANDING and target not in used:
                used.add(target)
                waiting.append(CORE / target)
    assert used == FREESTANDING


def test_freestanding_headers_are_installed_for_the_device_kernels() -> None:
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    listed = re.search(r"foreach\(header IN ITEMS ([^)]*)\)", text)
    assert listed
    assert set(listed[1].split()) == FREESTANDING


def test_freestanding_headers_compile_for_a_device(tmp_path: Path) -> None:
    compiler = shutil.which(os.environ.get("CXX", "g++"))
    assert compiler, "no C++ compiler"
    source = tmp_path / "device.cpp"
    texts = {header for header in FREESTANDING if header.endswith("-inl.h")}
    lines = [f'#include "{header}"' for header in sorted(FREESTANDING - texts)]
    for text in sorted(texts):  # inside of a namespace that sees its room
        lines.append(f"namespace tokenmill::{text.partition('/')[0]} {{")
        lines += [f'#include "{text}"', "}"]
    source.write_text("\n".join([*lines, ""]))
    # What a run-time device compiler gives them: C++17, no standard headers, these markers.
    flags = ["-std=c++17", "-nostdinc", "-nostdinc++", "-D__CUDACC_RTC__", "-D__host__=",
             "-D__device__=", "-Wall", "-Werror", "-fsyntax-only"]  # fmt: skip
    subprocess.run([compiler, *flags, f"-I{CORE}", str(source)], check=True)  # noqa: S603


def test_every_folder_of_the_core_is_a_room() -> None:
    folders = {p.name for p in CORE.iterdir() if p.is_dir() and any(p.rglob("*.h"))}
    assert folders <= set(ROOMS)


@pytest.mark.parametrize(
    ("file", "text", "complaint"),
    [
        ("base/a.h", '#include "vocab/vocab.h"', "base may not know vocab"),
        ("encode/a.cpp", '#include "split/split.h"', "encode may not know split"),
        ("decode/a.cpp", '#  include "vocab/table.h"', "by its door vocab/vocab.h"),
        ("split/a.cpp", '#include "normalize/normalize-inl.h"', "split may not know normalize"),
        ("cellar/a.h", '#include "base/types.h"', "cellar may not know base"),
    ],
)
def test_a_wrong_include_is_found(tmp_path: Path, file: str, text: str, complaint: str) -> None:
    (tmp_path / file).parent.mkdir()
    (tmp_path / file).write_text(text)
    assert len(wrong_includes(tmp_path)) == 1
    assert complaint in wrong_includes(tmp_path)[0]


def test_right_includes_pass(tmp_path: Path) -> None:
    (tmp_path / "pipeline").mkdir()
    (tmp_path / "pipeline" / "a.h").write_text(
        '#include "split/split-inl.h"\n#include "simd/block.h"\n#include "vocab/vocab.h"\n'
    )
    assert wrong_includes(tmp_path) == []


@pytest.mark.parametrize("folder", ["capi", "wasm/native"])
def test_other_languages_enter_the_core_by_its_doors(folder: str) -> None:
    wrong = []
    for source in sources(ROOT / folder):
        for target in INCLUDE.findall(source.read_text(encoding="utf-8")):
            room, _, rest = target.partition("/")
            is_own = not rest or target == "tokenmill.h"
            if not is_own and room not in VOCABULARY and not is_door("capi", target):
                wrong.append(f"{source.relative_to(ROOT)}: {target}")
    assert wrong == []


def test_core_knows_no_python() -> None:
    assert [str(s) for s in sources() if PYTHON.search(s.read_text(encoding="utf-8"))] == []


def test_core_knows_no_vendor() -> None:
    found = [
        f"{source.relative_to(ROOT)}:{number}: {line.strip()}"
        for source in sources()
        for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), start=1)
        if VENDORS.search(line)
    ]
    found += [str(s.relative_to(ROOT)) for s in sources() if VENDORS.search(s.stem)]
    assert not found, "\n".join(found)


def test_sources_are_ascii() -> None:
    wrong = [f for f in all_sources() if not f.read_bytes().isascii()]
    assert [str(f.relative_to(ROOT)) for f in wrong] == []


def test_files_stay_short() -> None:
    lines = {f: len(f.read_text(encoding="utf-8").splitlines()) for f in all_sources()}
    assert {str(f.relative_to(ROOT)): n for f, n in lines.items() if n > MAX_LINES} == {}


def test_the_architecture_page_names_every_room() -> None:
    page = (ROOT / "docs/develop/architecture.md").read_text(encoding="utf-8")
    package = ROOT / "src" / "tokenmill"
    rooms = [p.name for p in package.iterdir() if (p / "__init__.py").exists()]
    modules = [p.name for p in package.glob("*.py") if not p.name.startswith("__")]
    mill = [p.stem for p in (package / "_mill").rglob("*.py") if not p.name.startswith("__")]
    inside = [p.name for p in (package / "_mill").iterdir() if (p / "__init__.py").exists()]
    wanted = [f"`{room}/`" for room in rooms + inside]
    wanted += [f"`{module}`" for module in modules]
    missing = [name for name in wanted if name not in page]
    missing += [name for name in mill if f"`{name}`" not in page and f"`{name}.py`" not in page]
    missing += [f"core/{room}" for room in ROOMS if f"`{room}`" not in page]
    assert missing == []
