"""The library, and `.mill` files of genuine tokenizers and small ones: made once a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests import vocabularies
from tests.capi.library import Library, build

from tokenmill import Tokenizer
from tokenmill._model.file import write_model

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def library_path() -> Path:
    """The shared library."""
    return build()


@pytest.fixture(scope="session")
def library(library_path: Path) -> Library:
    return Library(library_path)


@pytest.fixture(scope="session")
def mills(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Compiled models of genuine vocabularies, by name."""
    folder = tmp_path_factory.mktemp("mills")
    paths = {}
    for name in vocabularies.NAMES:
        paths[name] = folder / f"{name}.mill"
        write_model(vocabularies.payload(name), paths[name])
    return paths


@pytest.fixture(scope="session")
def small_mill(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built-in tokenizer, compiled."""
    from tokenmill._model.resolve import compile_file

    path = tmp_path_factory.mktemp("small") / "builtin.mill"
    compile_file(None, path)
    return path


@pytest.fixture(scope="session")
def python_tokenizers(mills: dict[str, Path]) -> dict[str, Tokenizer]:
    return {name: Tokenizer.load(path) for name, path in mills.items()}
