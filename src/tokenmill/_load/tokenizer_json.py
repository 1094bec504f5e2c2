"""tokenizer.json of the `tokenizers` library -> TokenizerSpec."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokenmill._errors import LoadError
from tokenmill._load.added_tokens import read_added_tokens, written_contents
from tokenmill._load.bpe import read_byte_bpe, read_character_bpe
from tokenmill._load.decoder import read_decoder
from tokenmill._load.fields import member, shown
from tokenmill._load.normalizer import read_normalizer
from tokenmill._load.post_processor import read_post_processor
from tokenmill._load.pre_tokenizer import read_pre_tokenizer
from tokenmill._load.unigram import read_pieces, read_unigram
from tokenmill._load.vocabulary import read_vocab
from tokenmill._load.wordlevel import read_wordlevel
from tokenmill._load.wordpiece import read_wordpiece
from tokenmill._spec import TokenizerSpec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokenmill._load.pre_tokenizer import Splitting

_KINDS = {"BPE": "bpe", "Unigram": "unigram", "WordPiece": "wordpiece", "WordLevel": "wordlevel"}
_WORDPIECE_MEMBERS = {"unk_token", "continuing_subword_prefix", "max_input_chars_per_word"}


def read_tokenizer_json(
    data: dict[str, Any], source: bytes, name: str, *, exact_scores: bool = False
) -> TokenizerSpec:
    """Read a parsed file; `source` is its text, kept for the reference library.

    `exact_scores`: take numbers at face value, not as the library would round them.
    """
    section = member(data, "model", dict, "")
    kind = _model_kind(section)
    vocab = read_pieces(section) if kind == "unigram" else read_vocab(section)
    # The library counts entries, so two equal pieces count twice.
    added_tokens, notes = read_added_tokens(data.get("added_tokens"), vocab, len(section["vocab"]))
    normalizer, reasons = read_normalizer(data.get("normalizer"))
    splitting = read_pre_tokenizer(data.get("pre_tokenizer"))
    frame = read_post_processor(data.get("post_processor"))
    written, decode_reasons = written_contents(added_tokens, normalizer)
    if kind == "bpe":
        read_bpe = read_byte_bpe if splitting.byte_level else read_character_bpe
        read = read_bpe(section, vocab, written)
    elif kind == "unigram":
        read = read_unigram(section, vocab, None if exact_scores else source)
    else:
        read = (read_wordpiece if kind == "wordpiece" else read_wordlevel)(section, vocab)
    tokens = _tokens(kind, section, vocab)
    decoder = read_decoder(data.get("decoder"), read.model, tokens, added_tokens, written)
    return TokenizerSpec(
        name=name,
        kind=kind,
        model=read.model,
        added_tokens=added_tokens,
        normalizer=tuple(normalizer),
        split=tuple(splitting.steps),
        add_prefix_space=splitting.add_prefix_space,
        prefix_ids=frame.prefix_ids,
        suffix_ids=frame.suffix_ids,
        metaspace=splitting.metaspace,
        texts=decoder.texts,
        decoder=decoder.steps,
        single=frame.single,
        pair=frame.pair,
        trim_offsets=frame.trim_offsets,
        reference="tokenizers",
        unsupported=(
            *read.reasons,
            *reasons,
            *splitting.reasons,
            *_stand_ins(kind, splitting),
            *_first_word(splitting, data.get("normalizer")),
            *frame.reasons,
        ),
        unsupported_decode=(*decoder.reasons, *decode_reasons),
        notes=(*notes, *_left_out(data)),
        source=source,
    )


def _model_kind(section: dict[str, Any]) -> str:
    if "type" in section:
        stated = member(section, "type", str, "model")
        if stated in _KINDS:
            return _KINDS[stated]
        raise LoadError(f"model.type: expected one of {sorted(_KINDS)}, got {shown(stated)}")
    # Old files omit it; the library then takes the first that fits, in this order.
    if section.get("merges") is not None:
        return "bpe"
    if section.keys() >= _WORDPIECE_MEMBERS:
        return "wordpiece"
    if type(section.get("vocab")) is list:
        return "unigram"
    if "unk_token" in section:
        return "wordlevel"
    problem = f"model: expected a type, or members that imply it, got {sorted(section)[:8]}"
    raise LoadError(problem)


def _stand_ins(kind: str, splitting: Splitting) -> list[str]:
    """Report words in the byte-level alphabet under a model whose tokens are read as text."""
    if kind == "bpe" or not splitting.byte_level:
        return []
    return [f"pre-tokenizer ByteLevel before a model of the kind {kind!r}"]


def _first_word(splitting: Splitting, normalizer: object) -> list[str]:
    """Report cases where the first word may not be the one that begins the text.

    The library asks where a word began before normalizing, and that is not at the beginning if
    the normalizer has removed something there.
    """
    space = splitting.metaspace
    if space is None or space.prepend != "first" or not space.after or normalizer is None:
        return []
    return ["Metaspace with prepend_scheme first after a split of normalized text"]


def _tokens(kind: str, section: dict[str, Any], vocab: dict[str, int]) -> Iterable[tuple[str, int]]:
    """List tokens with their ids; two pieces of a Unigram model may be written alike."""
    if kind != "unigram":
        return vocab.items()
    return ((piece[0], index) for index, piece in enumerate(section["vocab"]))


def _left_out(data: dict[str, Any]) -> list[str]:
    return [
        f'the "{key}" section is ignored: every text is encoded whole and alone'
        for key in ("truncation", "padding")
        if data.get(key) is not None
    ]
