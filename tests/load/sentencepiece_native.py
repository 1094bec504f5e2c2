"""A SentencePiece file in the native engine, in every way to run it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from tests.models import ENCODE, TINY, Way, make_model

from tokenmill import Tokenizer, _core
from tokenmill._compile import compile_spec
from tokenmill._model.ready import from_payload

if TYPE_CHECKING:
    from typing import Literal

    from tokenmill._spec import TokenizerSpec


class NativeSentencePiece:
    """Encodes on every target, with word tables of both sizes; decodes at once and in pieces."""

    def __init__(self, spec: TokenizerSpec) -> None:
        payload = compile_spec(spec)
        ways = [Way(target, 1, shrink) for target in _core.targets() for shrink in (0, TINY)]
        self._models = [make_model(payload, way) for way in ways]
        self._tokenizer = Tokenizer(from_payload(payload))

    def check(self, library: Any, text: str) -> None:  # has no types
        """Compare ids, and offsets where the library has any."""
        ids = library.encode(text)
        for model in self._models:
            # Twice: the second time the word tables know the words.
            assert model.encode(text, False, ENCODE, 0).tolist() == ids, text
            assert model.encode(text, False, ENCODE, 0).tolist() == ids, text
        self._check_spans(library, text, "char")
        self._check_spans(library, text, "byte")

    def _check_spans(self, library: Any, text: str, unit: Literal["char", "byte"]) -> None:
        batch = self._tokenizer.encode_batch([text], offsets=unit, threads=1)
        try:
            found = library.encode(text, return_type="offset_mapping", return_bytes=unit == "byte")
        except RuntimeError:  # it fails at control pieces in a text, which BPE can have
            return
        spans = np.asarray(batch.spans).reshape(-1, 2).tolist()
        assert spans == [list(place) for place in found["offsets"]], text

    def check_decode(self, library: Any, ids: list[int]) -> None:
        """Compare decoding at once, in pieces, and without control pieces."""
        expected = library.decode(ids)
        assert self._tokenizer.decode(ids) == expected, ids
        stream = self._tokenizer.decode_stream()
        assert "".join([stream.push(i) for i in ids]) + stream.finish() == expected, ids
        kept = [i for i in ids if not library.is_control(i)]
        assert self._tokenizer.decode(ids, skip_special_tokens=True) == library.decode(kept), ids
