"""A model -> the same without some of its words, for text that must never become them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from tokenmill import _core
from tokenmill._errors import UnsupportedTokenizer
from tokenmill._spec import OpaqueModel

if TYPE_CHECKING:
    from collections.abc import Collection

    from tokenmill._model.ready import Ready


def model_without(ready: Ready, ids: Collection[int]) -> _core.Model:
    """Compile the tokenizer again, with a vocabulary that text cannot make `ids` with.

    Takes as long as the first load did; the caller keeps the result.
    """
    from tokenmill._compile import compile_spec
    from tokenmill._load.tokenizer_json import read_tokenizer_json

    source, name = ready.source(), ready.meta["name"]
    if source is None or ready.meta["reference"] != "tokenizers":
        raise UnsupportedTokenizer(
            "its model makes control tokens of plain text, and its source is not a tokenizer.json",
            where=name,
            hint="refuse such texts, or load it from a tokenizer.json",
        )
    spec = read_tokenizer_json(json.loads(source), source, name)
    model = spec.model
    if isinstance(model, OpaqueModel):
        raise UnsupportedTokenizer("its model is unknown", where=name)
    tokens = tuple(None if i in ids else token for i, token in enumerate(model.tokens))
    return _core.Model(compile_spec(replace(spec, model=replace(model, tokens=tokens))))
