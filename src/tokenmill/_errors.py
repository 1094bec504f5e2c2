"""The error tree: every error that tokenmill raises on purpose.

::

    TokenmillError(Exception)
      +- LoadError(ValueError)             a tokenizer source that cannot be read: path, line
      |    +- CorruptModel                 a compiled model whose bytes contradict themselves
      +- SourceNotFound(FileNotFoundError) no file, directory or repository of that name
      +- UnsupportedTokenizer(ValueError)  understood, but nothing here can run it: reasons
      +- PatternError(ValueError)          a split pattern that is wrong: pattern, offset
      +- EncodeError(ValueError)           a text that cannot be encoded: document, offset
      |    +- TextTypeError(TypeError)     a document that is not text
      |    +- InvalidUtf8                  bytes that are not UTF-8
      |    +- SpecialTokenInText           a special token's text where it is forbidden: token
      |    +- OutputTooSmall               the caller's buffer cannot hold the ids
      +- OptionError(ValueError)           an option with a value that it does not have
      +- DtypeError(ValueError)            ids that do not fit the number type asked for
      +- ShardTooLarge(ValueError)         a shard that its file format cannot hold
      +- CorruptShard(ValueError)          a shard whose files contradict themselves: path
      +- BadRecordFound(ValueError)        a record that is not a document, where that is fatal
      +- TooManyBadRecords(ValueError)     more of them than the error budget allows: bad, records
      +- OutputInUse(OSError)              another run is writing to the same output
      +- OutputError(OSError)              an output that cannot be written: path
      +- PlanDiffers(ValueError)           an output that another command has started: differences
      +- RankFailed(RuntimeError)          another rank of the same run has failed: rank
      +- NodeFailed(RuntimeError)          a node of a cluster that cannot do a task
      +- BooksDiffer(RuntimeError)         what came in is not what went out: a bug
      +- UnknownId(LookupError)            an id that the vocabulary does not have: id
      +- InputError(OSError)               an input that vanished, changed or is damaged: path
      +- StoreError(OSError)               a request to an object store that failed: url
      |    +- ObjectNotFound(FileNotFoundError)  no object of that name
      |    +- ObjectChanged                an object that is not the version it should be
      +- MissingDependency(ImportError)    an optional package that is not installed: name
      +- DeviceError(RuntimeError)         a device that cannot do what was asked: reason
      +- DeadlineExceeded(TimeoutError)    work that took longer than its timeout
      +- Overloaded(RuntimeError)          a service without room for more: reason, retry_after
      +- TextTooLong(ValueError)           more text than a service takes: size, limit
      +- ChatError(ValueError)             a conversation or a chat template that is refused
      +- UnknownModel(LookupError)         a model that a service does not have: model
      +- ModelNotReady(RuntimeError)       a model that is loading or failed to load: model, state
      +- ServiceClosed(RuntimeError)       a service that was not started, or is closed

    ReferencePathWarning(UserWarning)      a tokenizer runs through its reference library

A message reads ``where: what is wrong, got X; hint: how to fix it``. The attributes carry the
facts; ``where``, ``problem`` and ``hint`` are the parts of the message. All survive pickling.
"""

# The names are the public vocabulary; the tree above shows which are errors.
# ruff: noqa: N818
from __future__ import annotations

from typing import TYPE_CHECKING

# For all who raise errors: hints are made where errors are.
from tokenmill._hints import Hint as Hint  # noqa: PLC0414
from tokenmill._hints import Option as Option  # noqa: PLC0414
from tokenmill._hints import document_place, file_place

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from typing_extensions import Self


class TokenmillError(Exception):
    """Base of all errors of tokenmill."""

    def __init__(self, problem: str, *, where: str = "", hint: str = "") -> None:
        # One positional argument only: pickle rebuilds an exception as cls(*args) plus __dict__,
        # so the composed message must be a valid first argument.
        super().__init__(compose(where, problem, hint))
        self.where, self.problem, self.hint = where, problem, hint

    def hint_for(self, spell: Callable[[Option], str]) -> str:
        """Return the hint with its options as `spell` writes them, for another face than Python."""
        return self.hint.spelled(spell) if isinstance(self.hint, Hint) else self.hint


class LoadError(TokenmillError, ValueError):
    """A tokenizer source that cannot be read, or that is not what its kind promises.

    `line` counts from 1; `offset` is a byte position from 0. Both are None when unknown.
    """

    def __init__(
        self,
        problem: str,
        *,
        path: str | os.PathLike[str] | None = None,
        line: int | None = None,
        offset: int | None = None,
        hint: str = "",
    ) -> None:
        super().__init__(problem, where=file_place(path, line, offset), hint=hint)
        self.path, self.line, self.offset = path, line, offset


