"""Each route has the fields that vLLM and SGLang document, and the ids of the tokenizer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    from tests.serve.server import Server

    from tokenmill import Tokenizer

TEXTS = ["", "hello world", '<s>hello</s> \u00e9\u4e2d\U0001f600 "q"\n\\', "hello world " * 9000]


def ids_of(small: Tokenizer, text: str, *, add: bool = True) -> list[int]:
    ids: list[int] = small.encode(text, add_special_tokens=add).tolist()
    return ids


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("add", [None, True, False])
def test_tokenize_answers_with_the_fields_of_vllm(
    server: Server, small: Tokenizer, text: str, add: bool | None
) -> None:
    asked: dict[str, Any] = {"prompt": text}
    if add is not None:
        asked["add_special_tokens"] = add
    ids = ids_of(small, text, add=add is not False)
    reply = server.ask("/tokenize", asked)
    assert reply.status == 200
    assert reply.headers["content-type"] == "application/json"
    assert list(reply.json.items()) == [  # in the order of vLLM's model
        ("count", len(ids)), ("max_model_len", 4096), ("tokens", ids), ("token_strs", None)
    ]  # fmt: skip


def test_tokens_come_as_strings_if_asked_for(server: Server, small: Tokenizer) -> None:
    reply = server.ask("/tokenize", {"prompt": 'hello "world"', "return_token_strs": True})
    expected = [small.id_to_token(token) for token in reply.json["tokens"]]
    assert reply.json["token_strs"] == expected


def test_unknown_members_are_ignored_and_null_is_absent(server: Server, small: Tokenizer) -> None:
    asked = {"prompt": "hello", "model": None, "return_token_strs": None, "other": [{"prompt": 1}]}
    assert server.ask("/tokenize", asked).json["tokens"] == ids_of(small, "hello")


def test_raw_ids_are_little_endian_numbers_of_four_bytes(server: Server, small: Tokenizer) -> None:
    reply = server.ask("/tokenize", {"prompt": "hello"}, accept="application/octet-stream")
    assert reply.headers["content-type"] == "application/octet-stream"
    assert np.frombuffer(reply.body, "<u4").tolist() == ids_of(small, "hello")


@pytest.mark.parametrize("ids", [[], [0], [104, 258, 10, 265, 266]])
def test_detokenize_answers_with_the_text(server: Server, small: Tokenizer, ids: list[int]) -> None:
    assert server.ask("/detokenize", {"tokens": ids}).json == {"prompt": small.decode(ids)}


def test_sglangs_tokenize_takes_one_prompt_or_several(server: Server, small: Tokenizer) -> None:
    one = server.ask("/v1/tokenize", {"prompt": "hello world"}).json
    ids = ids_of(small, "hello world")
    assert one == {"tokens": ids, "count": len(ids), "max_model_len": 4096}
    many = server.ask("/v1/tokenize", {"prompt": TEXTS}).json
    rows = [ids_of(small, text) for text in TEXTS]
    assert many == {"tokens": rows, "count": [len(row) for row in rows], "max_model_len": 4096}
    none = server.ask("/v1/tokenize", {"prompt": []}).json
    assert none == {"tokens": [], "count": [], "max_model_len": 4096}


def test_sglangs_detokenize_leaves_special_tokens_out_unless_told(server: Server) -> None:
    def text(**asked: Any) -> Any:
        return server.ask("/v1/detokenize", asked).json["text"]

    special = 265  # <s>
    assert text(tokens=[special, 104]) == text(tokens=[104])
    assert text(tokens=[special, 104], skip_special_tokens=False) == "<s>" + text(tokens=[104])
    assert text(tokens=[[104], [], [105]]) == [text(tokens=[104]), "", text(tokens=[105])]
    assert text(tokens=[]) == ""


def test_count_equals_the_number_of_ids(server: Server, small: Tokenizer) -> None:
    for text in TEXTS:
        reply = server.ask("/count", {"prompt": text})
        assert reply.json == {"count": len(ids_of(small, text)), "max_model_len": 4096}
    assert server.ask("/count", {"prompt": TEXTS, "add_special_tokens": False}).json["count"] == [
        len(ids_of(small, text, add=False)) for text in TEXTS
    ]


def test_a_completion_is_rendered_once_for_each_prompt(server: Server, small: Tokenizer) -> None:
    asked = {"model": "one", "prompt": ["hello", "world"], "max_tokens": 7, "temperature": 0.5}
    found = server.ask("/v1/completions/render", asked).json
    assert [one["token_ids"] for one in found] == [ids_of(small, "hello"), ids_of(small, "world")]
    first = found[0]
    assert first.pop("request_id").startswith("cmpl-")
    assert first == {
        "token_ids": ids_of(small, "hello"), "features": None,
        "sampling_params": {"temperature": 0.5, "max_tokens": 7}, "model": "one", "stream": False,
        "stream_options": None, "cache_salt": None, "priority": 0, "kv_transfer_params": None,
    }  # fmt: skip
    for prompt in ([1, 2], [[1, 2]]):
        ids = server.ask("/v1/completions/render", {"prompt": prompt}).json
        assert [one["token_ids"] for one in ids] == [[1, 2]]
    unlimited = server.ask("/v1/completions/render", {"prompt": [1, 2]}).json
    assert unlimited[0]["sampling_params"] == {"max_tokens": 4094}


def test_models_are_listed_and_chosen_by_name(server: Server, small: Tokenizer) -> None:
    listed = server.ask("/v1/models").json
    assert listed["object"] == "list"
    assert [model["id"] for model in listed["data"]] == ["one", "two"]
    assert {model["max_model_len"] for model in listed["data"]} == {4096}
    for model in ("one", "two", ""):
        reply = server.ask("/tokenize", {"prompt": "hello", "model": model})
        assert reply.json["tokens"] == ids_of(small, "hello")


def test_an_unknown_model_is_404_as_in_vllm(server: Server) -> None:
    for path, asked in (
        ("/tokenize", {"prompt": "a"}), ("/detokenize", {"tokens": [1]}),
        ("/count", {"prompt": "a"}), ("/v1/completions/render", {"prompt": "a"}),
    ):  # fmt: skip
        reply = server.ask(path, {**asked, "model": "three"})
        assert reply.status == 404
        assert reply.error["message"] == "The model `three` does not exist."
        assert reply.error["type"] == "NotFoundError"


def test_health_is_told_without_a_model(server: Server) -> None:
    assert server.ask("/livez").json == {"live": True}
    for path in ("/readyz", "/health"):
        reply = server.ask(path)
        assert reply.status == 200
        models = {name: {"state": "ready", "self_test": True} for name in ("one", "two")}
        health, reasons = reply.json["health"], reply.json["reasons"]
        assert reply.json == {
            "ready": True, "stopping": False, "models": models, "health": health,
            "reasons": reasons,
        }  # fmt: skip
        # On a machine that has no time for it, the event loop is late, and health says so.
        assert (health, bool(reasons)) in [("ok", False), ("degraded", True)]


def test_stats_count_what_was_asked(server: Server) -> None:
    def encoded() -> int:
        counts = server.ask("/stats").json["counters"]["models"]["two"]
        return int(counts.get("encode", {"status": {"ok": 0}})["status"]["ok"])

    before = encoded()
    for _ in range(3):
        server.ask("/tokenize", {"prompt": "hello", "model": "two"})
    assert encoded() == before + 3


def test_tokenizer_info_has_a_class_and_the_configuration(server: Server) -> None:
    assert "tokenizer_class" in server.ask("/tokenizer_info").json
    assert server.ask("/tokenizer_info?model=three").status == 404


def test_an_array_of_prompts_is_for_sglangs_route(server: Server) -> None:
    reply = server.ask("/tokenize", {"prompt": ["a"]})
    assert reply.status == 400
    assert "/v1/tokenize" in reply.error["message"]
    both = server.ask("/v1/tokenize", {"prompt": ["a"]}, accept="application/octet-stream")
    assert both.status == 406


def test_many_prompts_and_rows_are_answered_in_order(server: Server, small: Tokenizer) -> None:
    """So many that they are read and written on a thread."""
    prompts = [f"hello {number} world" for number in range(5000)]
    rows = [small.encode(prompt, add_special_tokens=True).tolist() for prompt in prompts]
    reply = server.ask("/v1/tokenize", {"prompt": prompts}).json
    assert reply["tokens"] == rows
    assert reply["count"] == [len(row) for row in rows]
    assert server.ask("/count", {"prompt": prompts}).json["count"] == reply["count"]
    texts = server.ask("/v1/detokenize", {"tokens": rows}).json["text"]
    assert texts == [small.decode(row, skip_special_tokens=True) for row in rows]
