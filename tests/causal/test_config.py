"""Configurations: every key, right and wrong in every way, from every kind of source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tokenmill import CausalLMTokenizer, LoadError, OptionError, SourceNotFound
from tokenmill._causal.config import Config, read_config
from tokenmill._causal.schema import BY_NAME, KEYS, Choices, Key, Name, Range, Switch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RIGHT: dict[str, list[Any]] = {
    "context_length": [None, 2, 4096, 10_000_000],
    "overlap": [0, 1],
    "tokenizer_name": [None, "owner/name", "a/folder", "gpt2"],
    "verbose_level": ["DEBUG", "INFO", "WARNING", "ERROR"],
    "batch_size": [None, 1, 6000, 10_000],
    "num_proc": [None, 1, 32],
    "show_progress": [True, False],
}
OF_NO_KEY: list[Any] = [[], {}, [1], {"a": 1}, 1.5, 2.0, b"bytes", object(), float("nan"), 1j]


def wrong_values(key: Key) -> Iterator[Any]:
    """Every value that the schema does not allow: of other types, and beyond each limit."""
    yield from OF_NO_KEY
    if not key.allows_null:
        yield None
    if not isinstance(key.allowed, Switch):
        yield from (True, False)
    match key.allowed:
        case Range(least, most):
            yield from (least - 1, -1, -4096, "4096", "", "many", str(least))
            if most is not None:
                yield from (most + 1, 10**10)
        case Choices(words):
            yield from ("", "LOUD", 0, 10, *(word.lower() for word in words), f" {words[0]}")
        case Name():
            yield from ("", "   ", "\n", 0, 7)
        case Switch():
            yield from (0, 1, "true", "false", "yes", "True", "")


WRONG = [(key, value) for key in KEYS for value in wrong_values(key)]


def values_with(key: Key, value: object) -> dict[str, Any]:
    return {"context_length": 16, key.name: value}


def test_the_schema_is_that_of_the_dataclass() -> None:
    fields = Config.__dataclass_fields__
    assert list(fields) == [key.name for key in KEYS] == list(RIGHT)
    for key in KEYS:
        assert fields[key.name].default == key.default


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, values in RIGHT.items() for v in values])
def test_a_right_value_is_taken(name: str, value: object) -> None:
    config = read_config(values_with(BY_NAME[name], value), {})
    assert getattr(config, name) == value


@pytest.mark.parametrize(
    ("key", "value"), WRONG, ids=lambda part: getattr(part, "name", repr(part))
)
def test_a_wrong_value_is_refused_with_its_key_itself_and_what_is_allowed(
    key: Key, value: object
) -> None:
    with pytest.raises(OptionError) as caught:
        CausalLMTokenizer(values_with(key, value))
    message = str(caught.value)
    assert f"{key.name}: expected {key.allowed_words}, got " in message
    assert f"({type(value).__name__})" in message


@pytest.mark.parametrize(
    ("key", "value"), WRONG, ids=lambda part: getattr(part, "name", repr(part))
)
def test_a_wrong_keyword_is_refused_too(key: Key, value: object) -> None:
    with pytest.raises(OptionError, match=f"^{key.name}: expected"):
        CausalLMTokenizer(**values_with(key, value))


@pytest.mark.parametrize("overlap", [16, 17, 4096])
def test_overlap_is_less_than_the_context_length(overlap: int) -> None:
    message = f"overlap: expected less than context_length, 16, got {overlap}"
    with pytest.raises(OptionError, match=message):
        CausalLMTokenizer(context_length=16, overlap=overlap)


@pytest.mark.parametrize("given", [None, {}, {"tokenizer": {}}, {"tokenizer": None}])
def test_no_key_is_required(given: dict[str, Any] | None) -> None:
    assert CausalLMTokenizer(given).config == Config()


FRAMEWORK = """
dataset: {name: corpus, batch_size: many}
training:
  overlap: none of ours
tokenizer:
  context_length: 64
