"""The language of a document, where the data says it: in the name of its file, or in a field.

Nothing is guessed from the text. A name counts only if it holds a language code as a part of its
own, such as `wiki.de.jsonl`, `de/part-0.parquet` or `lang=de/`, and the report says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from tokenmill._errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

UNKNOWN = "unknown"
HOWS = ("auto", "none", "field=NAME", "path=REGEX")
# ISO 639-1, without codes that are everyday words, suffixes or versions in names of files.
_CODES = frozenset(
    """af am ar az ba be bg bn br bs ca ceb cs cv cy da de el en eo es et eu fa fi fr ga gl gu he
    hi hr ht hu hy id is it ja jv ka kk km kn ko ku ky la lb lo lt lv mg mk ml mn mr ms mt my ne
    nl nn no oc pa pl ps pt ro ru sa sd si sk sl so sq sr su sv sw ta te tg th tk tl tr tt ug uk
    ur uz vi xh yi yo zh zu""".split()  # noqa: SIM905 -- a list would be ninety lines
)
_HIVE = re.compile(r"(?:^|/)lang(?:uage)?=([^/]+)/", re.IGNORECASE)
_PARTS = re.compile(r"[._\-/ ]+")


@dataclass(frozen=True)
class LanguageRule:
    """How languages are found: `kind` is auto, none, field or path."""

    kind: str = "auto"
    value: str = ""

    @classmethod
    def read(cls, text: str) -> LanguageRule:
        """Read the option: auto, none, field=NAME or path=REGEX."""
        kind, equals, value = text.partition("=")
        if kind in ("auto", "none") and not equals:
            return cls(kind)
        if kind not in ("field", "path") or not value:
            raise OptionError(f"expected {', '.join(HOWS)}, got {text!r}", where="language")
        if kind == "path":
            try:
                if re.compile(value).groups != 1:
                    raise OptionError("expected one group in the pattern", where="language")
            except re.error as error:
                raise OptionError(f"{value!r}: {error}", where="language") from error
        return cls(kind, value)

    def of_path(self, path: str) -> str:
        """Return the language that the name of a file tells."""
        if self.kind == "path":
            found = re.search(self.value, path)
            return found[1].lower() if found and found[1] else UNKNOWN
        return language_in(path) if self.kind == "auto" else UNKNOWN

    def in_words(self, paths: Sequence[str]) -> str:
        """Say how languages were found; empty if they were not."""
        if self.kind == "field":
            return f"the field {self.value!r} of the inputs, read again"
        known = [path for path in paths if self.of_path(path) != UNKNOWN]
        if not known:
            return ""
        how = "the names of the files" if self.kind == "auto" else f"the pattern {self.value!r}"
        name = f"{self.of_path(known[0])} in {PurePosixPath(known[0]).name}"
        return f"{how} ({name}), not the texts"


@lru_cache(maxsize=4096)
def language_in(path: str) -> str:
    """Return the language code that is a part of a path; UNKNOWN without one.

    language_in("data/wiki.de.jsonl.zst") -> "de"
    """
    hive = _HIVE.search(path)
    if hive:
        return hive[1].lower()
    parts = [part.lower() for part in PurePosixPath(path).parts]
    names = [*_PARTS.split(parts[-1]), *reversed(parts[:-1])] if parts else []
    return next((name for name in names if name in _CODES), UNKNOWN)
