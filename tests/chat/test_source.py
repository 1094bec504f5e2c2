"""Where chat templates come from: what lies beside a tokenizer, read when it is first needed."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import transformers
from tests.chat.models import library_tokenizer
from tests.chat.templates import LITERAL, PLUS, TRIMMED

from tokenmill import ChatError, Tokenizer
from tokenmill._tokenizer import compile_file

if TYPE_CHECKING:
    from pathlib import Path

CHAT = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "ok"}]
TOOL: list[dict[str, Any]] = [{"type": "function", "function": {"name": "f"}}]
TOKENS: dict[str, Any] = {
    "bos_token": "<s>",
    "eos_token": {"__type": "AddedToken", "content": "</s>"},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tokenizer.json").write_text(library_tokenizer().backend_tokenizer.to_str())
    return tmp_path


def write_config(folder: Path, **config: Any) -> None:
    given = {"tokenizer_class": "PreTrainedTokenizerFast", **TOKENS, **config}
    (folder / "tokenizer_config.json").write_text(json.dumps(given))


def assert_as_in_transformers(folder: Path, **options: Any) -> None:
    library = transformers.AutoTokenizer.from_pretrained(folder)
    expected = library.apply_chat_template(
        CHAT, return_dict=False, add_generation_prompt=True, **options
    )
    own = {"template" if name == "chat_template" else name: v for name, v in options.items()}
    for source in (folder, folder / "tokenizer.json", str(folder)):
        assert Tokenizer.load(source).chat(CHAT, **own).tolist() == expected


def test_tokens_of_a_model_are_known_by_name(folder: Path) -> None:
    tokens = {"image_token": "<|sep|>", "extra_special_tokens": {"end_token": "<|end|>"}}
    write_config(folder, chat_template="{{ image_token }}{{ end_token }}{{ eos_token }}", **tokens)
    assert_as_in_transformers(folder)


def test_a_template_in_the_config(folder: Path) -> None:
    write_config(folder, chat_template=TRIMMED)
    assert_as_in_transformers(folder)


def test_named_templates_in_the_config(folder: Path) -> None:
    named = {"default": TRIMMED, "tool_use": PLUS, "other": LITERAL}
    entries = [{"name": name, "template": text} for name, text in named.items()]
    write_config(folder, chat_template=entries)
    assert_as_in_transformers(folder)
    assert_as_in_transformers(folder, tools=TOOL)
    assert_as_in_transformers(folder, chat_template="other")
    assert_as_in_transformers(folder, chat_template="{{ eos_token }}")


def test_template_files_come_before_the_config(folder: Path) -> None:
    write_config(folder, chat_template=TRIMMED)
    (folder / "chat_template.jinja").write_text(PLUS)
    assert_as_in_transformers(folder)
    (folder / "additional_chat_templates").mkdir()
    (folder / "additional_chat_templates" / "tool_use.jinja").write_text(LITERAL)
    assert_as_in_transformers(folder)
    assert_as_in_transformers(folder, tools=TOOL)


def test_special_tokens_of_the_map(folder: Path) -> None:
    (folder / "tokenizer_config.json").write_text('{"chat_template": "{{ bos_token }}x"}')
    (folder / "special_tokens_map.json").write_text(json.dumps(TOKENS))
    assert Tokenizer.load(folder).render_chat(CHAT) == "<s>x"


def test_templates_without_a_usual_one_must_be_named(folder: Path) -> None:
    write_config(folder, chat_template=[{"name": "a", "template": "x"}])
    tokenizer = Tokenizer.load(folder)
    assert tokenizer.render_chat(CHAT, template="a") == "x"
    with pytest.raises(ChatError, match=r"\['a'\]"):
        tokenizer.chat(CHAT)


def test_a_tokenizer_without_a_template_says_so(folder: Path) -> None:
    with pytest.raises(ChatError, match="no chat template"):
        Tokenizer.load(folder).chat(CHAT)
    with pytest.raises(ChatError, match="no chat template"):
        Tokenizer.load().chat(CHAT)


def test_a_broken_config_is_reported(folder: Path) -> None:
    tokenizer = Tokenizer.load(folder)
    (folder / "tokenizer_config.json").write_text("{")
    with pytest.raises(ChatError, match="tokenizer_config"):
        tokenizer.chat(CHAT)


def test_a_changed_config_gives_the_new_template(folder: Path) -> None:
    """The cache of compiled models keeps none."""
    for text in ("one", "two"):
        write_config(folder, chat_template=text)
        assert Tokenizer.load(folder).render_chat(CHAT) == text
    (folder / "chat_template.jinja").write_text("three")
    assert Tokenizer.load(folder).render_chat(CHAT) == "three"


def test_templates_are_pickled(folder: Path) -> None:
    write_config(folder, chat_template=PLUS)
    tokenizer = Tokenizer.load(folder)
    data = pickle.dumps(tokenizer)
    (folder / "tokenizer_config.json").unlink()
    again = pickle.loads(data)  # noqa: S301
    assert again.chat(CHAT).tolist() == again.chat(CHAT, template=PLUS).tolist()


def test_a_compiled_model_finds_the_template_beside_it(folder: Path) -> None:
    compile_file(folder, folder / "model.mill")
    write_config(folder, chat_template=PLUS)
    assert Tokenizer.load(folder / "model.mill").render_chat(CHAT, template=PLUS).startswith("<|im")
    assert Tokenizer.load(folder / "model.mill").render_chat(CHAT).startswith("<|im")


def test_the_package_of_templates_is_needed_for_chats_alone(folder: Path) -> None:
    write_config(folder, chat_template=PLUS)
    code = f"""
import pickle, sys
sys.modules["jinja2"] = None
import tokenmill
tokenizer = pickle.loads(pickle.dumps(tokenmill.Tokenizer.load({str(folder)!r})))
tokenizer.encode_parts([("a", True), ("b", False)])
try:
    tokenizer.chat([{{"role": "user", "content": "x"}}])
except tokenmill.MissingDependency as error:
    print(error)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert "tokenmill[chat]" in found.stdout