class CorruptModel(LoadError):
    """A compiled model whose bytes contradict themselves: damaged, or cut short."""


class SourceNotFound(TokenmillError, FileNotFoundError):
    """No file, directory or repository of that name; `source` is the name that was asked for."""

    def __init__(self, problem: str, *, source: str = "", hint: str = "") -> None:
        super().__init__(problem, where=source, hint=hint)
        self.source = source


class UnsupportedTokenizer(TokenmillError, ValueError):
    """A tokenizer that was understood but that nothing installed can run, and the `reasons`."""

    def __init__(
        self, problem: str, *, where: str = "", reasons: tuple[str, ...] = (), hint: str = ""
    ) -> None:
        super().__init__(problem, where=where, hint=hint)
        self.reasons = reasons


class PatternError(TokenmillError, ValueError):
    """A split pattern that is wrong; `offset` is a character position in `pattern`."""

    def __init__(
        self, problem: str, *, pattern: str = "", offset: int | None = None, hint: str = ""
    ) -> None:
        place = "pattern" if offset is None else f"pattern at character {offset}"
        super().__init__(problem, where=place if pattern or offset is not None else "", hint=hint)
        self.pattern = pattern
        self.offset = offset


class EncodeError(TokenmillError, ValueError):
    """A text that cannot be encoded; `document` counts from 0, `offset` is a byte position."""

    def __init__(
        self,
        problem: str,
        *,
        document: int | None = None,
        offset: int | None = None,
        hint: str = "",
    ) -> None:
        super().__init__(problem, where=document_place(document, offset), hint=hint)
        self.document = document
        self.offset = offset

    def renumbered(self, document: int | None, hint: str | None = None) -> Self:
        """Return the same error for another document: the caller counts them differently.

        `hint` replaces the hint, if it names an option that the caller does not have.
        """
        from copy import copy  # import tokenmill stays light

        error = copy(self)
        error.document = document
        error.hint = self.hint if hint is None else hint
        error.where = document_place(document, self.offset)
        error.args = (compose(error.where, self.problem, error.hint),)
        return error


class TextTypeError(EncodeError, TypeError):
    """A document that is not text: of another type, an Arrow null, or in an array without strings.

    `document` is None when the argument as a whole is meant.
    """


class InvalidUtf8(EncodeError):
    """Bytes that are not UTF-8; `offset` is the first byte that cannot be part of a character."""


class SpecialTokenInText(EncodeError):
    """The text of a special token where the caller forbade it; `token` is that text."""

    def __init__(
        self,
        problem: str,
        *,
        token: str = "",
        document: int | None = None,
        offset: int | None = None,
        hint: str = "",
    ) -> None:
        super().__init__(problem, document=document, offset=offset, hint=hint)
        self.token = token


class OutputTooSmall(EncodeError):
    """The caller's buffer cannot hold the ids."""


class OptionError(TokenmillError, ValueError):
    """An option of a call with a value that it does not have."""


class DtypeError(TokenmillError, ValueError):
    """Ids that do not fit the number type asked for."""


class ShardTooLarge(TokenmillError, ValueError):
    """A shard that its file format cannot hold: too many tokens, or too many bytes."""


class CorruptShard(TokenmillError, ValueError):
    """A shard whose files contradict themselves: damaged, cut short or of another format."""

    def __init__(
        self, problem: str, *, path: str | os.PathLike[str] | None = None, hint: str = ""
    ) -> None:
        super().__init__(problem, where=file_place(path, None, None), hint=hint)
        self.path = path


class BadRecordFound(TokenmillError, ValueError):
    """A bad record, if the policy for its reason is to fail, or if no record holds a document."""

    def __init__(
        self, problem: str, *, path: str = "", line: int | None = None, hint: str = ""
    ) -> None:
        super().__init__(problem, where=file_place(path or None, line, None), hint=hint)
        self.path = path
        self.line = line


class TooManyBadRecords(TokenmillError, ValueError):
    """More records without a document than the error budget allows."""

    def __init__(self, problem: str, *, bad: int = 0, records: int = 0, hint: str = "") -> None:
        super().__init__(problem, hint=hint)
        self.bad = bad
        self.records = records


class OutputInUse(TokenmillError, OSError):
    """Another run is writing to the same output."""


class OutputError(TokenmillError, OSError):
    """A file of an output that cannot be written: the disk is full, or writing is forbidden."""

    def __init__(self, problem: str, *, path: str = "", hint: str = "") -> None:
        super().__init__(problem, where=path, hint=hint)
        self.path = path


