"""Encoding: the tokens of one row, as `tokenizers.Encoding` shows them."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from tokenmill._post import NO_WORD
from tokenmill.compat.hf._library import library
from tokenmill.compat.hf._places import Places

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokenmill.compat.hf._backend import Answer, Backend, PeerRun
    from tokenmill.compat.hf._rows import RowAlone, Rows

# The first argument of each is a number of a token, the others take numbers of any size.
_OF_TOKENS = frozenset({"token_to_chars", "token_to_sequence", "token_to_word"})
_LOOKUPS = _OF_TOKENS | {"char_to_token", "char_to_word", "word_to_chars", "word_to_tokens"}


class Batch:
    """What the encodings of one call share; `special_texts` are the tokens around texts."""

    def __init__(self, backend: Backend, answer: Answer) -> None:
        self._backend = backend
        self._answer = answer
        self.rows: Rows | RowAlone = answer.rows
        self.run: PeerRun = backend.run(answer.call)
        self.n_sequences = answer.n_sequences
        self.special_texts: list[str] = backend.special_texts(pair=answer.n_sequences > 1)
        self.pad_token: str = (answer.call.padding or {}).get("pad_token", "")

    @cached_property
    def placed(self) -> Rows | RowAlone | None:
        """The rows with what says where tokens stand; None where only the peer knows."""
        return self._answer.placed()

    def spell(self, ids: list[int]) -> list[str] | None:
        """Write ids as tokens; added tokens and the unknown one may stand for other text."""
        peer = self._backend.peer
        if type(peer.model).__name__ == "Unigram":
            return None
        return spelled(ids, self._backend.added_ids(), peer.id_to_token)


class Encoding:
    """One row of a call.

    Ids, type ids and masks are there; offsets and words are found when they are first needed. Once
    changed in place, all of it is the library's.
    """

    __slots__ = ("_batch", "_peer", "_places", "_row")

    def __init__(self, batch: Batch | None = None, row: int = 0, peer: Any = None) -> None:
        self._batch = batch
        self._row = row
        self._places: Places | None = None
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
        return self._list("special_tokens_mask", "special_mask")

    @property
    def attention_mask(self) -> list[int]:
        """0 for padding."""
        return self._list("attention_mask")

    @property
    def n_sequences(self) -> int:
        """The number of texts."""
        if self._batch is not None:
            return self._batch.n_sequences
        n: int = self._peer.n_sequences
        return n

    @property
    def sequence_ids(self) -> list[int | None]:
        """The text that each token is of, None for what was put around them."""
        batch = self._batch
        if batch is None or self._is_padded_text(batch):
            asked: list[int | None] = self._real().sequence_ids
            return asked
        found: list[int | None] = []
        for part, size in batch.rows.parts(self._row):
            found += [part] * size
        return self._padded(batch, found, None)

    @property
    def offsets(self) -> list[tuple[int, int]]:
        """The (begin, end) of each token in its text."""
        rows = self._placed_rows()
        return self._real().offsets if rows is None else rows.row("spans", self._row)

    @property
    def word_ids(self) -> list[int | None]:
        """The number of the word that each token is of, None for what was put around texts."""
        rows = self._placed_rows()
        return self._real().word_ids if rows is None else _numbered(rows.row("words", self._row))

    @property
    def words(self) -> list[int | None]:
        """The same by its old name."""
        words: list[int | None] = self._real().words
        return words

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
        peers = [library_encoding(encoding) for encoding in encodings]
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
        if name in _LOOKUPS:
            return partial(self._look_up, name)
        raise AttributeError(f"'Encoding' object has no attribute {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return Encoding, (None, 0, self._real())

    def _list(self, name: str, column: str = "") -> list[int]:
        if self._batch is None:
            values: list[int] = getattr(self._peer, name)
            return values
        return self._batch.rows.row(column or name, self._row)

    def _look_up(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Answer from the places; odd numbers are the library's own business."""
        plain = not kwargs and bool(args) and all(type(n) is int and n >= 0 for n in args)
        plain = plain and (name not in _OF_TOKENS or args[0] < len(self))
        places = self._placed() if plain else None
        return getattr(self._real() if places is None else places, name)(*args, **kwargs)

    def _placed_rows(self) -> Rows | RowAlone | None:
        return None if self._batch is None else self._batch.placed

    def _placed(self) -> Places | None:
        batch = self._batch
        if self._places is None and batch is not None and not self._is_padded_text(batch):
            rows = batch.placed
            self._places = None if rows is None else self._found(rows)
        return self._places

    def _found(self, rows: Rows | RowAlone) -> Places:
        ranges, place = {}, rows.lead(self._row)
        for part, size in rows.parts(self._row):
            if part is not None:
                ranges[part] = place, place + size
            place += size
        return Places(self.offsets, self.word_ids, self.sequence_ids, ranges)

    def _is_padded_text(self, batch: Batch) -> bool:
        """Tell whether it is a text with nothing around it, which owns its padding too: ask."""
        parts = batch.rows.parts(self._row)
        inside = sum(size for _, size in parts)
        return inside < len(self) and all(part is not None for part, _ in parts)

    def _real(self) -> Any:
        if self._peer is None:
            assert self._batch is not None  # noqa: S101 -- for the type checker
            sample, number = self._batch.rows.origin(self._row)
            peer = self._batch.run.encodings()[sample]
            self._peer = peer if number == 0 else peer.overflowing[number - 1]
        return self._peer

    def _taken_over(self) -> Any:
        peer = self._real()
        self._batch = self._places = None
        return peer

    def _spelled(self, batch: Batch) -> list[str] | None:
        place, all_ids = batch.rows.lead(self._row), self._list("ids")
        tokens: list[str] = []
        special = iter(batch.special_texts)
        for text, size in batch.rows.parts(self._row):
            ids = all_ids[place : place + size]
            found = [next(special) for _ in ids] if text is None else batch.spell(ids)
            if found is None:
                return None
            tokens += found
            place += size
        return self._padded(batch, tokens, batch.pad_token)

    def _padded(self, batch: Batch, values: list[Any], pad: object) -> list[Any]:
        before = batch.rows.lead(self._row)
        after = len(self) - before - len(values)
        return [pad] * before + values + [pad] * after


def library_encoding(encoding: Any) -> Any:
    """Return the library's own object for one of ours; others are its business."""
    return encoding._real() if isinstance(encoding, Encoding) else encoding  # noqa: SLF001


def _numbered(words: list[int]) -> list[int | None]:
    return [None if word == NO_WORD else word for word in words]


def spelled(
    ids: list[int], risky: frozenset[int], id_to_token: Callable[[int], str | None]
) -> list[str] | None:
    """Write ids as tokens; None if one may stand for text that is spelled otherwise."""
    if not risky.isdisjoint(ids):
        return None
    tokens = [id_to_token(token_id) for token_id in ids]
    return None if None in tokens else tokens  # type: ignore[return-value]
