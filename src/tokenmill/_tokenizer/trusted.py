"""Parts of a text, some of them trusted -> ids: text of others never becomes a control token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokenmill import _core
from tokenmill._calls.options import ERROR_MODES, thread_count
from tokenmill._checks import one_of
from tokenmill._errors import EncodeError, OptionError, TextTypeError, UnsupportedTokenizer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tokenmill._model.ready import Ready

_BIG = 1 << 20  # bytes of text that are worth several threads, as in the core


class TrustedParts:
    """A model, and the control tokens that calls have named so far."""

    def __init__(self, ready: Ready) -> None:
        self._ready = ready
        self._control: dict[tuple[str, ...], _core.ControlTokens] = {}
        self._guarded: dict[tuple[str, ...], tuple[_core.Model, _core.ControlTokens]] = {}

    def encode(
        self,
        parts: Iterable[tuple[Any, bool]],
        *,
        control: Sequence[str] = (),
        add_special_tokens: bool = False,
        errors: str = "strict",
        stop: _core.Stop | None = None,
    ) -> NDArray[np.uint32]:
        """Return the ids of the joined parts; `control` names more control tokens."""
        texts, trusted = _separate(parts)
        policy = ERROR_MODES[one_of("errors", errors, ERROR_MODES)]
        names = tuple(control)
        model = self._ready.model
        if not isinstance(model, _core.Model):
            known = {*self._special_ids(), *self._ids_of(names)}
            joined, flags = _joined(texts, trusted, policy)
            row = model.encode_spans([joined], 1, 32, add_special_tokens, 0, policy, True)
            return _checked(row, known, joined, flags)
        threads = thread_count(None) if sum(map(len, texts)) >= _BIG else 1
        given = add_special_tokens, policy, threads, stop
        ids, leaked = _core.encode_parts(model, texts, trusted, self._control_of(names), *given)
        if leaked:
            model, found = self._guarded_model(names)
            ids, leaked = _core.encode_parts(model, texts, trusted, found, *given)
        if leaked:
            raise EncodeError(
                f"{leaked} control tokens came out of text that is not trusted",
                hint="please report this tokenizer: it must not happen",
            )
        return ids

    def _control_of(self, names: tuple[str, ...]) -> _core.ControlTokens:
        found = self._control.get(names)
        if found is None:
            ids = self._ids_of(names)
            found = self._control[names] = _core.ControlTokens(self._ready.model, ids)
        return found

    def _guarded_model(self, names: tuple[str, ...]) -> tuple[_core.Model, _core.ControlTokens]:
        """Return a model whose vocabulary lacks the control tokens: some hold them as words."""
        found = self._guarded.get(names)
        if found is None:
            from tokenmill._model.guarded import model_without

            ids = self._ids_of(names)
            model = model_without(self._ready, {*self._special_ids(), *ids})
            found = self._guarded[names] = model, _core.ControlTokens(model, ids)
        return found

    def _special_ids(self) -> list[int]:
        return list(self._ready.meta["special_tokens"].values())

    def _ids_of(self, names: tuple[str, ...]) -> list[int]:
        if not names:
            return []
        added = self._ready.meta["added_tokens"]
        for name in names:
            if name not in added:
                raise OptionError(
                    f"control: expected added tokens of the tokenizer, got {name!r}",
                    hint="only added tokens are found in text before it is split",
                )
        return [added[name] for name in names]


def _separate(parts: Iterable[tuple[Any, bool]]) -> tuple[list[Any], list[bool]]:
    """Split the pairs; a flag that is no bool is refused, because "no" would count as true."""
    texts, trusted = [], []
    for number, part in enumerate(parts):
        if not isinstance(part, tuple | list) or len(part) != 2 or not isinstance(part[1], bool):  # noqa: PLR2004
            raise TextTypeError(
                f"parts: expected pairs (text, True or False), got {part!r:.80}", document=number
            )
        texts.append(part[0])
        trusted.append(part[1])
    return texts, trusted


def _joined(texts: list[Any], trusted: list[bool], policy: int) -> tuple[str, list[bool]]:
    """Return the whole text, and a flag for each of its characters."""
    how = "replace" if policy else "strict"
    plain = [text if isinstance(text, str) else bytes(text).decode("utf-8", how) for text in texts]
    flags = [flag for text, flag in zip(plain, trusted, strict=True) for _ in text]
    return "".join(plain), flags


def _checked(
    row: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
    control: set[int],
    text: str,
    flags: list[bool],
) -> NDArray[np.uint32]:
    """Return what the reference library encoded, unless a control token is not trusted.

    The library knows no trust, so that such a text cannot be encoded at all.
    """
    ids, _, spans = row
    for token, (begin, end) in zip(ids.tolist(), spans.reshape(-1, 2).tolist(), strict=True):
        found = text[begin:end].strip()  # a token may take the blanks around it
        start = begin + text[begin:end].find(found)
        if token in control and not all(flags[start : start + len(found)]):
            raise UnsupportedTokenizer(
                f"expected no control token outside trusted text, got {found!r}",
                where="encode_parts",
                hint="the native engine can encode it as text, the reference library cannot",
            )
    return ids
