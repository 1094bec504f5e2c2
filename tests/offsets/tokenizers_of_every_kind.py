"""Small tokenizers of every kind, trained by the reference library, and texts to try them on."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from tests.strategies import EXAMPLES, class_strings
from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

if TYPE_CHECKING:
    from collections.abc import Callable

UNKNOWN, NO_WORD = "<unk>", "[UNK]"
# As byte-level vocabularies write NUL, a digit, first bytes of characters, and a last one.
DROPPED = "\u01007\u00f0\u00c5\u00cd"
CORPUS = [
    "the quick brown fox jumps over the lazy dog, and the dog does not care about the fox",
    "Hello world! Hello there; the world is wide and the words in it are many words",
    "caf\u00e9 na\u00efve r\u00e9sum\u00e9 \u00e9t\u00e9 co\u00f6perate",
    "\u4e2d\u6587\u5b57\u7b26 \u4e2d\u6587 \u65e5\u672c\u8a9e \ud55c\uad6d\uc5b4",
    "for i in range(10):\n    print(i, 100 + 23)\n\n\treturn None",
] * 3
HOSTILE = [
    "e\u0301", "\u00c5", "\ufb01", "\u00bd", "\u2460", "\u0130", "\u00df", "\u1e9e", "\u0149",
    "\ufdfa", "\u1112\u1161\u11ab", "\u0e33", "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\U0001f1e9\U0001f1ea", "\U0001d400", "\U00010348", "\u2581", "\ufeff", "\ufffd", "\u0120",
    "\ud7ff", "\ue000", "\u200b", "\u0300", "\u00a0", "\u3000", "\u2581\u2581", "\u4e2d\u6587",
    "##ing", "[UNK]", "<unk>", "<s>", "<mask>", "<raw>", "Word", "<0x0A>", "\x00", "\x01", "\x7f",
    "the", "Hello", "hello", "don't", "!", ".", "12", "x", "X",
]  # fmt: skip


def texts(seed: int, count: int) -> list[str]:
    """Examples, runs of character classes, and hostile pieces in any order."""
    choose = random.Random(seed)  # noqa: S311
    pieces = [*HOSTILE, " ", "  ", "\n", "\t", " the", " dog", "\r\n"]
    mixed = [
        "".join(choose.choice(pieces) for _ in range(choose.randrange(1, 14))) for _ in range(count)
    ]
    return [*EXAMPLES, *mixed, *class_strings(seed, count // 10, 90)]


def _trained(
    tokenizer: Any,  # the library has no types
    trainer: Any,
    removes: bool = False,
) -> Any:
    tokenizer.train_from_iterator(CORPUS, trainer)
    # The engine leaves it to the library where a normalizer might remove the token's text.
    tokenizer.add_tokens([AddedToken("Word", normalized=not removes)])
    tokenizer.add_special_tokens(
        [AddedToken("<mask>", lstrip=True, rstrip=True), AddedToken("<raw>", normalized=False)]
    )
    return tokenizer


def byte_level(
    prefix: bool,
    post: Any = None,
    normalizer: Any = None,
    lacking: str = "",
) -> Any:
    tokenizer = Tokenizer(models.BPE())
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    tokenizer.decoder = decoders.ByteLevel()
    if post is not None:
        tokenizer.post_processor = post
    trainer = trainers.BpeTrainer(
        vocab_size=420,
        show_progress=False,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=sorted(set(pre_tokenizers.ByteLevel.alphabet()) - set(lacking)),
    )
    return _trained(tokenizer, trainer, removes=isinstance(normalizer, normalizers.Sequence))


def _roberta(prefix: bool) -> Any:
    return processors.RobertaProcessing(("</s>", 1), ("<s>", 0), add_prefix_space=prefix)


def over_characters(byte_fallback: bool, fuse_unk: bool) -> Any:
    """As SentencePiece's BPE: a marker in front and for blanks."""
    tokenizer = Tokenizer(models.BPE(unk_token=UNKNOWN, fuse_unk=fuse_unk))
    marker = "\u2581"
    if byte_fallback:
        steps = [normalizers.Prepend(marker), normalizers.Replace(" ", marker)]
        tokenizer.normalizer = normalizers.Sequence(steps)
        tokenizer.model = models.BPE(unk_token=UNKNOWN, fuse_unk=fuse_unk, byte_fallback=True)
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    special = ["<unk>", "<s>", "</s>"]
    special += [f"<0x{byte:02X}>" for byte in range(256)] * byte_fallback
    trainer = trainers.BpeTrainer(
        vocab_size=len(special) + 120, show_progress=False, special_tokens=special
    )
    return _trained(tokenizer, trainer)


def word_piece(lowercase: bool) -> Any:
    tokenizer = Tokenizer(models.WordPiece(unk_token=NO_WORD, max_input_chars_per_word=20))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[UNK]", "[CLS]", "[SEP]"]
    trainer = trainers.WordPieceTrainer(vocab_size=160, show_progress=False, special_tokens=special)
    tokenizer = _trained(tokenizer, trainer, removes=True)
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    return tokenizer


def unigram(normalizer: Any, pre_tokenizer: Any) -> Any:
    tokenizer = Tokenizer(models.Unigram())
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    trainer = trainers.UnigramTrainer(
        vocab_size=120, show_progress=False, special_tokens=["<unk>", "</s>"], unk_token=UNKNOWN
    )
    return _trained(tokenizer, trainer, removes=isinstance(normalizer, normalizers.Nmt))


def word_level() -> Any:
    tokenizer = Tokenizer(models.WordLevel(unk_token=UNKNOWN))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return _trained(tokenizer, trainers.WordLevelTrainer(special_tokens=["<unk>"]))


def _rewriting() -> Any:
    steps = [
        normalizers.NFKD(),
        normalizers.StripAccents(),
        normalizers.Lowercase(),
        normalizers.Replace("x", "yy"),
    ]
    return normalizers.Sequence(steps)


_MARKED = pre_tokenizers.Metaspace
_AT_WHITE = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), _MARKED()])

KINDS: dict[str, Callable[[], Any]] = {
    "bytes": lambda: byte_level(False),
    "bytes, prefix": lambda: byte_level(True),
    "bytes, trimmed": lambda: byte_level(False, processors.ByteLevel(add_prefix_space=False)),
    "bytes, trimmed, keeps": lambda: byte_level(False, processors.ByteLevel()),
    "bytes, prefix, trimmed": lambda: byte_level(True, _roberta(False)),
    "bytes, prefix, trimmed, keeps": lambda: byte_level(True, _roberta(True)),
    "bytes, NFC": lambda: byte_level(False, None, normalizers.NFC()),
    "bytes, rewritten": lambda: byte_level(True, _roberta(True), _rewriting()),
    "bytes, some dropped": lambda: byte_level(False, lacking=DROPPED),
    "bytes, some dropped, trimmed": lambda: byte_level(True, _roberta(False), lacking=DROPPED),
    "bytes, parts of wide characters dropped": lambda: byte_level(False, lacking="\u00e0\u00ef"),
    "characters, bytes": lambda: over_characters(True, False),
    "characters, unknown": lambda: over_characters(False, False),
    "characters, unknown fused": lambda: over_characters(False, True),
    "wordpiece": lambda: word_piece(False),
    "wordpiece, lowercase": lambda: word_piece(True),
    "unigram": lambda: unigram(normalizers.NFKC(), _MARKED()),
    "unigram, first": lambda: unigram(None, _MARKED(prepend_scheme="first")),
    "unigram at white space": lambda: unigram(normalizers.Nmt(), _AT_WHITE),
    "words": word_level,
}
