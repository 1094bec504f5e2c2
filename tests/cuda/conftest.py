"""What the tests of the GPU path share: kernels compiled once for each small tokenizer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from tests.conftest import small_definition
from tests.cuda.devices import connect
from tests.cuda.tokenizers_small import composing_definition, write

from tokenmill import Tokenizer
from tokenmill._cuda.device_tokenizer import DeviceTokenizer
from tokenmill._cuda.options import DeviceOptions
from tokenmill._cuda.several import DeviceTokenizers

if TYPE_CHECKING:
    from pathlib import Path

_DEFINITIONS = {"plain": small_definition, "composing": composing_definition}


class Bench(NamedTuple):
    """A tokenizer, and where its kernels are compiled."""

    tokenizer: Tokenizer
    folder: Path

    def gpu(self, device: dict[str, Any] | None = None, **options: Any) -> DeviceTokenizer:
        made = connect(self.folder, **(device or {}))
        how = DeviceOptions(**{"table_bits": 12, **options})
        return DeviceTokenizer(self.tokenizer.ready, 0, how, connect=made)

    def several(self, count: int) -> DeviceTokenizers:
        return DeviceTokenizers([self.gpu() for _ in range(count)])


@pytest.fixture(scope="session")
def kernel_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kernels")


@pytest.fixture(scope="session", params=sorted(_DEFINITIONS))
def bench(
    request: pytest.FixtureRequest, kernel_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Bench:
    folder = tmp_path_factory.mktemp(request.param)
    path = write(folder, _DEFINITIONS[request.param]())
    return Bench(Tokenizer.load(path), kernel_folder)


@pytest.fixture(scope="session")
def plain(kernel_folder: Path, small_json: Path) -> Bench:
    return Bench(Tokenizer.load(small_json), kernel_folder)


@pytest.fixture(scope="session")
def gpu(bench: Bench) -> DeviceTokenizer:
    return bench.gpu()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where the host libraries are, shared by all modules."""
    path = tmp_path_factory.getbasetemp() / "kernels"
    path.mkdir(exist_ok=True)
    return path
