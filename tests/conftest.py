"""What many tests share: a small tokenizer with all byte tokens, and a cache of its own."""

from __future__ import annotations

import json
import os
import signal
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pathlib import Path

    from tokenmill import Tokenizer

# No clock judges an example, and a run has the examples of the run before it; to search for new
# ones: pytest --hypothesis-profile random.
settings.register_profile(
    "random",
    derandomize=False,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    database=None,
)
settings.register_profile("same", settings.get_profile("random"), derandomize=True)
settings.load_profile("same")

# No test asks the hub, not even for the name of a tokenizer that is not there: a machine without
# a network would wait for it. Set before the library is imported, and for processes of tests too.
os.environ["HF_HUB_OFFLINE"] = "1"

PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
MERGES = ["h e", "l l", "he ll", "hell o", "\u0120 w", "\u0120w o", "r l", "rl d", "\u0120wo rld"]


# A job in the background of a script ignores Ctrl-C, and so would the processes that tests stop
# with it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """Keep `datasets` and the hub out of the user's home, which they look up when imported."""
    folder = TemporaryDirectory(prefix="tokenmill-hub-")
    config.add_cleanup(folder.cleanup)
    os.environ["HF_HOME"] = folder.name


def alphabet() -> list[str]:
    """Write the 256 bytes as byte-level vocabularies do, apart from the code under test."""
    kept = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    spare = iter(range(0x100, 0x200))
    return [chr(byte) if byte in kept else chr(next(spare)) for byte in range(256)]


def small_definition() -> dict[str, Any]:
    """Return a tokenizer.json: 256 bytes, nine merges, two special tokens."""
    tokens = [*alphabet(), *(merge.replace(" ", "") for merge in MERGES)]
    vocab = {token: i for i, token in enumerate(tokens)}
    special = {
        "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
        "special": True,
    }  # fmt: skip
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": len(vocab), "content": "<s>", **special},
            {"id": len(vocab) + 1, "content": "</s>", **special},
        ],
        "normalizer": None,
        "pre_tokenizer": {**byte_level, "use_regex": True},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": "<s>", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
            ],
            "pair": [
                {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}
            ],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [len(vocab)], "tokens": ["<s>"]}},
        },
        "decoder": {**byte_level, "use_regex": True},
        "model": {
            "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
            "vocab": vocab, "merges": MERGES,
        },
    }  # fmt: skip


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Keep the tests out of the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOKENMILL_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def small_json(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Path of the small tokenizer's definition."""
    path = tmp_path_factory.mktemp("small") / "tokenizer.json"
    path.write_text(json.dumps(small_definition()))
    return path


@pytest.fixture(scope="session")
def small(small_json: Path) -> Tokenizer:
    """The small tokenizer, loaded."""
    from tokenmill import Tokenizer

    return Tokenizer.load(small_json)
