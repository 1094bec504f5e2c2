"""EOS, BOS and padding as people name them -> ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill._errors import Hint, Option, OptionError

if TYPE_CHECKING:
    from tokenmill._load.boundary_tokens import BoundaryTokens, Role, Vocabulary


def resolve_eos(
    given: object, tokenizer: Vocabulary, ends: BoundaryTokens, notes: list[str]
) -> int | None:
    """Resolve the token after each document; it is required unless `given` is False."""
    eos = resolve_boundary("eos", given, tokenizer, ends, notes)
    if eos is None and given is not False:
        raise OptionError(
            "the token that ends a document is unknown",
            where="eos",
            hint=Hint(
                "name it with {}, or pass {} to put none between documents",
                Option("eos"),
                Option("eos", value=False),
            ),
        )
    return eos


def resolve_boundary(
    role: Role,
    given: object,
    tokenizer: Vocabulary,
    ends: BoundaryTokens,
    notes: list[str],
) -> int | None:
    """Resolve a token: False is none, None or True the tokenizer's own, else its name or id.

    The choice is added to `notes`, for people to read.
    """
    if given is False:
        return None
    if given is None or given is True:
        found = getattr(ends, role)
        if found is None and given is True:
            raise OptionError(
                "the tokenizer does not define one", where=role, hint="give its name or id"
            )
        if found is not None:
            notes.append(f"{role:<10}  {found.token} = {found.id} (from {found.origin})")
        return None if found is None else found.id
    is_id = isinstance(given, int) or (
        isinstance(given, str) and given.isascii() and given.isdigit()
    )
    token_id = int(given) if is_id else tokenizer.token_to_id(str(given))  # type: ignore[call-overload]
    if token_id is None or not 0 <= token_id < tokenizer.vocab_size:
        raise OptionError(
            f"the tokenizer has no token {given!r}",
            where=role,
            hint=f"its special tokens are {', '.join(tokenizer.special_tokens) or 'none'}",
        )
    notes.append(f"{role:<10}  {tokenizer.id_to_token(token_id)} = {token_id} (given)")
    return token_id
