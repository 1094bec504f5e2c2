"""What an agent sends to its model: tool schemas, then calls and what the tools answered."""

from __future__ import annotations

import json
import random
from typing import Any

from tokenmill._bench.texts import text_of

_TOOLS = ("read_file", "search_code", "run_command", "list_folder", "edit_file", "fetch_page")
_FOLDERS = ("src", "tests", "docs", "core", "config", "scripts")
_NAMES = ("parser", "session", "report", "router", "cache", "index", "worker", "schema")


def agent_trace(size: int, seed: int = 0) -> str:
    """Return about `size` bytes: schemas first, as in every request, then turns."""
    chance = random.Random(f"agent {size} {seed}")  # noqa: S311 -- test data, not a secret
    parts = [json.dumps({"tools": [_schema(name) for name in _TOOLS]}, indent=2)]
    length = len(parts[0])
    while length < size:
        turn = _turn(chance, len(parts))
        parts.append(turn)
        length += len(turn.encode())
    return "\n".join(parts).encode()[:size].decode(errors="ignore")


def _schema(name: str) -> dict[str, Any]:
    verb, what = name.split("_")
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": f"{verb.capitalize()} a {what} of the project and return the result.",
            "parameters": {
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": f"Which {what}."},
                    "limit": {"type": "integer", "minimum": 1, "default": 200},
                },
                "required": ["path"],
            },
        },
    }


def _turn(chance: random.Random, number: int) -> str:
    path = f"{chance.choice(_FOLDERS)}/{chance.choice(_NAMES)}_{chance.randrange(100)}.py"
    thought = text_of("english", chance.randint(80, 400), number)
    call = {
        "role": "assistant",
        "content": " ".join(thought.split()),
        "tool_calls": [
            {
                "id": f"call_{chance.getrandbits(64):016x}",
                "type": "function",
                "function": {
                    "name": chance.choice(_TOOLS),
                    "arguments": json.dumps({"path": path, "limit": chance.randint(1, 400)}),
                },
            }
        ],
    }
    lines = text_of("code", chance.randint(300, 2_000), number).splitlines()
    answer = "\n".join(f"{at:5d}\t{line}" for at, line in enumerate(lines, chance.randint(1, 900)))
    return json.dumps(call) + "\n" + json.dumps({"role": "tool", "content": answer})
