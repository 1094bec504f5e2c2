"""What Python and the npm package make of a tokenizer.json, as named fields that compare.

Both write the same form: for each field its name, a NUL, the size in eight bytes, and the bytes.
Numbers are little-endian. A file that is refused has the fields of the error instead.
"""

from __future__ import annotations

import json
import subprocess
import sys
import zlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest.mock import patch

import numpy as np

from tokenmill import _core
from tokenmill._compile import model as compiler
from tokenmill._compile.definition import SplitStage
from tokenmill._errors import LoadError, PatternError, UnsupportedTokenizer
from tokenmill._load.fields import parse_json
from tokenmill._load.tokenizer_json import read_tokenizer_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tokenmill._compile.definition import Definition

ROOT = Path(__file__).resolve().parents[2] / "wasm"
SCRIPT = ROOT / "tools" / "dump_definitions.mjs"
MODULE = "tokenmill.wasm"
Fields = dict[str, bytes]

_KINDS: dict[str, str] = {
    "token_offsets": "<u4",  # 64 bits in Python; the sizes are the same
    "decode_offsets": "<u4",
}


class Difference(NamedTuple):
    """A file whose two outcomes are not the same."""

    file: str
    field: str
    python: bytes | None
    package: bytes | None

    def __str__(self) -> str:
        ours, theirs = (_excerpt(self.python, self.package), _excerpt(self.package, self.python))
        return f"{self.file}: {self.field}: Python has {ours}, the package has {theirs}"


@dataclass
class Asked:
    """The core for the compiler: keeps what it is asked, for the package and the comparison."""

    answers: dict[str, str] = field(default_factory=dict)
    keeps_models: bool = False
    model: bytes = b""

    def normalize(self, program: bytes, text: bytes) -> bytes:
        """Ask, and keep the answer."""
        answer = _core.normalize(program, text)
        self.answers[f"{program.hex()}:{text.hex()}"] = answer.hex()
        return answer

    def compile_model(self, definition: Definition) -> Definition:
        """Compile it without the packed file, and return what was compiled."""
        if self.keeps_models or definition.vocab.kind == "wordpiece":  # it checks a limit
            head = definition.meta.partition(b"\0")[0]
            self.model = _core.compile_model(replace(definition, meta=head))
        return definition


def compare(
    sources: Mapping[str, bytes], package: Path, *, timeout: float = 600
) -> list[Difference]:
    """Compare the outcomes for files by name; `package` holds the compiled package.

    With the module in it, the compiled models are compared, too.
    """
    asked = Asked(keeps_models=(package / MODULE).exists())
    expected = {name: python_fields(source, name, asked) for name, source in sources.items()}
    got = package_fields(sources, asked, package, timeout)
    found: list[Difference] = []
    for name, ours in expected.items():
        theirs = got[name]
        if _is_same_error(ours, theirs):
            continue
        found += (
            Difference(name, field, ours.get(field), theirs.get(field))
            for field in dict.fromkeys([*ours, *theirs])
            if ours.get(field) != theirs.get(field)
        )
    return found


def python_fields(source: bytes, name: str, asked: Asked) -> Fields:
    """Return what the Python package makes of a file."""
    if source.lstrip()[:1] != b"{":
        return _error_fields(LoadError("expected a tokenizer.json, got something else", offset=0))
    try:
        data = parse_json(source)
        if "model" not in data:
            raise LoadError('expected "model", got the members ' + str(sorted(data)[:8]))
        spec = read_tokenizer_json(data, source, name)
        with patch.object(compiler, "_core", asked):
            definition: Any = compiler.compile_spec(spec)
    except (LoadError, UnsupportedTokenizer, PatternError) as error:
        return _error_fields(error)
    fields = dict(_definition_fields(definition))
    return fields | {"model": asked.model} if asked.keeps_models else fields


