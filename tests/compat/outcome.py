"""Do the same with two libraries and compare everything that can be seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

LISTS = (
    "ids", "type_ids", "tokens", "offsets", "word_ids", "sequence_ids",
    "special_tokens_mask", "attention_mask", "n_sequences",
)  # fmt: skip


def outcome(action: Callable[..., Any], *arguments: object) -> Any:
    """Return the result, or the kind of the error."""
    try:
        return action(*arguments)
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, Warning)):
            raise
        return kind_of(error)


def kind_of(error: BaseException) -> str:
    """Name the built-in type that a caller would catch."""
    known = (KeyError, IndexError, OverflowError, UnicodeError, ValueError, TypeError)
    for kind in (*known, AttributeError, AssertionError):
        if isinstance(error, kind):
            return f"raises {kind.__name__}"
    return "raises Exception"  # or a panic: which row is met first is a matter of its threads


def view(encoding: Any, depth: int = 0) -> Any:  # of either library
    """Show all of an encoding."""
    shown: dict[Any, Any] = {name: getattr(encoding, name) for name in LISTS}
    shown["length"] = len(encoding)
    if depth == 0:
        shown["overflowing"] = [view(part, 1) for part in encoding.overflowing]
        shown["repr"] = repr(encoding)
        for place in range(0, len(encoding), 3):
            for name in ("token_to_chars", "token_to_word", "token_to_sequence", "char_to_token"):
                shown[name, place] = getattr(encoding, name)(place)
            for name in ("char_to_word", "word_to_chars", "word_to_tokens"):
                shown[name, place] = getattr(encoding, name)(place, encoding.n_sequences - 1)
    return shown


def exact_outcome(action: Callable[..., Any], *arguments: object) -> Any:
    """Return the result, or the full name and the text of the error."""
    try:
        return action(*arguments)
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, Warning)):
            raise
        return f"{type(error).__module__}.{type(error).__name__}: {error}"
