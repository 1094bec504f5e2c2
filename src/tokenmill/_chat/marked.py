"""`MarkedText`: a str that knows which of its characters the template wrote itself.

    "<|user|>" + content            content is a plain str
     ^^^^^^^^                       trusted; what follows is not

A plain str is trusted nowhere. Trust begins with the constants of a template and is only carried
on: every method below copies it together with the characters that it belongs to, and whatever is
not defined here returns a plain str, which is trusted nowhere (docs/develop/decisions/0011).
"""

from __future__ import annotations

from functools import lru_cache, reduce
from operator import add
from typing import TYPE_CHECKING, Any, SupportsIndex

if TYPE_CHECKING:
    from collections.abc import Iterable

Range = tuple[int, int]
_SEQUENCES = (tuple, list)


class MarkedText(str):
    """Text and the ranges of its characters that are trusted, in order and apart."""

    _trusted: tuple[Range, ...] = ()  # no slot: most texts are trusted nowhere and never set it

    def __str__(self) -> str:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return marked, (str.__str__(self), self._trusted)

    def __add__(self, other: str) -> MarkedText:
        return join_marked((self, other)) if isinstance(other, str) else NotImplemented

    def __radd__(self, other: str) -> MarkedText:
        return join_marked((other, self)) if isinstance(other, str) else NotImplemented

    def __mul__(self, count: SupportsIndex) -> MarkedText:
        return join_marked([self] * count)

    __rmul__ = __mul__

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        if not isinstance(key, slice):
            index = key.__index__()
            index += len(self) if index < 0 else 0
            text = super().__getitem__(key)  # raises IndexError
            return marked(text, _clipped(self._trusted, index, index + 1))
        begin, end, step = key.indices(len(self))
        return self._part(begin, max(begin, end)) if step == 1 else super().__getitem__(key)

    def join(self, parts: Iterable[str], /) -> MarkedText:
        """Join texts, with this one between them."""
        pieces: list[str] = []
        for part in parts:
            pieces += [self, part] if pieces else [part]
        return join_marked(pieces)

    def strip(self, chars: str | None = None, /) -> MarkedText:
        """Remove characters on both sides."""
        text = super().strip(chars)
        begin = 0 if len(text) == len(self) else len(self) - len(super().lstrip(chars))
        return self._part(begin, begin + len(text))

    def lstrip(self, chars: str | None = None, /) -> MarkedText:
        """Remove characters on the left."""
        return self._part(len(self) - len(super().lstrip(chars)), len(self))

    def rstrip(self, chars: str | None = None, /) -> MarkedText:
        """Remove characters on the right."""
        return self._part(0, len(super().rstrip(chars)))

    def removeprefix(self, prefix: str, /) -> MarkedText:
        """Remove a text in front."""
        return self._part(len(prefix) if prefix and self.startswith(prefix) else 0, len(self))

    def removesuffix(self, suffix: str, /) -> MarkedText:
        """Remove a text at the end."""
        cut = len(suffix) if suffix and self.endswith(suffix) else 0
        return self._part(0, len(self) - cut)

    def replace(self, old: str, new: str, count: SupportsIndex = -1, /) -> str:
        """Replace a text; what comes in has the trust that it brings along."""
        if not old:
            return super().replace(old, new, count)  # between all characters: trusted nowhere
        return join_marked(_between(self.split(old, count), new))

    def split(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[str]:
        """Cut at each `sep`, or at white space."""
        pieces = super().split(sep, maxsplit)
        return self._found(pieces) if sep is None else self._apart(pieces, len(sep))

    def rsplit(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[str]:
        """Cut at each `sep`, or at white space, from the right."""
        pieces = super().rsplit(sep, maxsplit)
        return pieces if sep is None else self._apart(pieces, len(sep))  # or trusted nowhere

    def splitlines(self, keepends: bool = False) -> list[str]:
        """Cut at the ends of lines."""
        return self._found(super().splitlines(keepends))

    def partition(self, sep: str, /) -> tuple[str, str, str]:
        """Cut at the first `sep`."""
        first, found, rest = super().partition(sep)
        return self._three(len(first), len(found), len(rest))

    def rpartition(self, sep: str, /) -> tuple[str, str, str]:
        """Cut at the last `sep`."""
        first, found, rest = super().rpartition(sep)
        return self._three(len(first), len(found), len(rest))

    def trusted_ranges(self) -> tuple[Range, ...]:
        """Return the trusted ranges. A template may call it, too: it learns nothing new."""
        return self._trusted

    def _three(self, first: int, found: int, rest: int) -> tuple[str, str, str]:
        middle = first + found
        return self._part(0, first), self._part(first, middle), self._part(middle, middle + rest)

    def _found(self, pieces: list[str]) -> list[str]:
        """Find pieces again, each after the one before it, with their trust.

        Only for pieces that were cut at white space and do not begin with it: none can be found
        earlier than it was cut.
        """
        found: list[str] = []
        at = 0
        for piece in pieces:
            begin = self.find(piece, at)
            at = begin + len(piece)
            found.append(self._part(begin, at))
        return found

    def _apart(self, pieces: list[str], between: int) -> list[str]:
        """Give pieces that lie `between` characters apart their trust back."""
        found: list[str] = []
        at = 0
        for piece in pieces:
            found.append(self._part(at, at + len(piece)))
            at += len(piece) + between
        return found

    def _part(self, begin: int, end: int) -> MarkedText:
        if begin == 0 and end == len(self):
            return self
        text = str.__getitem__(self, slice(begin, end))
        return marked(text, _clipped(self._trusted, begin, end))


def marked(text: str, trusted: tuple[Range, ...]) -> MarkedText:
    """Return a text that is trusted in the given ranges."""
    made = MarkedText(text)
    if trusted:
        made._trusted = trusted  # noqa: SLF001 -- of this module
    return made


@lru_cache(maxsize=4096)
def trusted_text(text: str) -> MarkedText:
    """Return text of the template itself, trusted as a whole."""
    return marked(text, ((0, len(text)),) if text else ())


def join_output(parts: Iterable[str | tuple[Any, ...]]) -> MarkedText:
    """Join what a template puts out; a tuple is a sum of texts that nobody has added up yet."""
    outputs = list(parts)
    pieces: list[Any] = []
    for part in outputs:
        if type(part) is tuple:
            pieces += part
        else:
            pieces.append(part)
    try:
        return join_marked(pieces)
    except TypeError:  # a sum of other things: whatever their types make of it
        return join_marked(str(add_marked(*p)) if type(p) is tuple else str(p) for p in outputs)


def join_marked(parts: Iterable[str]) -> MarkedText:
    """Join texts, each with its own trust; ranges that touch become one."""
    pieces = parts if type(parts) in _SEQUENCES else list(parts)
    joined = MarkedText("".join(pieces))
    ranges: list[Range] = []
    at, first, last = 0, 0, -1  # `first` to `last`: a range that may become longer
    for piece in pieces:
        if type(piece) is MarkedText:
            for begin, end in piece._trusted:  # noqa: SLF001 -- of this module
                if at + begin != last:
                    if last > 0:
                        ranges.append((first, last))
                    first = at + begin
                last = at + end
        at += len(piece)
    if last > 0:
        ranges.append((first, last))
        joined._trusted = tuple(ranges)  # noqa: SLF001 -- of this module
    return joined


def add_marked(*parts: Any) -> Any:
    """Return what `+` gives for these parts, from the left: texts are joined in one go."""
    try:
        return join_marked(parts)
    except TypeError:  # not only texts
        return reduce(add, parts)


def parts_of(text: str) -> list[tuple[str, bool]]:
    """Cut a text where trust begins and ends, for `Tokenizer.encode_parts`."""
    plain = str.__str__(text)
    ranges = text.trusted_ranges() if isinstance(text, MarkedText) else ()
    parts: list[tuple[str, bool]] = []
    at = 0
    for begin, end in ranges:
        parts += [(plain[at:begin], False), (plain[begin:end], True)]
        at = end
    parts.append((plain[at:], False))
    return [part for part in parts if part[0]]


def _between(pieces: Iterable[str], separator: str) -> list[str]:
    result: list[str] = []
    for piece in pieces:
        result += [separator, piece] if result else [piece]
    return result


def _clipped(ranges: tuple[Range, ...], begin: int, end: int) -> tuple[Range, ...]:
    return tuple(
        (max(first, begin) - begin, min(last, end) - begin)
        for first, last in ranges
        if first < end and last > begin
    )
