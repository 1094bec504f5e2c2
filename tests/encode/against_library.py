"""A compiled tokenizer in every way it can be run, against the library that defines it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tests.models import make_model, run_batch, ways
from tokenizers import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def assert_ids_of_library(file: Path, payload: bytes, cases: Sequence[str]) -> None:
    """Compare the ids of a model compiled from a tokenizer.json, text by text."""
    library = Tokenizer.from_file(str(file))
    right = [found.ids for found in library.encode_batch(list(cases), add_special_tokens=False)]
    for way in ways((1, 2)):
        ids, offsets = run_batch(make_model(payload, way), cases, way.threads)
        rows = [ids[a:b].tolist() for a, b in pairwise(offsets)]
        wrong = [n for n, row in enumerate(rows) if row != right[n]]
        assert not wrong, (way, cases[wrong[0]][:700], rows[wrong[0]], right[wrong[0]], file)
