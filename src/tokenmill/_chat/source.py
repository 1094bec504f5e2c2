"""Where a tokenizer came from -> its chat templates and the names of its special tokens."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenmill._errors import ChatError
from tokenmill._load.hub import fetch_beside, is_repository_name

if TYPE_CHECKING:
    from collections.abc import Mapping

TEMPLATE_FILE = "chat_template.jinja"
TEMPLATE_FOLDER = "additional_chat_templates"
CONFIG = "tokenizer_config.json"
TOKENS_MAP = "special_tokens_map.json"


@dataclass(frozen=True)
class ChatSource:
    """Templates by name, and the special tokens that templates know by names such as bos_token."""

    templates: Mapping[str, str] = field(default_factory=dict)
    tokens: Mapping[str, str] = field(default_factory=dict)
    where: str = ""

    def choose(self, template: str | Path | None, *, has_tools: bool) -> str:
        """Return the text of a template: its own text, a path, a name, or the usual one."""
        if isinstance(template, Path):
            return _read(template)
        if template is not None:
            return self.templates.get(template, template)
        usual = ("tool_use", "default") if has_tools else ("default",)
        for name in usual:
            if name in self.templates:
                return self.templates[name]
        if self.templates:
            raise ChatError(
                f"expected the name of a template, of which there are {sorted(self.templates)}",
                hint="pass template=NAME",
            )
        raise ChatError(
            f"the tokenizer has no chat template{f' in {self.where}' if self.where else ''}",
            hint="pass template=TEXT or pathlib.Path(FILE)",
        )


def read_chat_source(origin: object) -> ChatSource:
    """Read what lies beside a tokenizer: a path, a hub id, or an object that was loaded."""
    if isinstance(origin, ChatSource):
        return origin
    if isinstance(origin, str):
        path = Path(origin)
        if not path.exists() and is_repository_name(origin):
            folder = fetch_beside(origin, (CONFIG, TOKENS_MAP, TEMPLATE_FILE))
            return ChatSource() if folder is None else _read_folder(folder)
        return _read_folder(path if path.is_dir() else path.parent)
    templates = getattr(origin, "chat_template", None)
    tokens = getattr(origin, "special_tokens_map", None)
    return ChatSource(_by_name(templates), _tokens_of(tokens if isinstance(tokens, dict) else {}))


def _read_folder(folder: Path) -> ChatSource:
    config = _read_json(folder / CONFIG)
    tokens = {**_tokens_of(_read_json(folder / TOKENS_MAP)), **_tokens_of(config)}
    files = {path.stem: _read(path) for path in sorted(folder.glob(f"{TEMPLATE_FOLDER}/*.jinja"))}
    if (folder / TEMPLATE_FILE).is_file():
        files["default"] = _read(folder / TEMPLATE_FILE)
    return ChatSource(files or _by_name(config.get("chat_template")), tokens, str(folder))


def _by_name(templates: Any) -> dict[str, str]:
    """One template, a list of named ones, or a dict of them."""
    if isinstance(templates, str):
        return {"default": templates}
    if isinstance(templates, dict):
        return {str(name): str(text) for name, text in templates.items()}
    if isinstance(templates, list | tuple):
        return {str(entry["name"]): str(entry["template"]) for entry in templates}
    return {}


def _tokens_of(config: Mapping[str, Any]) -> dict[str, str]:
    """Return the named special tokens; each is a text or a dict with its `content`.

    Models have tokens of their own beside bos_token and the like, e.g. image_token.
    """
    more = config.get("extra_special_tokens")
    found = {}
    for name, token in [*config.items(), *(more.items() if isinstance(more, dict) else ())]:
        content = token.get("content") if isinstance(token, dict) else token
        if name.endswith("_token") and isinstance(content, str):
            found[name] = content
    return found


def _read_json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        found = json.loads(_read(path))
    except json.JSONDecodeError as error:
        raise ChatError(f"{path}: expected JSON, got {error}") from error
    return found if isinstance(found, dict) else {}


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ChatError(f"{path}: a template that cannot be read: {error}") from error
