"""Tokenizers that another library has already loaded -> TokenizerSpec."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokenmill._errors import LoadError, UnsupportedTokenizer
from tokenmill._load.fields import parse_json
from tokenmill._load.tiktoken import spec_from_ranks
from tokenmill._load.tokenizer_json import read_tokenizer_json

if TYPE_CHECKING:
    from tokenmill._spec import TokenizerSpec


def read_object(source: Any, written: bytes | None = None) -> TokenizerSpec:
    """Read a tokenizers.Tokenizer, a fast tokenizer of transformers, or a tiktoken.Encoding.

    `written`: the JSON of a tokenizers.Tokenizer, if the caller has it; writing it is slow.
    Objects are recognised by their attributes, so none of the libraries has to be imported.
    """
    if hasattr(source, "_mergeable_ranks") and hasattr(source, "_pat_str"):
        return _read_encoding(source)
    if hasattr(source, "backend_tokenizer"):
        name = str(getattr(source, "name_or_path", "") or type(source).__name__)
        return _read_tokenizer(source.backend_tokenizer, name)
    if hasattr(source, "to_str") and hasattr(source, "get_added_tokens_decoder"):
        return _read_tokenizer(source, type(source).__name__, written)
    problem = f"expected a path, a hub id or a loaded tokenizer, got {type(source).__name__}"
    hint = "slow tokenizers of transformers must be converted to fast ones first"
    raise LoadError(problem, hint=hint)


def _read_encoding(encoding: Any) -> TokenizerSpec:
    return spec_from_ranks(
        encoding.name,
        encoding._pat_str,  # noqa: SLF001
        encoding._mergeable_ranks,  # noqa: SLF001
        encoding._special_tokens,  # noqa: SLF001
    )


def _read_tokenizer(
    tokenizer: Any,
    name: str,
    written: bytes | None = None,
) -> TokenizerSpec:
    try:
        source = written or tokenizer.to_str().encode()
    except Exception as error:  # the library raises a bare Exception
        problem = f"expected a tokenizer that can be written as JSON, got: {error}"
        hint = "parts written in Python cannot be converted"
        raise UnsupportedTokenizer(problem, where=name, hint=hint) from error
    # The object has parsed its numbers already and writes them so that they keep their value.
    spec = read_tokenizer_json(parse_json(source), source, name, exact_scores=True)
    stated = {key: token.content for key, token in tokenizer.get_added_tokens_decoder().items()}
    if stated != {token.id: token.content for token in spec.added_tokens}:
        problem = "expected added tokens that keep their ids when saved and loaded, got others"
        hint = "save it, load it with tokenizers, and compare the ids"
        raise UnsupportedTokenizer(problem, where=name, hint=hint)
    return spec
