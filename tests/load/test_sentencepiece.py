"""SentencePiece files become specs that say what the library does, and tokenizers that do it."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import numpy as np
import pytest
import sentencepiece
from tests.load.sentencepiece_models import (
    BPE,
    BYTES,
    CHAR,
    CONTROL,
    SPACE,
    UNIGRAM,
    UNK,
    UNUSED,
    USER_DEFINED,
    WORD,
    Piece,
    bytes_field,
    model_file,
    piece_field,
    trained,
)

from tokenmill import (
    LoadError,
    MissingDependency,
    ReferencePathWarning,
    Tokenizer,
    UnsupportedTokenizer,
)
from tokenmill._load.sentencepiece import read_sentencepiece
from tokenmill._load.source import load_source
from tokenmill._spec import NO_RANK, AddedToken, BpeModel, UnigramModel, WordLevelModel

if TYPE_CHECKING:
    from pathlib import Path

LETTERS = [Piece("a", -4.0), Piece("b", -5.0)]


def bpe(*pieces: Piece) -> BpeModel:
    model = read_sentencepiece(model_file([UNK, *pieces], model_type=BPE), "x").model
    assert isinstance(model, BpeModel)
    return model


def test_bpe_ranks_pieces_by_score_and_characters_not_at_all() -> None:
    model = bpe(*LETTERS, Piece("ab", -2.0), Piece("ba", -1.0), Piece("aba", -2.0))
    assert model.symbols == "characters"
    assert model.ranks is not None
    assert model.ranks.tolist() == [NO_RANK, NO_RANK, NO_RANK, 1, 0, 1]
    assert model.tokens == (None, b"a", b"b", b"ab", b"ba", b"aba")
    assert (model.unk_id, model.fuse_unk, model.byte_ids) == (0, True, None)


def test_zero_with_a_sign_is_less_than_zero() -> None:
    model = bpe(*LETTERS, Piece("ab", -0.0), Piece("ba", 0.0))
    assert model.ranks is not None
    assert model.ranks.tolist()[3:] == [1, 0]


def test_user_defined_pieces_are_cut_out_by_bpe_and_scored_by_unigram() -> None:
    pieces = [UNK, *LETTERS, Piece("<x>", -9.0, USER_DEFINED)]
    cut = read_sentencepiece(model_file(pieces, model_type=BPE), "x")
    assert cut.added_tokens == (AddedToken("<x>", 3, special=False, normalized=True),)
    assert cut.model.tokens[3] is None  # type: ignore[union-attr]
    scored = read_sentencepiece(model_file(pieces), "x")
    assert scored.added_tokens == ()
    assert isinstance(scored.model, UnigramModel)
    assert scored.model.scores[3] == np.float32(0.2)
    for spec in (cut, scored):
        assert spec.sentencepiece is not None
        assert spec.sentencepiece.protected == ("<x>",)


def test_only_what_a_text_can_hold_is_a_token_of_unigram() -> None:
    pieces = [UNK, Piece("<s>", 0.0, CONTROL), *LETTERS, Piece("ab", -99.0, UNUSED), *BYTES]
    model = read_sentencepiece(model_file(pieces, byte_fallback=True), "x").model
    assert isinstance(model, UnigramModel)
    assert model.tokens[:5] == (None, None, b"a", b"b", None)
    assert model.whole_text
    assert model.scores.min() == -5.0
    assert model.byte_ids == tuple(range(5, 261))


def test_the_other_models() -> None:
    pieces = [UNK, *LETTERS, Piece("ab", -1.0)]
    char = read_sentencepiece(model_file(pieces, model_type=CHAR), "x")
    assert char.model.tokens == (None, b"a", b"b", None)  # type: ignore[union-attr]
    assert char.unsupported == ()
    word = read_sentencepiece(model_file(pieces, model_type=WORD), "x")
    assert isinstance(word.model, WordLevelModel)
    assert word.unsupported == ("unknown words in a row are one",)


def test_options_and_their_defaults() -> None:
    data = piece_field(UNK) + piece_field(LETTERS[0])
    spec = read_sentencepiece(data, "x")
    assert spec.kind == "unigram"
    rules = spec.sentencepiece
    assert rules is not None
    assert (rules.add_dummy_prefix, rules.remove_extra_whitespaces) == (True, True)
    assert (rules.escape_whitespaces, rules.whitespace_as_suffix) == (True, False)
    changed = model_file([UNK, LETTERS[0]], suffix=True, escape=False, dummy=True)
    rules = read_sentencepiece(changed, "x").sentencepiece
    assert rules is not None
    assert (rules.add_dummy_prefix, rules.remove_extra_whitespaces) == (True, False)
    assert (rules.escape_whitespaces, rules.whitespace_as_suffix) == (False, True)


@pytest.mark.parametrize(
    ("dummy", "remove_extra", "strip"),
    [(False, False, "none"), (True, False, "first"), (False, True, "all"), (True, True, "all")],
)
def test_what_decoding_strips(dummy: bool, remove_extra: bool, strip: str) -> None:
    data = model_file([UNK, *LETTERS], dummy=dummy, remove_extra=remove_extra)
    decoder = read_sentencepiece(data, "x").sentencepiece_decoder
    assert decoder is not None
    assert decoder.strip == strip


def test_the_text_of_the_unknown_piece() -> None:
    data = model_file([UNK, *LETTERS], trainer=bytes_field(44, b"?"))
    decoder = read_sentencepiece(data, "x").sentencepiece_decoder
    assert decoder is not None
    assert (decoder.unk_id, decoder.unk_surface) == (0, "?")


@pytest.mark.parametrize(
    ("pieces", "reason"),
    [
        ([*LETTERS, Piece("ab", -1.0, UNUSED)], "1 unused pieces are taken apart"),
        ([*LETTERS, Piece("abc", -1.0)], r"1 characters are in longer pieces only.*U\+0063"),
        ([*LETTERS, Piece("ab", float("nan"))], "not finite"),
        ([Piece("a" * n, 0.0, USER_DEFINED) for n in range(1, 66)], "65 user-defined pieces"),
    ],
)
def test_what_the_spec_cannot_say_is_a_reason(pieces: list[Piece], reason: str) -> None:
    spec = read_sentencepiece(model_file([UNK, *pieces], model_type=BPE), "x")
    with pytest.raises(AssertionError, match=reason):
        assert spec.unsupported == ()


def test_a_denormalizer_is_a_reason() -> None:
    data = model_file([UNK, *LETTERS]) + bytes_field(5, bytes_field(2, b"any"))
    assert read_sentencepiece(data, "x").unsupported_decode == ("a denormalizer",)


def test_the_charsmap_decides_about_the_hash(tmp_path: Path) -> None:
    rules = tmp_path / "rules.tsv"
    hashes = set()
    for target in ("61", "62"):
        rules.write_text(f"41\t{target}\n")
        data = trained(
            ["ab ba"], model_type="char", vocab_size=9, normalization_rule_tsv=str(rules)
        )
        hashes.add(read_sentencepiece(data, "x").content_hash)
    assert len(hashes) == 2


@pytest.mark.parametrize(
    "name", ["tokenizer.model", "spiece.model", "mine.model", "tokenizer_v7.model.v3"]
)
def test_a_directory_is_searched(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(model_file([UNK, *LETTERS]))
    assert load_source(tmp_path).reference == "sentencepiece"
    assert load_source(tmp_path / name).vocab_size == 3


def test_two_models_in_a_directory_are_a_question(tmp_path: Path) -> None:
    for name in ("one.model", "two.model"):
        (tmp_path / name).write_bytes(model_file([UNK, *LETTERS]))
    with pytest.raises(FileNotFoundError, match=r"got 2 \*\.model"):
        load_source(tmp_path)


def test_options_of_rank_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.model"
    path.write_bytes(model_file([UNK, *LETTERS]))
    with pytest.raises(LoadError, match=r"no pattern.*SentencePiece"):
        load_source(path, pattern="gpt2")


def loaded(directory: Path, data: bytes) -> Tokenizer:
    path = directory / "tokenizer.model"
    path.write_bytes(data)
    return Tokenizer.load(path)


@pytest.mark.filterwarnings("ignore::tokenmill.ReferencePathWarning")
@pytest.mark.parametrize("model_type", [UNIGRAM, BPE, WORD, CHAR])
def test_a_loaded_file_gives_what_the_library_gives(tmp_path: Path, model_type: int) -> None:
    pieces = [UNK, Piece("<s>", 0.0, CONTROL), *LETTERS, Piece(SPACE, -2.0), Piece("ab", -1.0)]
    data = model_file(pieces, model_type=model_type, dummy=True)
    library = sentencepiece.SentencePieceProcessor(model_proto=data)
    tokenizer = loaded(tmp_path, data)
    assert tokenizer.describe().path == ("reference" if model_type == WORD else "native")
    texts = ["", "a", "ab ba", " <s>ab", "zz\U0001f600 ", "a\x00b"]
    for text in texts:
        ids = library.encode(text)
        assert tokenizer.encode(text).tolist() == ids
        assert tokenizer.decode(ids) == library.decode(ids)
    assert [row.tolist() for row in tokenizer.encode_batch(texts)] == library.encode(texts)
    assert tokenizer.encode(b"ab").tolist() == library.encode("ab")


def test_pieces_are_found_by_name(tmp_path: Path) -> None:
    tokenizer = loaded(tmp_path, model_file([UNK, Piece("<s>", 0.0, CONTROL), *LETTERS]))
    assert tokenizer.vocab_size == 4
    assert tokenizer.token_to_id("<s>") == 1
    assert tokenizer.token_to_id("<unk>") == 0
    assert tokenizer.token_to_id("nothing") is None
    assert tokenizer.id_to_token(2) == "a"


def test_a_loaded_file_survives_pickling(tmp_path: Path) -> None:
    tokenizer = loaded(tmp_path, model_file([UNK, *LETTERS]))
    again = pickle.loads(pickle.dumps(tokenizer))  # noqa: S301
    assert again.encode("abz").tolist() == tokenizer.encode("abz").tolist() == [1, 2, 0]


def test_without_the_library_the_way_out_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sentencepiece", None)
    path = tmp_path / "tokenizer.model"
    path.write_bytes(model_file([UNK, *LETTERS]))
    assert Tokenizer.load(path).encode("ab").tolist() == [1, 2]
    path.write_bytes(model_file([UNK, *LETTERS], model_type=WORD))
    with pytest.raises(MissingDependency, match="pip install sentencepiece"):
        Tokenizer.load(path)


def test_what_the_library_must_run_says_why(tmp_path: Path) -> None:
    with pytest.warns(ReferencePathWarning, match="unknown words in a row are one"):
        loaded(tmp_path, model_file([UNK, *LETTERS], model_type=WORD))


def test_what_is_native_is_described(tmp_path: Path) -> None:
    pieces = [UNK, *LETTERS, Piece("<x>", 0.0, USER_DEFINED)]
    told = loaded(tmp_path, model_file(pieces, dummy=True, remove_extra=True)).describe()
    assert (told.path, told.decoder) == ("native", "native")
    assert list(told.normalizer) == [
        "1 texts kept", "extra blanks removed", "a blank in front", "\u2581 for blanks",
    ]  # fmt: skip


def test_it_is_not_saved_as_what_it_is_not(tmp_path: Path) -> None:
    data = model_file([UNK, *LETTERS])
    tokenizer = loaded(tmp_path, data)
    with pytest.raises(UnsupportedTokenizer, match=r"tokenizer\.json"):
        tokenizer.save(tmp_path / "tokenizer.json")
    (tmp_path / "new").mkdir()
    tokenizer.save(tmp_path / "new")
    assert (tmp_path / "new" / "tokenizer.model").read_bytes() == data
