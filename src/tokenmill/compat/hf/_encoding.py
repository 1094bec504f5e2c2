"""Encoding: the tokens of one row, as `tokenizers.Encoding` shows them."""

# ruff: noqa: ANN401 -- objects of the library have no types here
from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tokenmill.compat.hf._library import library

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokenmill.compat.hf._backend import PeerRun
    from tokenmill.compat.hf._layout import Rows
    from tokenmill.compat.hf._one_row import OneRow
    from tokenmill.compat.hf._template import Template

_FROM_PEER = frozenset({
    "char_to_token", "char_to_word", "offsets", "token_to_chars", "token_to_sequence",
    "token_to_word", "word_ids", "word_to_chars", "word_to_tokens", "words",
})  # fmt: skip


class Batch(NamedTuple):
    """What the encodings of one call share.

    `spell` writes the ids of texts as tokens, or says by None that only the peer can.
    """

    template: Template
    rows: Rows | OneRow
    run: PeerRun
    pad_token: str
    spell: Callable[[Any], list[str] | None]


class Encoding:
    """One row of a call.

    Ids, type ids and masks are there; offsets, words and what else only the library knows are
    asked for when they are first needed. Once changed in place, all of it is the library's.
    """

    __slots__ = ("_batch", "_peer", "_row")

    def __init__(self, batch: Batch | None = None, row: int = 0, peer: Any = None) -> None:
        self._batch = batch
        self._row = row
        self._peer = (
            peer if batch is not None or peer is not None else library("tokenizers").Encoding()
        )

    @property
    def ids(self) -> list[int]:
        """The ids."""
        return self._list("ids")

    @property
    def type_ids(self) -> list[int]:
        """The type of each token: 0 or 1 for the first and the second text, mostly."""
        return self._list("type_ids")

    @property
    def special_tokens_mask(self) -> list[int]:
        """1 for what was put around the texts."""
        return self._list("special_tokens_mask")

    @property
    def attention_mask(self) -> list[int]:
        """0 for padding."""
        return self._list("attention_mask")

    @property
    def n_sequences(self) -> int:
        """The number of texts."""
        if self._batch is not None:
            return self._batch.template.n_sequences
        n: int = self._peer.n_sequences
        return n

    @property
    def sequence_ids(self) -> list[int | None]:
        """The text that each token is of, None for what was put around them."""
        batch = self._batch
        found: list[int | None] = []
        for part, size in self._parts(batch) if batch is not None else ():
            found += [part] * size
        # A text with nothing around it owns its padding too, if it is alone: ask.
        if batch is None or (len(found) < len(self) and not batch.template.added):
            asked: list[int | None] = self._real().sequence_ids
            return asked
        return self._padded(batch, found, None)

    @property
    def tokens(self) -> list[str]:
        """The tokens as strings."""
        batch = self._batch
        found = None if batch is None else self._spelled(batch)
        if found is None:
            tokens: list[str] = self._real().tokens
            return tokens
        return found

    @property
    def overflowing(self) -> list[Encoding]:
        """What truncation cut off, as encodings."""
        return [Encoding(peer=peer) for peer in self._real().overflowing]

    def pad(self, length: int, **options: Any) -> None:
        """Pad in place: direction, pad_id, pad_type_id, pad_token."""
        self._taken_over().pad(length, **options)

    def truncate(self, max_length: int, stride: int = 0, direction: str = "right") -> None:
        """Cut in place; what is cut off goes to `overflowing`."""
        self._taken_over().truncate(max_length, stride, direction)

    def set_sequence_id(self, sequence_id: int) -> None:
        """Say which text all tokens are of."""
        self._taken_over().set_sequence_id(sequence_id)

    @staticmethod
    def merge(encodings: Sequence[Any], growing_offsets: bool = True) -> Encoding:
        """Join encodings into one."""
        peers = [e._real() if isinstance(e, Encoding) else e for e in encodings]  # noqa: SLF001
        merged = library("tokenizers").Encoding.merge(peers, growing_offsets)
        return Encoding(peer=merged)

    def __len__(self) -> int:
        if self._batch is None:
            return len(self._peer)
        return self._batch.rows.width(self._row)

    def __repr__(self) -> str:
        return (
            f"Encoding(num_tokens={len(self)}, attributes=[ids, type_ids, tokens, offsets, "
            "attention_mask, special_tokens_mask, overflowing])"
        )

    def __getattr__(self, name: str) -> Any:
        if name in _FROM_PEER:
            return getattr(self._real(), name)
        raise AttributeError(f"'Encoding' object has no attribute {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return Encoding, (None, 0, self._real())

    def _list(self, name: str) -> list[int]:
        if self._batch is None:
            values: list[int] = getattr(self._peer, name)
            return values
        return self._batch.rows.row(name, self._row)

    def _real(self) -> Any:
        if self._peer is None:
            assert self._batch is not None  # noqa: S101 -- for the type checker
            sample, number = self._batch.rows.origin(self._row)
            peer = self._batch.run.encodings()[sample]
            self._peer = peer if number == 0 else peer.overflowing[number - 1]
        return self._peer

    def _taken_over(self) -> Any:
        peer = self._real()
        self._batch = None
        return peer

    def _parts(self, batch: Batch) -> list[tuple[int | None, int]]:
        """Return the parts of the row: the text, or None for a token put in, and its length."""
        sizes = batch.rows.sizes(self._row)
        texts = [part.sequence for part in batch.template.parts]
        return [(text, 1 if text is None else sizes[text]) for text in texts]

    def _spelled(self, batch: Batch) -> list[str] | None:
        place, all_ids = batch.rows.lead(self._row), self._list("ids")
        tokens: list[str] = []
        for part, (text, size) in zip(batch.template.parts, self._parts(batch), strict=True):
            ids = all_ids[place : place + size]
            found = [part.token] if text is None else batch.spell(ids)
            if found is None:
                return None
            tokens += found
            place += size
        return self._padded(batch, tokens, batch.pad_token)

    def _padded(self, batch: Batch, values: list[Any], pad: object) -> list[Any]:
        before = batch.rows.lead(self._row)
        after = len(self) - before - len(values)
        return [pad] * before + values + [pad] * after


def spelled(
    ids: list[int], risky: frozenset[int], id_to_token: Callable[[int], str | None]
) -> list[str] | None:
    """Write ids as tokens; None if one may stand for text that is spelled otherwise."""
    if not risky.isdisjoint(ids):
        return None
    tokens = [id_to_token(token_id) for token_id in ids]
    return None if None in tokens else tokens  # type: ignore[return-value]
