"""How people spell commands and options, right and wrong, and what they are answered."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import pytest

from tokenmill._cli import _parser, main
from tokenmill._cli._parser import with_hyphens
from tokenmill._cli._spelling import message_of
from tokenmill._errors import Hint, Option, OptionError, TokenmillError

if TYPE_CHECKING:
    from pathlib import Path


def options_of(parser: Any) -> dict[str, list[str]]:
    """Return the long options of every command, and of the commands below them."""
    found = {}
    for action in parser._actions:
        for command in (action.choices or {}).values() if isinstance(action.choices, dict) else ():
            found[command.prog] = [
                name for one in command._actions for name in one.option_strings if len(name) > 2
            ]
            found.update(options_of(command))
    return found


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["--chunk_size", "5"], ["--chunk-size", "5"]),
        (["--chunk_size=5"], ["--chunk-size=5"]),
        (["--on_bad=bad_utf8=skip", "a_b"], ["--on-bad=bad_utf8=skip", "a_b"]),
        (["-o", "my_out", "--eos", "_x_"], ["-o", "my_out", "--eos", "_x_"]),
        (["--no_eos", "--", "--a_b"], ["--no-eos", "--", "--a_b"]),
        (["--a_b c"], ["--a_b c"]),  # a value: no option has a space in its name
    ],
)
def test_underscores_in_names_of_options_are_hyphens(given: list[str], meant: list[str]) -> None:
    assert with_hyphens(given) == meant


def test_no_option_of_any_command_is_spelled_with_an_underscore() -> None:
    found = options_of(_parser())
    assert len(found) > 15
    assert [name for names in found.values() for name in names if "_" in name] == []


def test_underscores_are_read_in_every_command(
    small_json: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a_b").write_text("hello</s>")
    command = ["count", "-t", str(small_json), str(tmp_path / "a_b"), "--special_in_text", "text"]
    assert main(command) == 0
    assert main([*command, "--add_special_tokens"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert int(first.split()[0]) + 1 == int(second.split()[0])


@pytest.mark.parametrize(
    ("arguments", "usage", "words"),
    [
        ("pretokenize --chunk_sise 5", "pretokenize", "--chunk-sise; did you mean --chunk-size?"),
        ("pack a --chunk-size 5", "pack", "--chunk-size; did you mean --context-length?"),
        ("pack a --tokeniser=x", "pack", "--tokeniser; did you mean --tokenizer?"),
        ("pretokenize --context-length 5", "pretokenize", "did you mean --chunk-size?"),
        ("reshard out --shard-toknes 5", "reshard", "did you mean --shard-tokens?"),
        ("bench tokenize --num-dox 5", "bench tokenize", "did you mean --num-docs?"),
        ("bench --num-dox 5", "bench tokenize", "did you mean --num-docs?"),
        ("count --qqqqq", "count", "unknown option --qqqqq\n"),
        ("count -q", "count", "unknown option -q\n"),
        ("status a b", "status", "unexpected argument b\n"),
    ],
)
def test_an_unknown_option_gets_its_own_usage_and_the_nearest_name(
    arguments: str, usage: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments.split())
    assert stopped.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"usage: tokenmill {usage} ")
    assert words in printed.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("pakc a", "unknown command 'pakc'; did you mean pack?"),
        ("bench tokenise", "unknown command 'tokenise'; did you mean tokenize?"),
        ("bench 1000", "unknown command '1000'"),
        ("--hepl", "unknown option --hepl; did you mean --help?"),
        ("", "expected a command: pack, pretokenize,"),
    ],
)
def test_an_unknown_command_gets_the_nearest_name(
    arguments: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments.split())
    assert stopped.value.code == 2
    assert words in capsys.readouterr().err


def test_bench_alone_measures_tokenize(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[int] = []
    monkeypatch.setattr(
        "tokenmill._cli._bench.tokenize._run", lambda options: seen.append(options.num_docs)
    )
    assert main(["bench", "--num-docs", "1000"]) == 0
    assert main(["bench"]) == 0
    assert seen == [1000, 1000]
    with pytest.raises(SystemExit):
        main(["bench", "--help"])
    assert "what to measure" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "option", "in_python", "in_a_shell"),
    [
        ("count", Option("errors", "replace"), 'errors="replace"', "--errors replace"),
        ("count", Option("pattern"), "pattern=", "--pattern"),
        ("inspect out", Option("tokenizer"), "tokenizer=", "--tokenizer"),
        ("pack x", Option("force", True), "force=True", "--force"),
        ("pack x", Option("eos", False), "eos=False", "--no-eos"),
        ("pack x", Option("context_length", 8), "context_length=8", "--context-length 8"),
        ("pretokenize", Option("context_length", 8), "context_length=8", "--chunk-size 8"),
        ("pretokenize", Option("field"), "field=", "--text-column"),
        ("count", Option("max_length", 8), "max_length=8", "max_length=8"),  # no option of count
    ],
)
def test_a_hint_names_an_option_as_each_face_spells_it(
    command: str, option: Option, in_python: str, in_a_shell: str
) -> None:
    error = TokenmillError("wrong", where="here", hint=Hint("use {}, or not", option))
    parser = _parser().parse_args(command.split()).parser
    for one in (error, pickle.loads(pickle.dumps(error))):  # noqa: S301
        assert str(one) == f"here: wrong; hint: use {in_python}, or not"
        assert message_of(one, parser) == f"here: wrong; hint: use {in_a_shell}, or not"


@pytest.mark.parametrize(
    ("where", "printed"),
    [("max_bad", "--max-bad"), ("inputs", "INPUT"), ("a.jsonl", "a.jsonl"), ("epochs", "epochs")],
)
def test_a_wrong_value_is_blamed_on_the_option_of_the_command(
    where: str, printed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise OptionError("wrong value", where=where)

    monkeypatch.setattr("tokenmill._cli.pack._run", fail)
    assert main(["pack", "x"]) == 2
    assert capsys.readouterr().err == f"tokenmill: {printed}: wrong value\n"
