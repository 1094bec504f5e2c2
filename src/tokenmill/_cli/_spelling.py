"""Errors of the library in the words of a shell: `--max-bad`, where Python has `max_bad=`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill._errors import OptionError, TokenmillError, compose

if TYPE_CHECKING:
    import argparse

    from tokenmill._errors import Option


def message_of(error: Exception, parser: argparse.ArgumentParser) -> str:
    """Return the message of an error with options spelled as this command has them."""
    if not isinstance(error, TokenmillError):
        return str(error)
    where = error.where
    if isinstance(error, OptionError):  # a value that an option does not take: where names it
        where = _name_of(where, parser) or where
    return compose(where, error.problem, error.hint_for(lambda option: _spelled(option, parser)))


def _spelled(option: Option, parser: argparse.ArgumentParser) -> str:
    """Spell an option: `--errors replace`, `--force`, `--no-eos`; as in Python if there is none."""
    if option.value is False:
        return _name_of(f"no_{option.name}", parser) or str(option)
    name = _name_of(option.name, parser)
    if name is None:
        return str(option)
    return name if option.value is None or option.value is True else f"{name} {option.value}"


def _name_of(name: str, parser: argparse.ArgumentParser) -> str | None:
    """Return what the command calls an option of the library: `--chunk-size`, `INPUT`."""
    for action in parser._actions:  # noqa: SLF001 -- argparse has no other list of them
        if action.dest == name:
            long = [option for option in action.option_strings if option.startswith("--")]
            return long[0] if long else str(action.metavar or name)
    return None
