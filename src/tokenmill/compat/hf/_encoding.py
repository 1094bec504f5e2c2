"""Encoding: the tokens of one row, with the surface of `tokenizers.Encoding`."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from tokenmill._post import NO_WORD
from tokenmill.compat.hf._library import library
from tokenmill.compat.hf._places import TokenPlaces

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokenmill.compat.hf._backend import NativeAnswer, PeerRun, TwinBackend
    from tokenmill.compat.hf._rows import BatchRows, SingleRow

# The first argument of these is the number of a token; the others take numbers of any size.
_OF_TOKENS = frozenset({"token_to_chars", "token_to_sequence", "token_to_word"})
_LOOKUPS = _OF_TOKENS | {"char_to_token", "char_to_word", "word_to_chars", "word_to_tokens"}


class SharedRows:
    """The rows that the encodings of one call share.

    `special_texts` are the tokens around the texts. `is_fast`: the call was `encode_batch_fast`.
    """

    def __init__(self, backend: TwinBackend, answer: NativeAnswer) -> None:
        self._backend = backend
        self._answer = answer
        self.rows: BatchRows | SingleRow = answer.rows
        self.run: PeerRun = backend.run(answer.call)
        self.n_sequences = answer.n_sequences
        self.is_fast = answer.call.fast
        self.special_texts: list[str] = backend.special_texts(pair=answer.n_sequences > 1)
        self.pad_token: str = (answer.call.padding or {}).get("pad_token", "")

    @cached_property
    def placed(self) -> BatchRows | SingleRow | None:
        """The rows with offsets and words; None if only the peer knows them."""
        return self._answer.placed()

    def spell(self, ids: list[int]) -> list[str] | None:
        """Return the tokens of ids; None if the library may show the text itself instead."""
        peer = self._backend.peer
        if self.is_fast or type(peer.model).__name__ == "Unigram":
            return None
        return spelled(ids, self._backend.added_ids(), peer.id_to_token)


class Encoding:
    """One row of a call.

    Ids and masks are ready; offsets and words are computed when they are first needed. After a
    change in place, the library answers everything.

    `is_drawn`: the library draws at random which text of this pair it names for a token.
    """

    __slots__ = ("_batch", "_is_drawn", "_peer", "_places", "_row")

    def __init__(
        self,
        batch: SharedRows | None = None,
        row: int = 0,
        peer: Any = None,
        *,
        is_drawn: bool = False,
    ) -> None:
        self._batch = batch
        self._row = row
        self._is_drawn = is_drawn
        self._places: TokenPlaces | None = None
        self._peer = (
            peer if batch is not None or peer is not None else library("tokenizers").Encoding()
        )

    @property
    def ids(self) -> list[int]:
        """The ids."""
        return self._list("ids")

    @property
    def type_ids(self) -> list[int]:
        """The type of each token: usually 0 for the first text and 1 for the second."""
        batch = self._batch
        if batch is not None and batch.is_fast and batch.n_sequences > 1:
            # Without offsets the library leaves types at 0 that no post-processor sets.
            types: list[int] = self._real().type_ids
            return types
        return self._list("type_ids")

    @property
    def special_tokens_mask(self) -> list[int]:
        """1 for special tokens around the texts, 0 for the texts."""
        return self._list("special_tokens_mask", "special_mask")

    @property
    def attention_mask(self) -> list[int]:
        """0 for padding, 1 for other tokens."""
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
        """The text that each token belongs to; None for special tokens around the texts."""
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
        """The word that each token belongs to; None for special tokens around the texts."""
        rows = self._placed_rows()
        return self._real().word_ids if rows is None else _numbered(rows.row("words", self._row))

    @property
    def words(self) -> list[int | None]:
        """The former name of `word_ids`."""
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
        """The parts that truncation cut off, as encodings."""
        return [Encoding(peer=peer) for peer in self._real().overflowing]

    def pad(self, length: int, **options: Any) -> None:
        """Pad in place; the options are direction, pad_id, pad_type_id and pad_token."""
        self._taken_over().pad(length, **options)

    def truncate(self, max_length: int, stride: int = 0, direction: str = "right") -> None:
        """Truncate in place; `overflowing` holds the rest."""
        self._is_drawn = False
        self._taken_over().truncate(max_length, stride, direction)

    def set_sequence_id(self, sequence_id: int) -> None:
        """Make all tokens belong to one text."""
        self._is_drawn = False
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
        return _revive, (self._real().__getstate__(), self._is_drawn)

    def _list(self, name: str, column: str = "") -> list[int]:
        if self._batch is None:
            values: list[int] = getattr(self._peer, name)
            return values
        return self._batch.rows.row(column or name, self._row)

    def _look_up(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Answer from the offsets and words; unusual arguments go to the library."""
        plain = not kwargs and bool(args) and all(type(n) is int and n >= 0 for n in args)
        plain = plain and (name not in _OF_TOKENS or args[0] < len(self))
        if plain and self._is_drawn and name == "token_to_sequence" and len(args) == 1:
            return self.sequence_ids[args[0]]  # one of the answers that the library draws from
        places = self._placed() if plain else None
        return getattr(self._real() if places is None else places, name)(*args, **kwargs)

    def _placed_rows(self) -> BatchRows | SingleRow | None:
        return None if self._batch is None else self._batch.placed

    def _placed(self) -> TokenPlaces | None:
        batch = self._batch
        if self._places is None and batch is not None and not self._is_padded_text(batch):
            rows = batch.placed
            self._places = None if rows is None else self._found(rows)
        return self._places

    def _found(self, rows: BatchRows | SingleRow) -> TokenPlaces:
        ranges, place = {}, rows.lead(self._row)
        for part, size in rows.parts(self._row):
            if part is not None:
                ranges[part] = place, place + size
            place += size
        return TokenPlaces(self.offsets, self.word_ids, self.sequence_ids, ranges)

    def _is_padded_text(self, batch: SharedRows) -> bool:
        """Whether it is padded text without special tokens: then only the library can answer."""
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

    def _spelled(self, batch: SharedRows) -> list[str] | None:
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

    def _padded(self, batch: SharedRows, values: list[Any], pad: object) -> list[Any]:
        before = batch.rows.lead(self._row)
        after = len(self) - before - len(values)
        return [pad] * before + values + [pad] * after


def library_encoding(encoding: Any) -> Any:
    """Return the library's own object for one of ours; anything else is returned as it is."""
    return encoding._real() if isinstance(encoding, Encoding) else encoding  # noqa: SLF001


def _revive(state: bytes, is_drawn: bool) -> Encoding:
    peer = library("tokenizers").Encoding()
    peer.__setstate__(state)
    return Encoding(peer=peer, is_drawn=is_drawn)


def _numbered(words: list[int]) -> list[int | None]:
    return [None if word == NO_WORD else word for word in words]


def spelled(
    ids: list[int], risky: frozenset[int], id_to_token: Callable[[int], str | None]
) -> list[str] | None:
    """Return the tokens of ids; None if a risky one is among them, which may hide other text."""
    if not risky.isdisjoint(ids):
        return None
    tokens = [id_to_token(token_id) for token_id in ids]
    return None if None in tokens else tokens  # type: ignore[return-value]
