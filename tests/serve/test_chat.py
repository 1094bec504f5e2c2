"""Requests with messages: the ids of `Tokenizer.chat`, and nothing that a client may not set."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import TYPE_CHECKING, Any

import pytest
from tests.conftest import small_definition
from tests.serve.server import serving

from tokenmill import Service
from tokenmill._core import read_document
from tokenmill._serve import chat as chat_module
from tokenmill._serve.chat import Chat

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.serve.server import Server

    from tokenmill import Tokenizer

pytest.importorskip("jinja2")

TEMPLATE = (
    "{% for m in messages %}<s>{{ m.role }}\n{{ m.content }}</s>{% endfor %}"
    "{% if add_generation_prompt %}<s>assistant\n{% endif %}{{ extra or '' }}"
)
MESSAGES = [{"role": "user", "content": "hello <s> world"}, {"role": "assistant", "content": "h"}]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("chat") / "model"
    path.mkdir()
    (path / "tokenizer.json").write_text(json.dumps(small_definition()))
    config = {"chat_template": TEMPLATE, "model_max_length": 512, "tokenizer_class": "Small"}
    (path / "tokenizer_config.json").write_text(json.dumps(config))
    return path


@pytest.fixture(scope="module")
def chatting(folder: Path) -> Iterator[Server]:
    with serving(str(folder)) as server:
        yield server


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> Tokenizer:
    from tokenmill import Tokenizer

    return Tokenizer.load(folder)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"add_generation_prompt": False},
        {"add_generation_prompt": False, "continue_final_message": True},
        {"chat_template_kwargs": {"extra": "more"}},
    ],
)
def test_ids_of_messages_are_those_of_the_tokenizer(
    chatting: Server, tokenizer: Tokenizer, options: dict[str, Any]
) -> None:
    given = {**options, **options.get("chat_template_kwargs", {})}
    given.pop("chat_template_kwargs", None)
    ids = tokenizer.chat(MESSAGES, **given).tolist()
    asked = {"messages": MESSAGES, **options}
    reply = chatting.ask("/tokenize", asked)
    assert reply.json == {
        "count": len(ids), "max_model_len": 512, "tokens": ids, "token_strs": None
    }  # fmt: skip
    assert chatting.ask("/count", asked).json["count"] == len(ids)
    rendered = chatting.ask("/v1/chat/completions/render", {**asked, "max_tokens": 5}).json
    assert rendered["token_ids"] == ids
    assert rendered["request_id"].startswith("chatcmpl-")
    assert rendered["sampling_params"] == {"max_tokens": 5}


def test_special_tokens_are_added_on_top_if_asked_for(
    chatting: Server, tokenizer: Tokenizer
) -> None:
    text = tokenizer.render_chat(MESSAGES)
    reply = chatting.ask("/tokenize", {"messages": MESSAGES, "add_special_tokens": True})
    assert reply.json["tokens"] == tokenizer.encode(text, add_special_tokens=True).tolist()


def test_text_of_a_message_becomes_no_control_token(chatting: Server) -> None:
    special = 265  # <s>
    reply = chatting.ask("/tokenize", {"messages": MESSAGES[:1], "add_generation_prompt": False})
    assert reply.json["tokens"].count(special) == 1


@pytest.mark.parametrize(
    ("asked", "part"),
    [
        ({"messages": 5}, "expected an array"),
        ({"messages": ["a"]}, ""),
        ({"messages": MESSAGES, "tools": {}}, "`tools`: expected an array"),
        ({"messages": MESSAGES, "add_generation_prompt": 1}, "expected true or false"),
        (
            {"messages": MESSAGES, "add_generation_prompt": True, "continue_final_message": True},
            "Cannot set both",
        ),
        ({"messages": MESSAGES, "chat_template": "x"}, "--trust-request-chat-template"),
        (
            {"messages": MESSAGES, "chat_template_kwargs": {"chat_template": "x"}},
            "--trust-request-chat-template",
        ),
        ({"messages": MESSAGES, "chat_template_kwargs": {"template": "x"}}, "'template'"),
        ({"messages": MESSAGES, "chat_template_kwargs": {"trusted": "all"}}, "'trusted'"),
        ({"messages": MESSAGES, "chat_template_kwargs": {"timeout": 9}}, "'timeout'"),
        ({"messages": MESSAGES, "chat_template_kwargs": []}, "expected an object"),
    ],
)
def test_wrong_conversations_are_400(chatting: Server, asked: dict[str, Any], part: str) -> None:
    for path in ("/tokenize", "/v1/chat/completions/render"):
        reply = chatting.ask(path, asked)
        assert reply.status == 400
        assert part in reply.error["message"]


def test_a_tokenizer_without_a_template_says_so(server: Server) -> None:
    reply = server.ask("/tokenize", {"messages": MESSAGES})
    assert reply.status == 400
    assert "template" in reply.error["message"]


def test_templates_of_a_request_are_used_where_they_are_trusted(folder: Path) -> None:
    with serving(str(folder), "--trust-request-chat-template") as server:
        asked = {"messages": MESSAGES, "chat_template": "{{ messages[1].content }}"}
        assert server.ask("/tokenize", asked).json["count"] == 1


def test_the_configuration_is_told(chatting: Server) -> None:
    info = chatting.ask("/tokenizer_info").json
    assert (info["tokenizer_class"], info["chat_template"]) == ("Small", TEMPLATE)


@pytest.mark.parametrize("depth", [900, 5000])
@pytest.mark.parametrize("path", ["/tokenize", "/count", "/v1/chat/completions/render"])
def test_messages_that_are_nested_too_deeply_are_400(
    chatting: Server, path: str, depth: int
) -> None:
    body = b'{"messages": [{"role": "user", "content": ' + b"[" * depth + b"]" * depth + b"}]}"
    reply = chatting.ask(path, body)
    assert reply.status == 400
    assert "deep" in reply.error["message"]


def test_large_conversations_have_the_same_ids(chatting: Server, tokenizer: Tokenizer) -> None:
    """Above 16 KB a body is read on a thread: one long message, and many short ones."""
    for messages in (
        [{"role": "user", "content": 'hello "w\u00f6rld"\n' * 20_000}],
        [{"role": "user", "content": f"hello {number}"} for number in range(3000)],
    ):
        ids = tokenizer.chat(messages).tolist()
        for ascii_only in (True, False):
            body = json.dumps({"messages": messages}, ensure_ascii=ascii_only).encode()
            assert chatting.ask("/tokenize", body).json["tokens"] == ids
            assert chatting.ask("/count", body).json["count"] == len(ids)


@pytest.mark.parametrize("padding", [0, 100_000])
def test_wrong_bodies_say_where_however_long_they_are(chatting: Server, padding: int) -> None:
    spaces = b" " * padding
    for path in ("/tokenize", "/v1/chat/completions/render"):
        lone = b'{"messages": [{"role": "user", "content": "\\ud800"}]}' + spaces
        reply = chatting.ask(path, lone)
        assert reply.status == 400
        assert "byte 43: half of a surrogate pair" in reply.error["message"]
        reply = chatting.ask(path, b'{"messages": [}' + spaces)
        assert reply.status == 400
        assert "byte 14: not valid JSON" in reply.error["message"]


@pytest.mark.parametrize(("size", "is_inline"), [(1000, True), (100_000, False)])
def test_only_small_bodies_are_read_on_the_event_loop(
    small: Tokenizer, monkeypatch: pytest.MonkeyPatch, size: int, is_inline: bool
) -> None:
    threads: list[int] = []

    def read(body: bytes) -> Any:
        threads.append(threading.get_ident())
        return read_document(body)

    async def main() -> None:
        async with Service(small) as service:
            chat = Chat(service, trusts_templates=False)
            found = await chat.fields(b'{"a": "%s"}' % (b"b" * size))
            assert found == {"a": "b" * size}
            assert (threads == [threading.get_ident()]) == is_inline

    monkeypatch.setattr(chat_module, "read_document", read)
    asyncio.run(main())


def test_templates_are_compiled_off_the_event_loop(folder: Path) -> None:
    """The first conversation waits for a thread; later ones are inline."""

    async def main() -> None:
        async with Service(str(folder)) as service:
            name = next(iter(service.models))
            for _ in range(3):
                await service.chat(MESSAGES)
                found = service.stats()["counters"]["models"][name]["chat"]
                assert found["queue_seconds"]["count"] == 1
            assert found["template_seconds"]["count"] == found["status"]["ok"] == 3

    asyncio.run(main())
