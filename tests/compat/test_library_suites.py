"""The suites of `tiktoken`, `tokenizers` and mistral-common, with the libraries and with ours.

Every test that passes with the library passes with the drop-in. The suites come from the source
archives on PyPI; tests that need the hub fail with both. The archive of `transformers` has no
tests of its tokenizers.
"""

from __future__ import annotations

import pytest
from tests.compat.suites import Suite

_TRAINS = "the trainer takes an object of the library, and no other"
_PARITY = "tests.bindings.test_trainers.TestParityBpeTrainer"
SUITES = [
    Suite("tiktoken", "0.14.0", ".", least=33),
    Suite(
        "tokenizers", "0.23.3", "bindings/python", least=140,
        known={
            f"{_PARITY}::test_train_from_iterator": _TRAINS,
            f"{_PARITY}::test_train_from_iterator_with_dev": _TRAINS,
            f"{_PARITY}::test_train_from_iterator_with_ratio": _TRAINS,
            f"{_PARITY}::test_train_iterators_dev_iterators_length_mismatch": _TRAINS,
        },
    ),
    Suite(
        "mistral-common", "1.13.0", ".", least=70,
        tests=(
            "tests/test_tekken.py", "tests/test_sentencepiece.py", "tests/test_tokenize_v3.py",
            "tests/test_tokenizer_v3_mm.py", "tests/test_mistral_tokenizer.py",
        ),
        packages=(
            "attrs", "cffi", "jsonschema", "jsonschema-specifications", "opencv-python-headless",
            "pillow", "pycountry", "pycparser", "pydantic-extra-types", "referencing", "rpds-py",
            "soundfile", "soxr",
        ),
    ),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_what_passes_with_the_library_passes_with_the_drop_in(suite: Suite) -> None:
    with_library, shown = suite.passed()
    assert len(with_library) >= suite.least, shown[-2000:]
    with_ours, shown = suite.passed("-p", "dropin_plugin")
    assert with_library - with_ours == suite.known.keys(), shown[-4000:]
    assert "nanobind" not in shown