class PlanDiffers(TokenmillError, ValueError):
    """An output that was started with other options or inputs; `differences` lists them."""

    def __init__(
        self, problem: str, *, where: str = "", differences: tuple[str, ...] = (), hint: str = ""
    ) -> None:
        super().__init__(problem, where=where, hint=hint)
        self.differences = differences


class RankFailed(TokenmillError, RuntimeError):
    """Another rank of the same run has found an error that ends it for all."""

    def __init__(self, problem: str, *, rank: int = 0, where: str = "", hint: str = "") -> None:
        super().__init__(problem, where=where, hint=hint)
        self.rank = rank


class NodeFailed(TokenmillError, RuntimeError):
    """A node of a cluster that cannot take part in a run, or a task that ends its workers."""


class BooksDiffer(TokenmillError, RuntimeError):
    """What came in is not what went out: a bug in tokenmill, never a fault of the input."""


class UnknownId(TokenmillError, LookupError):
    """An id that the vocabulary does not have."""

    def __init__(
        self,
        problem: str,
        *,
        id: int | None = None,  # noqa: A002
        where: str = "",
        hint: str = "",
    ) -> None:
        super().__init__(problem, where=where, hint=hint)
        self.id = id


class InputError(TokenmillError, OSError):
    """An input that cannot be read to its end: vanished, changed, cut short or damaged.

    `offset` is a byte position in the file as it lies on the disk, or None when unknown.
    """

    def __init__(
        self, problem: str, *, path: str = "", offset: int | None = None, hint: str = ""
    ) -> None:
        super().__init__(problem, where=file_place(path or None, None, offset), hint=hint)
        self.path = path
        self.offset = offset


class StoreError(TokenmillError, OSError):
    """A request to an object store that is refused, or that failed as often as it was tried."""

    def __init__(self, problem: str, *, url: str = "", hint: str = "") -> None:
        super().__init__(problem, where=url, hint=hint)
        self.url = url


class ObjectNotFound(StoreError, FileNotFoundError):
    """No object of that name in the store."""


class ObjectChanged(StoreError):
    """An object that exists already, or that is no longer the version that was asked for."""


class MissingDependency(TokenmillError, ImportError):
    """An optional package that is not installed; `name` is the package."""

    def __init__(self, problem: str, *, name: str = "", hint: str = "") -> None:
        super().__init__(problem, where=name, hint=hint)
        self.name = name


class DeviceError(TokenmillError, RuntimeError):
    """A device that cannot do what was asked; `reason` is a name in `tokenmill.cuda.REASONS`."""

    def __init__(self, problem: str, *, reason: str = "", where: str = "", hint: str = "") -> None:
        super().__init__(problem, where=where, hint=hint)
        self.reason = reason


class DeadlineExceeded(TokenmillError, TimeoutError):
    """Work that was stopped because it took longer than its `timeout`."""


class Overloaded(TokenmillError, RuntimeError):
    """A service that has as much work as it may take; `reason` names the limit.

    `retry_after`: seconds after which there is probably room again.
    """

    def __init__(
        self,
        problem: str,
        *,
        reason: str = "",
        retry_after: float = 0.0,
        where: str = "",
        hint: str = "",
    ) -> None:
        super().__init__(problem, where=where, hint=hint)
        self.reason, self.retry_after = reason, retry_after


class TextTooLong(TokenmillError, ValueError):
    """More text than a service takes: `size` and `limit` in bytes of UTF-8."""

    def __init__(
        self, problem: str, *, size: int = 0, limit: int = 0, where: str = "", hint: str = ""
    ) -> None:
        super().__init__(problem, where=where, hint=hint)
        self.size, self.limit = size, limit


class ChatError(TokenmillError, ValueError):
    """A conversation that its template refuses, or a chat template that cannot be used."""


class UnknownModel(TokenmillError, LookupError):
    """A model that a service does not have; `model` is the name that was asked for."""

    def __init__(self, problem: str, *, model: str = "", hint: str = "") -> None:
        super().__init__(problem, where="model" if model else "", hint=hint)
        self.model = model


class ModelNotReady(TokenmillError, RuntimeError):
    """A model of a service that cannot be used; `state` is "loading" or "failed"."""

    def __init__(self, problem: str, *, model: str = "", state: str = "", hint: str = "") -> None:
        super().__init__(problem, where=model, hint=hint)
        self.model, self.state = model, state


class ServiceClosed(TokenmillError, RuntimeError):
    """A service that was not started, or that is closing or closed."""


class ReferencePathWarning(UserWarning):
    """A tokenizer runs through its reference library, exact but at that library's speed."""


def compose(where: str, problem: str, hint: str) -> str:
    """Write a message: where, what is wrong, and the fix."""
    message = f"{where}: {problem}" if where else problem
    return f"{message}; hint: {hint}" if hint else message
