"""Parts of error messages: places, and hints that name options as a Python call or another way."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from typing_extensions import Self


class Option(NamedTuple):
    """An option that a hint is about, by its Python name; without a value, any value."""

    name: str
    value: bool | int | str | None = None

    def __str__(self) -> str:
        """Spell it as an argument of a call: `errors="replace"`, `force=True`, `pattern=`."""
        value = f'"{self.value}"' if isinstance(self.value, str) else self.value
        return f"{self.name}={'' if value is None else value}"


class Hint(str):
    """A fix that names options; as a string it names arguments of a Python call.

    Hint("pass {} to repair them", Option("errors", "replace"))
      == 'pass errors="replace" to repair them'
    `spelled` gives the words of another face: 'pass --errors replace to repair them'.
    """

    __slots__ = ("options", "template")
    template: str
    options: tuple[Option, ...]

    def __new__(cls, template: str, *options: Option) -> Self:
        """Fill the options into the `{}` of the template."""
        hint = super().__new__(cls, template.format(*options))
        hint.template, hint.options = template, options
        return hint

    def __getnewargs__(self) -> tuple[str | Option, ...]:  # type: ignore[override]  # of str: one
        return (self.template, *self.options)

    def spelled(self, spell: Callable[[Option], str]) -> str:
        """Return the hint with each option spelled by `spell`."""
        return self.template.format(*map(spell, self.options))


def file_place(path: str | os.PathLike[str] | None, line: int | None, offset: int | None) -> str:
    """Name a line or a byte of a file, as far as they are known."""
    place = "" if path is None else str(path)
    if line is not None:
        return f"{place}:{line}" if place else f"line {line}"
    if offset is not None:
        return f"{place} at byte {offset}" if place else f"byte {offset}"
    return place


def document_place(document: int | None, offset: int | None) -> str:
    """Name a byte of a document, as far as they are known."""
    parts = []
    if document is not None:
        parts.append(f"document {document}")
    if offset is not None:
        parts.append(f"byte {offset}")
    return ", ".join(parts)
