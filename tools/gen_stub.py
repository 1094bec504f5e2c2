"""Write src/tokenmill/_core.pyi from the built module; `--print` shows it instead."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from nanobind.stubgen import StubGen

# Results are made by numpy's C interface, so the module itself only knows that they are objects.
# Methods of one name return the same.
RESULTS = {
    "encode": "NDArray[numpy.uint32]",
    "encode_cached": "NDArray[numpy.uint32] | None",
    "encode_batch": "tuple[NDArray, NDArray[numpy.int64]]",
    "encode_parts": "tuple[NDArray[numpy.uint32], int]",
    "encode_into": "NDArray[numpy.int64]",
    "count_batch": "NDArray[numpy.int64]",
    "encode_lines": f"tuple[NDArray{6 * ', NDArray[numpy.int64]'}] | int",
    "encode_started": "tuple[bool, int, int, {0}, int, bool, {0}]".format("NDArray[numpy.int64]"),
    "piece_table": "NDArray[numpy.uint64]",
    "encode_texts": "tuple[NDArray, NDArray[numpy.int64]]",
    "encode_jsonl": f"tuple[NDArray{5 * ', NDArray[numpy.int64]'}]",
    "read_jsonl": f"tuple[NDArray[numpy.uint8]{5 * ', NDArray[numpy.int64]'}]",
    "read_lines": "tuple[NDArray[numpy.uint8], int]",
    "check_texts": "NDArray[numpy.int64]",
    "join_texts": "tuple[NDArray[numpy.uint8], NDArray[numpy.int64]]",
    "offsets": "NDArray[numpy.int64]",
    "finish_copies": "NDArray[numpy.int64]",
    "append": "tuple[int, NDArray[numpy.uint32]]",
    "replace_tail": "tuple[int, NDArray[numpy.uint32]]",
    "ids": "NDArray[numpy.uint32]",
    "split_text": "tuple[NDArray[numpy.int64], NDArray[numpy.int64]]",
}
STUB = Path(__file__).resolve().parent.parent / "src" / "tokenmill" / "_core.pyi"


def generate() -> str:
    """Return the text of the stub of the module that is installed now."""
    import tokenmill._core as core  # late, so that --help works without a build

    generator = StubGen(core)
    generator.put(core)
    text = str(generator.get())
    for method, result in RESULTS.items():
        signature = rf"(def {method}\(.*\)) -> .*?:( \.\.\.)?$"
        text, count = re.subn(signature, rf"\1 -> {result}:\2", text, flags=re.MULTILINE)
        if count == 0:
            raise ValueError(f"{method}: expected a method of this name, got none")
    return text


def main() -> int:
    """Write or print the stub."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--print", action="store_true", help="to stdout instead of the file")
    if parser.parse_args().print:
        sys.stdout.write(generate())
    else:
        STUB.write_text(generate())
    return 0


if __name__ == "__main__":
    sys.exit(main())
