#!/usr/bin/env python3
"""Writes docs/reference/configuration.md from the schema that configurations are checked by.

python tools/gen_configuration.py
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from tokenmill._causal.schema import KEYS, SECTION

if TYPE_CHECKING:
    from tokenmill._causal.schema import Key

PAGE = Path(__file__).resolve().parent.parent / "docs/reference/configuration.md"
WIDTH = 100
EXAMPLES = {"context_length": "4096", "tokenizer_name": "my-model/tokenizer.json"}
OPENING = """\
# Configuration of `CausalLMTokenizer`

<!-- Written by tools/gen_configuration.py from the schema; change that, not this. -->

A configuration is a YAML file, a dict, keyword arguments, or a file or dict with keyword arguments
that override it. An outer key `{section}` may be there or not. A key that is not in the table, a
value that is not allowed and a required key that is missing are an `OptionError` that names the
key, the value and what is allowed.
"""
SAME = """\
The same, three times:

```python
import tokenmill

text = Path("config.yaml").read_text()
from_file = tokenmill.CausalLMTokenizer("config.yaml")
from_dict = tokenmill.CausalLMTokenizer(yaml.safe_load(text))
from_keywords = tokenmill.CausalLMTokenizer(
    context_length=4096, tokenizer_name="{name}"
)
assert from_file.config == from_dict.config == from_keywords.config

longer = tokenmill.CausalLMTokenizer("config.yaml", context_length=8192)  # keywords override
assert longer.config.context_length == 8192
```

What a call of `tokenize` may be told is in
[fine-tuning](../guides/fine-tuning.md#options-of-tokenize).
"""


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


def page() -> str:
    """Return the text of the page."""
    parts = [OPENING.format(section=SECTION), table(), example(), *map(about, KEYS)]
    return "\n".join([*parts[:2], "## Example\n", parts[2], "## The keys\n", *parts[3:]])


def table() -> str:
    """Return all keys, one a line."""
    lines = ["| key | type | default | allowed |", "|---|---|---|---|"]
    lines += [
        f"| `{k.name}` | {k.type.__name__} | {default(k)} | {k.allowed_words} |" for k in KEYS
    ]
    return "\n".join(lines) + "\n"


def about(key: Key) -> str:
    """Return the section of a key."""
    text = key.meaning
    if key.null_means:
        text += f" Absent or null: {key.null_means}."
    return f"### `{key.name}`\n\n" + "\n".join(textwrap.wrap(text, WIDTH)) + "\n"


def example() -> str:
    """Return every key in YAML, and the same in Python, which the tests run."""
    lines = [f"  {key.name}: {EXAMPLES.get(key.name, spelled(key))}" for key in KEYS]
    yaml = "\n".join([f"{SECTION}:", *lines])
    hidden = (
        "<!--- invisible-code-block: python\nfrom pathlib import Path\n\nimport yaml\n\n"
        f'Path("config.yaml").write_text("""\n{yaml}\n""")\n--->\n'
    )
    shown = f"```yaml\n{yaml}\n```\n"
    return "\n".join([shown, hidden, SAME.format(name=EXAMPLES["tokenizer_name"])])


def default(key: Key) -> str:
    """Return the default as the table shows it."""
    return "required" if key.is_required else f"`{spelled(key)}`"


def spelled(key: Key) -> str:
    """Return the default as YAML spells it."""
    if key.default is None:
        return "null"
    return str(key.default).lower() if isinstance(key.default, bool) else str(key.default)


if __name__ == "__main__":
    main()