def package_fields(
    sources: Mapping[str, bytes], asked: Asked, package: Path, timeout: float
) -> dict[str, Fields]:
    """Return what the npm package makes of files; one process for all of them."""
    with TemporaryDirectory() as directory:
        folder = Path(directory)
        names = list(sources)
        for number, name in enumerate(names):
            (folder / f"{number}.json").write_bytes(sources[name])
        jobs = {"names": names, "normalized": asked.answers}
        (folder / "jobs").write_text(json.dumps(jobs), encoding="utf-8")
        command = ["node", str(SCRIPT), str(package), str(folder)]
        subprocess.run(command, check=True, timeout=timeout)  # noqa: S603
        return {
            name: _parse((folder / f"{number}.fields").read_bytes())
            for number, name in enumerate(names)
        }


def _parse(data: bytes) -> Fields:
    fields: Fields = {}
    at = 0
    while at < len(data):
        end = data.index(b"\0", at)
        size = int.from_bytes(data[end + 1 : end + 9], "little")
        fields[data[at:end].decode()] = data[end + 9 : end + 9 + size]
        at = end + 9 + size
    return fields


def _error_fields(error: LoadError | UnsupportedTokenizer | PatternError) -> Fields:
    fields = {"error": type(error).__name__, "problem": error.problem}
    if isinstance(error, UnsupportedTokenizer):
        fields["reasons"] = "\n".join(error.reasons)
    elif isinstance(error, LoadError):
        fields["place"] = f"{error.line} {error.offset}"
    else:
        fields["place"] = f"{error.offset}"
    return {key: value.encode("utf-8", "surrogatepass") for key, value in fields.items()}


def _definition_fields(definition: Definition) -> Iterator[tuple[str, bytes]]:
    for name, value in vars(definition).items():
        if name == "vocab":
            yield from _prefixed("vocab", value)
        elif name == "rule":
            yield from [("rule", b"None")] if value is None else _prefixed("rule", value)
        elif name == "stages":
            yield "stages", str(len(value)).encode()
            for number, stage in enumerate(value):
                yield from _prefixed(f"stages[{number}]", stage)
        elif name == "added_tokens":
            yield "added_tokens", str(len(value)).encode()
            for number, token in enumerate(value):
                yield from _prefixed(f"added_tokens[{number}]", token)
        elif name == "meta":
            head, _, packed = value.partition(b"\0")
            yield "meta", head
            yield "source", zlib.decompress(packed)
        else:
            yield name, _plain(name, value)


def _prefixed(prefix: str, value: object) -> Iterator[tuple[str, bytes]]:
    for name, item in vars(value).items():
        if isinstance(value, SplitStage) and name == "next":
            assert item.shape[1] == value.n_classes + 1
        yield f"{prefix}.{name}", _plain(name, item)


def _plain(name: str, value: object) -> bytes:
    if isinstance(value, np.ndarray):
        kind = _KINDS.get(name, value.dtype.newbyteorder("<").str)
        return np.ascontiguousarray(value).astype(kind).tobytes()
    return value if isinstance(value, bytes) else str(value).encode()


# Messages whose words come from Python's own libraries, and depend on its version.
_FREE_WORDS = [
    b"expected base64, got",
    b"expected replacements in UTF-8, got",
    b"max_",  # the core says what it expected of max_characters
]
_COLUMN = b"expected JSON, got"
_HAS_OTHER_JSON_ERRORS = sys.version_info >= (3, 13)


def _is_same_error(ours: Fields, theirs: Fields) -> bool:
    """Whether both are the same error in other words."""
    if "error" not in ours or ours["error"] != theirs.get("error"):
        return False
    words = [*_FREE_WORDS, _COLUMN] if _HAS_OTHER_JSON_ERRORS else _FREE_WORDS
    return any(word in ours["problem"] and word in theirs["problem"] for word in words)


def _excerpt(value: bytes | None, other: bytes | None) -> str:
    """Show a value from where it begins to differ."""
    if value is None or other is None:
        return "nothing" if value is None else repr(value[:200])
    pairs = zip(value, other, strict=False)
    place = next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(value), len(other)))
    return f"{value[max(0, place - 20) : place + 60]!r} at {place} of {len(value)}"
