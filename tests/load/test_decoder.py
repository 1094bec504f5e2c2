"""The "decoder" section: which steps it becomes, and where texts have to be kept for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.load.sources import BYTE_LEVEL, added, tokenizer_json, write_json
from tokenizers import Tokenizer

import tokenmill
from tokenmill._load.byte_level import ALPHABET
from tokenmill._load.source import load_source
from tokenmill._spec import DecoderStep

if TYPE_CHECKING:
    from pathlib import Path

    from tokenmill._spec import TokenizerSpec


def load(directory: Path, decoder: dict[str, Any] | None) -> TokenizerSpec:
    return load_source(write_json(directory, tokenizer_json(decoder=decoder)))


def test_decoders_become_steps_and_texts_only_where_bytes_will_not_do(tmp_path: Path) -> None:
    spec = load(tmp_path, decoder=None)
    assert (spec.unsupported, spec.unsupported_decode) == ((), ())
    assert (spec.decoder, "".join(t or "" for t in spec.texts)) == (None, ALPHABET)
    plain = load(tmp_path, decoder={"type": "Sequence", "decoders": [BYTE_LEVEL]})
    assert (plain.decoder, plain.texts) == ((DecoderStep("byte_level"),), ())
    chain = {"type": "Sequence", "decoders": [BYTE_LEVEL, {"type": "Fuse"}]}
    fused = load(tmp_path, decoder=chain)
    assert fused.decoder == (DecoderStep("byte_level"), DecoderStep("fuse"))
    assert len(fused.texts) == 256


def test_a_decoder_we_do_not_know_only_concerns_decoding(tmp_path: Path) -> None:
    spec = load(tmp_path, decoder={"type": "Other"})
    assert (spec.unsupported, spec.unsupported_decode) == ((), ("decoder Other",))


@pytest.mark.parametrize("content", ["<|Start|>", "a  B", " \t x ", "\x1f\x85a\x1cb"])
def test_a_normalized_token_is_written_as_the_normalizer_of_clip_has_it(
    tmp_path: Path, content: str
) -> None:
    blanks = {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": r" \1"}
    steps = [{"type": "NFC"}, blanks, {"type": "Lowercase"}]
    data = tokenizer_json(
        normalizer={"type": "Sequence", "normalizers": steps},
        added=[added(content, 256, normalized=True)],
    )
    path = write_json(tmp_path, data)
    mine, library = tokenmill.Tokenizer.load(path), Tokenizer.from_file(str(path))
    assert (mine.describe().decoder == "native") == content.isascii()
    ids = [97, 256, 98, 256]
    assert mine.decode(ids) == library.decode(ids, skip_special_tokens=False)
