"""Tokenizers put together at random and trained by the library: nobody has seen them before."""

from __future__ import annotations

import random
import warnings
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from tests.offsets.tokenizers_of_every_kind import CORPUS, texts
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

import tokenmill

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BAR = "\u2581"
SPECIAL = ["<unk>", "<s>", "</s>", "<pad>"]
BEHAVIORS = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]
PATTERNS = [r"\w+|[^\w\s]+", r"\s+", r"\d{1,3}", " ", "[a-z]+", r"(?=[A-Z])", r"\p{Lu}\p{Ll}*"]
# No two of them are the same when normalized: which one counts is then a matter of chance.
ADDED = ["Word", f"{BAR}x", "<raw>", "e\u0301", "\u4e2d\u6587", "a b", "[MASK]", "trail ", "1"]
NORMALIZERS: list[Callable[[random.Random], Any]] = [
    lambda _: normalizers.NFC(), lambda _: normalizers.NFD(), lambda _: normalizers.NFKC(),
    lambda _: normalizers.Lowercase(), lambda _: normalizers.StripAccents(),
    lambda _: normalizers.Nmt(), lambda _: normalizers.ByteLevel(),
    lambda r: normalizers.Strip(left=r.random() < 0.5, right=r.random() < 0.5),
    lambda r: normalizers.Replace(r.choice([" ", "th", "\n"]), r.choice(["", BAR, "x"])),
    lambda r: normalizers.Replace(Regex(r.choice([" {2,}", r"\s+", r"\d"])), r.choice(["", BAR])),
    lambda r: normalizers.Prepend(r.choice([BAR, " ", "x"])),
    lambda r: normalizers.BertNormalizer(lowercase=r.random() < 0.5),
]  # fmt: skip
PRE_TOKENIZERS: list[Callable[[random.Random], Any]] = [
    lambda _: pre_tokenizers.Whitespace(), lambda _: pre_tokenizers.WhitespaceSplit(),
    lambda _: pre_tokenizers.BertPreTokenizer(), lambda _: pre_tokenizers.UnicodeScripts(),
    lambda r: pre_tokenizers.ByteLevel(r.random() < 0.5, use_regex=r.random() < 0.7),
    lambda r: pre_tokenizers.Digits(r.random() < 0.5),
    lambda r: pre_tokenizers.Punctuation(r.choice(BEHAVIORS)),
    lambda r: pre_tokenizers.FixedLength(r.choice([1, 3, 7])),
    lambda r: pre_tokenizers.Split(
        Regex(r.choice(PATTERNS)), r.choice(BEHAVIORS), invert=r.random() < 0.3
    ),
    lambda r: pre_tokenizers.Metaspace(
        prepend_scheme=r.choice(["always", "never", "first"]), split=r.random() < 0.7
    ),
]  # fmt: skip
DECODERS: list[Callable[[random.Random], Any]] = [
    lambda _: decoders.ByteLevel(), lambda _: decoders.Metaspace(), lambda _: decoders.Fuse(),
    lambda _: decoders.WordPiece(), lambda _: decoders.BPEDecoder(),
    lambda _: decoders.ByteFallback(), lambda _: decoders.Replace(BAR, " "),
    lambda _: decoders.CTC(), lambda r: decoders.Strip(" ", r.randrange(2), 0),
]  # fmt: skip
MODELS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "bpe": lambda: (models.BPE(unk_token="<unk>"), trainers.BpeTrainer),  # noqa: S106
    "bare bpe": lambda: (models.BPE(), trainers.BpeTrainer),
    "wordpiece": lambda: (models.WordPiece(unk_token="<unk>"), trainers.WordPieceTrainer),  # noqa: S106
    "wordlevel": lambda: (models.WordLevel(unk_token="<unk>"), trainers.WordLevelTrainer),  # noqa: S106
    "unigram": lambda: (models.Unigram(), trainers.UnigramTrainer),
}


def chained(
    choose: random.Random, makers: list[Callable[[random.Random], Any]], join: Callable[..., Any]
) -> Any:  # the library has no types
    """Make none, one or a chain of them."""
    made = [choose.choice(makers)(choose) for _ in range(choose.choice([0, 1, 1, 2, 3]))]
    return None if not made else made[0] if len(made) == 1 else join(made)


def composed(choose: random.Random, kind: str) -> Tokenizer:
    model, trainer = MODELS[kind]()
    tokenizer = Tokenizer(model)
    normalizer = chained(choose, NORMALIZERS, normalizers.Sequence)
    pre_tokenizer = chained(choose, PRE_TOKENIZERS, pre_tokenizers.Sequence)
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    options = {"unk_token": "<unk>"} if kind == "unigram" else {}
    tokenizer.train_from_iterator(
        CORPUS, trainer(vocab_size=300, show_progress=False, special_tokens=SPECIAL, **options)
    )
    for content in choose.sample(ADDED, choose.randrange(4)):
        flags = {
            name: choose.random() < 0.3 for name in ("lstrip", "rstrip", "single_word", "special")
        }
        token = AddedToken(content, normalized=choose.random() < 0.5, **flags)
        tokenizer.add_tokens([token])
    if choose.random() < 0.5:
        ids = [(token, tokenizer.token_to_id(token)) for token in SPECIAL[1:3]]
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>", pair="<s> $A </s> $B:1", special_tokens=ids
        )
    decoder = chained(choose, DECODERS, decoders.Sequence)
    if decoder is not None:
        tokenizer.decoder = decoder
    return tokenizer


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", MODELS)
def test_ids_places_and_text_are_those_of_the_library(tmp_path: Path, kind: str, seed: int) -> None:
    choose = random.Random(f"{kind} {seed}")  # noqa: S311
    path = tmp_path / "tokenizer.json"
    path.write_text(composed(choose, kind).to_str(), "utf-8")
    library = Tokenizer.from_file(str(path))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tokenmill.ReferencePathWarning)
        mine = tokenmill.Tokenizer.load(path)
    cases = texts(seed, 60)
    right = library.encode_batch(cases)
    found = mine.encode_batch(cases, add_special_tokens=True)
    assert found.tolist() == [row.ids for row in right]
    bare = library.encode_batch(cases, add_special_tokens=False)
    assert mine.encode_batch(cases).tolist() == [row.ids for row in bare]
    rows = [row.ids for row in right]
    shown = library.decode_batch(rows, skip_special_tokens=False)
    assert mine.decode_batch(rows) == shown
    with warnings.catch_warnings():  # the library has the offsets that the engine does not
        warnings.simplefilter("ignore", tokenmill.ReferencePathWarning)
        places = mine.encode_batch(cases, add_special_tokens=True, offsets="char")
    assert places.spans is not None
    spans = list(map(tuple, places.spans.tolist()))
    bounds = pairwise(places.offsets.tolist())
    assert [spans[a:b] for a, b in bounds] == [row.offsets for row in right]
