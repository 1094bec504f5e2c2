"""The tokenizer of a finished output, from its old path or the one given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill._errors import Hint, Option, PlanDiffers, SourceNotFound, TokenmillError
from tokenmill._mirror import shown
from tokenmill._tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokenmill._mill.output.manifest import Manifest


def tokenizer_of(manifest: Manifest, given: object = None) -> Tokenizer:
    """Load the tokenizer that an output was packed with; raises unless it is the same."""
    wanted = manifest.data["tokenizer"]
    source = manifest.data.get("tokenizer_source") if given is None else given
    where = f"tokenizer of {shown(manifest.folder)}"
    try:
        loaded = source if isinstance(source, Tokenizer) else Tokenizer.load(source)
    except (TokenmillError, OSError) as error:
        if given is not None:
            raise
        raise SourceNotFound(
            f"{wanted['name']} is no longer at {source!r}: {error}",
            source=where,
            hint=Hint("pass its path with {}", Option("tokenizer")),
        ) from error
    found = loaded.describe().content_hash
    if found != wanted["hash"]:
        raise PlanDiffers(
            f"expected {wanted['name']} with the hash {wanted['hash']}, "
            f"got {loaded.name} with {found}",
            where=where,
            differences=(f"tokenizer.hash: {wanted['hash']} in the output, {found} now",),
            hint=Hint("pass the path of the right one with {}", Option("tokenizer")),
        )
    return loaded
