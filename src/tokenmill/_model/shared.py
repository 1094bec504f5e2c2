"""The models of this process, each once: equal content is one model, however often it is loaded.

Models are known by what they were made of (the key of the cache) and by their bytes. A model lives
as long as a tokenizer uses it; `keep_models` lets the last few live on. One thread builds a model
while the others that want it wait. Light imports only: see known.py.
"""

from __future__ import annotations

from _thread import RLock
from typing import TYPE_CHECKING
from weakref import ref

from tokenmill import _core
from tokenmill._platform.processes import after_fork

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokenmill._model.ready import Ready

    Name = tuple[str, str, str]  # what it is made of, its tables, its instruction set


class Loading:
    """A model that is being made: `with` waits for the thread that makes it."""

    def __init__(self, shelf: Shelf, name: Name) -> None:
        self._shelf = shelf
        self._name = name

    def __enter__(self) -> None:
        shelf = self._shelf
        with shelf.guard:
            self._turn, waiting = shelf.turns.get(self._name) or (RLock(), 0)
            shelf.turns[self._name] = self._turn, waiting + 1
        self._turn.acquire()

    def __exit__(self, *_: object) -> None:
        shelf = self._shelf
        with shelf.guard:
            turn, waiting = shelf.turns.pop(self._name, (self._turn, 0))  # none after a fork
            if waiting > 1:
                shelf.turns[self._name] = turn, waiting - 1
        self._turn.release()


class Shelf:
    """Models by name, without keeping them; the last ones that were asked for are kept."""

    def __init__(self) -> None:
        self.most = 0
        self.found = 0  # loads that found their model here
        self._models: dict[Name, ref[Ready]] = {}
        self._recent: dict[int, Ready] = {}  # by id, the last one asked for at the end
        self.free()

    def free(self) -> None:
        """Make new locks: those of a parent process may be held by threads that are not here."""
        self.guard = RLock()  # a model may go, and say so, while this thread holds it
        self.turns: dict[Name, tuple[RLock, int]] = {}

    def find(self, name: Name) -> Ready | None:
        """Return the model of a name if there is one."""
        with self.guard:
            known = self._models.get(name)
            ready = None if known is None else known()
            if ready is not None:
                self.found += 1
                self._use(ready)
        return ready

    def put(self, name: Name, ready: Ready) -> None:
        """Remember a model for as long as anybody uses it."""

        def forget(gone: ref[Ready]) -> None:
            with self.guard:
                if self._models.get(name) is gone:
                    del self._models[name]

        with self.guard:
            self._models[name] = ref(ready, forget)
            self._use(ready)

    def keep(self, most: int) -> None:
        """Keep so many models that nobody uses."""
        with self.guard:
            self.most = most
            self._trim()

    def alive(self) -> Iterator[Ready]:
        """All models, each once."""
        with self.guard:
            found = {id(ready): ready for known in self._models.values() if (ready := known())}
        yield from found.values()

    def _use(self, ready: Ready) -> None:
        if self.most:
            self._recent.pop(id(ready), None)
            self._recent[id(ready)] = ready
            self._trim()

    def _trim(self) -> None:
        for old in list(self._recent)[: max(len(self._recent) - self.most, 0)]:
            del self._recent[old]


SHELF = Shelf()
after_fork(SHELF.free)


def name_of(made_of: str, tables: str) -> Name:
    """Name a model; one that was made for other instructions is another one."""
    return made_of, tables, _core.target()


def loading(name: Name) -> Loading:
    """Wait for the thread that makes this model, or be that thread."""
    return Loading(SHELF, name)
