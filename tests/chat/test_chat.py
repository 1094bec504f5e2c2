"""Text and ids of conversations, against `transformers`."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from tests.chat.models import TOOLS, WORDS, library_tokenizer, own_tokenizer, random_chat
from tests.chat.templates import PLUS, SUMS, TEMPLATES

from tokenmill import ChatError, Tokenizer

if TYPE_CHECKING:
    from pathlib import Path

CHAT = [{"role": "user", "content": "Hi  there\n"}, {"role": "assistant", "content": "\n ok "}]


def assert_equal(chat: Any, template: str, **options: Any) -> None:
    library = library_tokenizer()
    text = library.apply_chat_template(chat, chat_template=template, tokenize=False, **options)
    ids = library.apply_chat_template(chat, chat_template=template, return_dict=False, **options)
    for trusted in ("template", "all"):
        got = own_tokenizer().chat(chat, template=template, trusted=trusted, **options)
        assert got.tolist() == ids, (chat, options)
    assert own_tokenizer().render_chat(chat, template=template, **options) == text


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("add_generation_prompt", [False, True])
def test_chats_have_the_ids_of_transformers(name: str, add_generation_prompt: bool) -> None:
    for seed in range(40):
        chat = random_chat(seed)
        assert_equal(chat, TEMPLATES[name], add_generation_prompt=add_generation_prompt)


@pytest.mark.parametrize("name", sorted({*TEMPLATES} - {"literal"}))
def test_a_final_message_is_continued_as_in_transformers(name: str) -> None:
    words = tuple(word for word in WORDS if word != "[x]")  # which a template replaces
    for seed in range(40):
        chat = random_chat(seed, words)
        assert_equal(
            chat, TEMPLATES[name], add_generation_prompt=False, continue_final_message=True
        )


def test_a_thought_is_continued_as_in_transformers() -> None:
    chat = [*CHAT[:1], {"role": "assistant", "content": "", "thinking": "so, "}]
    options: dict[str, Any] = {"add_generation_prompt": False}
    assert_equal(chat, TEMPLATES["rich"], continue_final_message="reasoning_content", **options)


def test_tools_calls_results_and_documents_are_rendered_as_in_transformers() -> None:
    call = {"type": "function", "function": {"name": "add", "arguments": {"a": 1, "b": "\u4e2d"}}}
    chat = [
        {"role": "user", "content": [{"type": "text", "text": "1+1"}, {"type": "image"}]},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "name": "add", "content": '{"sum": 2}'},
    ]
    documents = [{"title": "Sums", "text": "1+1 is 2"}]
    options = {"tools": TOOLS, "documents": documents, "add_generation_prompt": True}
    assert_equal(chat, TEMPLATES["tools"], **options)


@dataclass
class Message:
    role: str
    content: str


class Loud(str):
    """A str that templates must not get at."""

    __slots__ = ()


def test_rich_objects_are_seen_as_in_transformers() -> None:
    chat: list[Any] = [Message("user", "Hi"), {"role": Loud("assistant"), "content": Loud("ok")}]
    assert_equal(chat, PLUS, add_generation_prompt=False)


@pytest.mark.parametrize("template", SUMS)
def test_sums_members_and_loops_are_those_of_transformers(template: str) -> None:
    assert_equal(CHAT, template, add_generation_prompt=False)


@pytest.mark.parametrize(
    "template", ["{{ 'a' + 1 }}", "{{ 'a' + messages[0].missing }}", "{{ 'a' + none + 'b' }}"]
)
def test_sums_that_make_no_sense_are_refused_as_in_transformers(template: str) -> None:
    with pytest.raises(ChatError, match="refuses"):
        own_tokenizer().chat(CHAT, template=template)
    with pytest.raises(Exception):  # noqa: B017, PT011 -- of jinja2 or of Python
        library_tokenizer().apply_chat_template(CHAT, chat_template=template)


@pytest.mark.parametrize("name", TEMPLATES)
def test_texts_are_marked_only_where_a_template_may_need_it(name: str) -> None:
    """One that could put a text into another gets marked ones; the ids are the same."""
    source = TEMPLATES[name]
    for seed in range(20):
        chat = random_chat(seed)
        plain = own_tokenizer().chat(chat, template=source)
        marked = own_tokenizer().chat(chat, template="{# replace #}" + source)
        assert plain.tolist() == marked.tolist()


def test_variables_and_dates_are_seen_as_in_transformers() -> None:
    template = (
        "{{ strftime_now('%Y') }}{{ greeting | upper }}{{ n + 1 }}{{ '%s|%d' | format(name, 3) }}"
    )
    assert_equal(CHAT, template, greeting="hi", n=3, name="x", add_generation_prompt=True)


@pytest.mark.parametrize(
    ("template", "match"),
    [
        ("{{ raise_exception('not like this') }}", "not like this"),
        ("{% if %}", "cannot be read"),
        ("{{ messages.__class__.__mro__ }}", "refuses"),
        ("{{ namespace(_x=1) }}", "underscore"),
    ],
)
def test_templates_that_fail_say_why(template: str, match: str) -> None:
    with pytest.raises(ChatError, match=match):
        own_tokenizer().chat(CHAT, template=template)


@pytest.mark.parametrize("messages", [[], {}, "Hi", ["Hi"], [None], 3])
def test_messages_of_another_shape_are_refused(messages: Any) -> None:
    with pytest.raises(ChatError, match="expected"):
        own_tokenizer().chat(messages, template=PLUS)


def test_functions_are_no_tools() -> None:
    with pytest.raises(ChatError, match="JSON schemas"):
        own_tokenizer().chat(CHAT, tools=[print], template=PLUS)  # type: ignore[list-item]


def test_a_message_cannot_be_opened_and_continued() -> None:
    options: dict[str, Any] = {"continue_final_message": True, "add_generation_prompt": True}
    with pytest.raises(ChatError, match="combined"):
        own_tokenizer().chat(CHAT, template=PLUS, **options)


def test_the_template_of_a_loaded_tokenizer_is_used_and_pickled() -> None:
    library = library_tokenizer()
    library.chat_template = {"default": PLUS, "short": "{{ messages[0].content }}"}
    try:
        ours = Tokenizer.load(library)
        again = pickle.loads(pickle.dumps(ours))  # noqa: S301
    finally:
        library.chat_template = None
    for tokenizer in (ours, again):
        assert tokenizer.render_chat(CHAT, template="short") == "Hi  there\n"
        assert tokenizer.render_chat(CHAT).startswith("<|im_start|>user\nHi")


def test_a_path_is_a_template(tmp_path: Path) -> None:
    (tmp_path / "x.jinja").write_text("{{ messages | length }}")
    assert own_tokenizer().render_chat(CHAT, template=tmp_path / "x.jinja") == "2"
    with pytest.raises(ChatError, match=r"y\.jinja"):
        own_tokenizer().render_chat(CHAT, template=tmp_path / "y.jinja")
