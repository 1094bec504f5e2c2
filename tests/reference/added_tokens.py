r"""Added tokens, slow and obvious: what is cut out of a text before the model sees it.

The algorithm of `tokenizers` (0.23), established by probing it. A text goes through two passes:

1. *Raw pass*: the tokens with ``normalized=False`` are cut out of the raw text.
2. Every range between them is normalized on its own, so nothing composes across a token, a
   "prepend" is put before every range, and a "strip" strips every range.
3. *Normalized pass*: the tokens with ``normalized=True`` are cut out of each normalized range.
   What is looked for is not their content but their content after the same normalizer.
4. The rest continues: prefix space (once for each range that does not begin with U+0020), then
   the split. Empty ranges do not exist; an empty text has none, so no prefix space either.

So a raw token always wins over a normalized one that begins before it or contains it.  One pass
over one range:

* Candidates are found from left to right, none overlapping, the longest of those beginning
  leftmost (Aho-Corasick, leftmost-longest), over *all* tokens of the pass.
* A candidate is refused, *and its characters are not looked at again*, if
  - it is special and special tokens are to be read as text, or
  - it is `single_word` and touches a word character. With "ab" single_word and "abc" plain,
    "abx" gives nothing; with both single_word, "abcd" gives nothing, for "abc" was the candidate.
    So a refused candidate hides shorter tokens and tokens that begin inside it.
* A word character is Rust's ``\w``: Alphabetic, Mark, Decimal_Number, Connector_Punctuation,
  Join_Control (so U+200D counts and U+00B2 does not). Only the neighbours within the range count:
  a token cut out in the raw pass is not a neighbour in the normalized pass, an end of the range
  is never a word character; a token just cut out in the same pass is looked at as text.
* `lstrip` moves the begin left over White_Space (newlines and U+0085 included, U+001C to U+001F
  not), but never into what the candidate before it has taken.
* `rstrip` moves the end right over White_Space. This does not hide anything from the search:
  a token that begins inside that white space is still found and then *overlaps*. With "<a>"
  rstrip and the token " ", the text "<a>  x" gives <a>, " ", " ", "x". The end of the last token
  alone decides where the next range begins, even if it lies before the end of an earlier one:
  with "<a>" rstrip and the token "  ", "<a>   x" gives <a>, "  ", " x".
* A token of white space with `lstrip` may so lose all of its characters to an `rstrip` before it;
  then it is not a token at all. (Where its end lies before what was taken, the library panics.)
* The text between the end of the last token and the start of the next is a range of its own.

If two normalized tokens have the same content after normalization, the library picks one of them
at random for each process; there is no right answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import regex

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokenmill._spec import AddedToken

    Candidate = tuple[int, int, AddedToken]

SpecialInText = Literal["encode", "text"]

_WORD = regex.compile(r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]")
_SPACE = regex.compile(r"\p{White_Space}")


class Range(NamedTuple):
    """A piece of the text; with an id it is an added token, without, it continues."""

    text: str
    id: int | None


def extract(
    text: str,
    tokens: Sequence[AddedToken],
    normalize: Callable[[str], str],
    special_in_text: SpecialInText = "encode",
) -> list[Range]:
    """Cut a text into added tokens and normalized ranges."""
    raw = {token.content: token for token in tokens if not token.normalized}
    late = {normalize(token.content): token for token in tokens if token.normalized}
    result: list[Range] = []
    for piece in cut(text, raw, special_in_text):
        if piece.id is None:
            result += cut(normalize(piece.text), late, special_in_text)
        else:
            result.append(piece)
    return result


def cut(text: str, tokens: dict[str, AddedToken], special_in_text: SpecialInText) -> list[Range]:
    """One pass over one range; `tokens` by the text that is looked for."""
    found = [
        (begin, end, token)
        for begin, end, token in candidates(text, tokens)
        if not (token.special and special_in_text == "text")
        and not (token.single_word and touches_word(text, begin, end))
    ]
    return take(text, found)


def take(text: str, found: Sequence[Candidate]) -> list[Range]:
    """Cut these tokens out, with the white space that they take."""
    result: list[Range] = []
    taken = 0
    for start, stop, token in found:
        if token.lstrip:
            while start > 0 and _SPACE.match(text[start - 1]):
                start -= 1  # noqa: PLW2901
            start = max(start, taken)  # noqa: PLW2901
        if token.rstrip:
            while stop < len(text) and _SPACE.match(text[stop]):
                stop += 1  # noqa: PLW2901
        if start >= stop:
            continue
        if taken < start:
            result.append(Range(text[taken:start], None))
        result.append(Range(text[start:stop], token.id))
        taken = stop
    if taken != len(text):
        result.append(Range(text[taken:], None))
    return result


def candidates(text: str, tokens: dict[str, AddedToken]) -> list[Candidate]:
    """Return where tokens are, from left to right, the longest first."""
    if not tokens:
        return []
    longest_first = sorted(tokens, key=len, reverse=True)
    finder = regex.compile("|".join(map(regex.escape, longest_first)))
    return [(m.start(), m.end(), tokens[m.group()]) for m in finder.finditer(text)]


def touches_word(text: str, begin: int, end: int) -> bool:
    """Tell whether a word character is next to text[begin:end]."""
    before = text[begin - 1 : begin] if begin else ""
    return bool(_WORD.match(before) or _WORD.match(text[end : end + 1]))
