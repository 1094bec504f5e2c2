"""Vocabularies, texts and expected ids for the tests of the kernels from words to ids."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from tests import vocabularies
from tests.cuda.words import Result, batch_of, split
from tests.models import (
    AS_TEXT,
    Way,
    assert_same,
    compile_payload,
    make_model,
    run_batch,
)

from tokenmill import _core
from tokenmill._cuda.layout import BatchCounter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.cuda.words import Marks
    from tests.models import Batch, Engine


SAMPLES = (
    "The quick brown fox doesn't jump over 12345 lazy dogs; it's asleep.\n\n",
    "def merge(left: int, right: int) -> int:\n    return self._table[left, right] or -1\n",
    "\u5b66\u800c\u65f6\u4e60\u4e4b\uff0c\u4e0d\u4ea6\u8bf4\u4e4e\uff1f",
    "\ub098\ub294 \ud559\uad50\uc5d0 \uac04\ub2e4. ",
    "\u0417\u0434\u0440\u0430\u0432\u0441\u0442\u0432\u0443\u0439\u0442\u0435! ",
    "internationalization antidisestablishmentarianism Donaudampfschifffahrtsgesellschaft ",
    "\U0001f600\U0001f680 caf\u00e9 na\u00efve \u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22",
    "=" * 70 + "\n" + " " * 40 + "x" + "0" * 20 + "\t\t\r\n",
    "zq" * 30 + " ",
)


@cache
def model(name: str) -> Engine:
    return make_model(vocabularies.payload(name), Way(_core.targets()[0]))


@cache
def unsplit(name: str) -> Engine:
    """The vocabulary without its split: every document is one word."""
    spec = replace(vocabularies.spec(name), split=(), normalizer=())
    return make_model(compile_payload(spec), Way(_core.targets()[0]))


def device_tables(engine: Engine) -> dict[str, Any]:
    tables: dict[str, Any] = engine.device_tables()  # type: ignore[attr-defined]
    return tables


def expected(engine: Engine, texts: Sequence[bytes]) -> Batch:
    return run_batch(engine, list(texts), 1, AS_TEXT)


def check(result: Result, engine: Engine, texts: Sequence[bytes], what: object) -> None:
    assert not result.flags.any()
    assert_same(batch_of(result), expected(engine, texts), texts, what)


def some_texts(seed: int, count: int = 60) -> list[str]:
    """Documents made of the samples, some of them empty or of one byte."""
    choose = random.Random(seed)  # noqa: S311
    texts = ["", "a"]
    for _ in range(count):
        parts = choose.choices(SAMPLES, k=choose.randrange(12))
        texts.append("".join(part[choose.randrange(len(part)) :] for part in parts))
    return [*texts, "\n", ""]


def texts_of(name: str, seed: int) -> tuple[list[bytes], Marks]:
    texts = some_texts(seed)
    return [text.encode() for text in texts], split(vocabularies.spec(name).split[0].pattern, texts)


def merged_by_length(result: Result) -> Any:
    """Return how many words were merged, for each list of lengths."""
    bins = BatchCounter.BIN_COUNT
    return result.counters[bins : bins + 6]