"""


def test_other_sections_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(FRAMEWORK)
    assert read_config(path, {}) == read_config(yaml.safe_load(FRAMEWORK), {}) == Config(64)
    path.write_text(FRAMEWORK + "  overlapp: 2\n")
    with pytest.raises(OptionError, match=r"unknown key 'overlapp'.*did you mean 'overlap'"):
        read_config(path, {})


@pytest.mark.parametrize(
    "text", ["tokenizer:\n", "tokenizer:\n  # all defaults\ntraining: {a: 1}\n"]
)
def test_an_empty_section_means_defaults(text: str, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text)
    assert read_config(path, {}) == Config()
    assert read_config(path, {"overlap": 3}) == Config(overlap=3)


def test_sections_without_ours_are_no_configuration(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("tokeniser: {context_length: 8}\n")
    with pytest.raises(OptionError, match="unknown key 'tokeniser'"):
        read_config(path, {})


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("contex_length", "context_length"),
        ("context-length", "context_length"),
        ("Overlap", "overlap"),
        ("tokenizer_nam", "tokenizer_name"),
        ("verbose", "verbose_level"),
        ("batchsize", "batch_size"),
        ("num_procs", "num_proc"),
        ("progress", "show_progress"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_one(name: str, meant: str) -> None:
    with pytest.raises(OptionError, match=f"unknown key '{name}'.*did you mean '{meant}'"):
        CausalLMTokenizer({"context_length": 16, name: 1})


@pytest.mark.parametrize("name", ["zzz", 7, None, ("a",)])
def test_an_unknown_key_like_no_other_is_refused_with_all_keys(name: object) -> None:
    with pytest.raises(OptionError, match=r"unknown key .*the keys are context_length, overlap"):
        CausalLMTokenizer({"context_length": 16, name: 1})  # type: ignore[dict-item]


def test_every_source_gives_the_same_configuration(tmp_path: Path) -> None:
    values: dict[str, Any] = {
        "context_length": 64, "overlap": 8, "num_proc": 2, "show_progress": False,
    }  # fmt: skip
    plain, outer = tmp_path / "plain.yaml", tmp_path / "outer.yaml"
    plain.write_text(yaml.safe_dump(values))
    outer.write_text(yaml.safe_dump({"tokenizer": values}))
    sources: list[Any] = [plain, str(outer), values, {"tokenizer": values}]
    configs = [CausalLMTokenizer(source).config for source in sources]
    configs.append(CausalLMTokenizer(**values).config)
    assert configs == [Config(64, 8, num_proc=2, show_progress=False)] * 5


def test_the_configuration_of_the_docs_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(
        "tokenizer:\n"
        "  context_length: 4096            # required, int > 0\n"
        "  overlap: 0\n"
        "  tokenizer_name: meta-llama/Llama-2-7b-hf\n"
        "  verbose_level: INFO\n"
        "  batch_size: null\n"
        "  num_proc: null\n"
        "  show_progress: true\n"
    )
    assert read_config(path, {}) == Config(4096, tokenizer_name="meta-llama/Llama-2-7b-hf")


def test_keywords_override_the_rest() -> None:
    config = CausalLMTokenizer({"context_length": 64, "overlap": 8}, overlap=4).config
    assert (config.context_length, config.overlap) == (64, 4)


def test_a_wrong_value_in_a_file_is_reported_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("tokenizer:\n  context_length: 4k\n")
    with pytest.raises(OptionError) as caught:
        CausalLMTokenizer(path)
    allowed = "a whole number from 1 to 2147483647, or null"
    assert str(caught.value) == f"{path}: context_length: expected {allowed}, got '4k' (str)"


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("", OptionError, "expected keys and values, got None"),
        ("- a\n- b\n", OptionError, "expected keys and values, got"),
        ("just text", OptionError, "expected keys and values, got 'just text'"),
        ("tokenizer: 7\n", OptionError, "tokenizer: expected keys and values, got 7"),
        ("context_length: [", LoadError, "config.yaml: while parsing"),
        ("a: !!python/object:os.system x", LoadError, "config.yaml: could not determine"),
    ],
)
def test_a_file_that_is_no_configuration_is_refused(
    tmp_path: Path, text: str, error: type[Exception], message: str
) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(error, match=message):
        CausalLMTokenizer(path)


def test_a_file_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_bytes(b"context_length: \xff\xfe")
    with pytest.raises(LoadError, match=r"config.yaml"):
        CausalLMTokenizer(path)


def test_a_file_that_does_not_exist_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SourceNotFound, match=r"expected a YAML file.*tokenizer_name="):
        CausalLMTokenizer(tmp_path / "none.yaml")


@pytest.mark.parametrize("given", [7, [("context_length", 8)], True, b"path"])
def test_what_is_no_configuration_is_refused(given: Any) -> None:
    with pytest.raises(OptionError, match="config: expected keys and values, got"):
        CausalLMTokenizer(given)


def test_a_tokenizer_and_a_name_are_one_too_many() -> None:
    with pytest.raises(OptionError, match="one of tokenizer and tokenizer_name"):
        CausalLMTokenizer(context_length=8, tokenizer_name="a/b", tokenizer=str)


def test_its_repr_shows_what_it_is() -> None:
    made = CausalLMTokenizer(context_length=8, tokenizer=str.split)
    assert repr(made) == "CausalLMTokenizer('method_descriptor', context_length=8, overlap=0)"
    assert "'built-in'" in repr(CausalLMTokenizer(context_length=8))


def test_a_path_that_cannot_be_one_is_reported() -> None:
    with pytest.raises(LoadError, match="null byte"):
        CausalLMTokenizer("a\0b")
