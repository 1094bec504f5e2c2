"""Compare what Python and the npm package make of tokenizer.json files, field by field.

    python wasm/tools/compare_definitions.py FILES...   # .json or .json.xz; a folder is searched

The package must be built: `npm ci && npm run build` in wasm/. Where tokenmill.wasm is in wasm/dist,
the compiled models are compared as well.
"""

from __future__ import annotations

import lzma
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.wasm.definitions import ROOT, compare


def main(arguments: list[str]) -> int:
    """Compare file by file, so that large ones are not in memory together."""
    failed = 0
    for path in _files(arguments):
        text = path.read_bytes()
        source = lzma.decompress(text) if path.suffix == ".xz" else text
        found = compare({path.parent.name: source}, ROOT / "dist")
        print(f"{'differs' if found else 'equal  '}  {path}")  # noqa: T201
        for difference in found:
            print(f"    {difference}")  # noqa: T201
        failed += bool(found)
    return failed


def _files(arguments: list[str]) -> list[Path]:
    found: list[Path] = []
    for argument in map(Path, arguments):
        found += sorted(argument.rglob("tokenizer.json*")) if argument.is_dir() else [argument]
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) > 0)
