"""The RWKV world vocabulary, lines of `id literal length` -> TokenizerSpec."""

from __future__ import annotations

import ast
import re

from tokenmill._errors import LoadError
from tokenmill._load.fields import shown
from tokenmill._spec import LongestMatchModel, TokenizerSpec

_LINE = re.compile(rb"""(\d{1,8}) (b?(?:'.*'|".*")) (\d{1,8})""")
_LARGEST_ID = 1 << 24


def is_world_vocabulary(text: bytes) -> bool:
    """Tell whether the first line is an id, a Python literal and a length."""
    return _LINE.fullmatch(text[:4096].split(b"\n", 1)[0].rstrip()) is not None


def read_world_vocabulary(text: bytes, name: str) -> TokenizerSpec:
    r"""Read lines such as `256 b'\xff' 1` and `257 '\t\t' 2`."""
    found: dict[bytes, int] = {}
    ids: set[int] = set()
    for number, line in enumerate(text.split(b"\n"), start=1):
        if line.strip():
            token, token_id = _read_line(line.strip(), number)
            if token in found or token_id in ids:
                problem = f"expected every token and every id once, got {shown(line)} again"
                raise LoadError(problem, line=number)
            found[token] = token_id
            ids.add(token_id)
    missing = [byte for byte in range(256) if bytes([byte]) not in found]
    if missing:
        problem = f"expected a token for every byte, {len(missing)} are missing"
        raise LoadError(f"{problem}, got none for 0x{missing[0]:02x}")
    tokens: list[bytes | None] = [None] * (1 + max(found.values()))
    for token, token_id in found.items():
        tokens[token_id] = token
    return TokenizerSpec(
        name=name, kind="longest_match", model=LongestMatchModel(tuple(tokens)), reference="python"
    )


def _read_line(line: bytes, number: int) -> tuple[bytes, int]:
    parts = _LINE.fullmatch(line)
    try:
        value = None if parts is None else ast.literal_eval(parts[2].decode())
    except (SyntaxError, ValueError, UnicodeDecodeError, MemoryError):
        value = None
    if parts is None or not isinstance(value, (str, bytes)):
        problem = f"expected an id, a literal and a length, got {shown(line)}"
        raise LoadError(problem, line=number)
    try:
        token = value if isinstance(value, bytes) else value.encode()
    except UnicodeEncodeError as error:
        problem = f"expected text, got a lone surrogate in {shown(line)}"
        raise LoadError(problem, line=number) from error
    if not token or len(token) != int(parts[3]) or int(parts[1]) >= _LARGEST_ID:
        problem = f"expected {len(token)} bytes and an id below {_LARGEST_ID}, got {shown(line)}"
        raise LoadError(problem, line=number)
    return token, int(parts[1])
