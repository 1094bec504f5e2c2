"""A plugin for pytest that puts our drop-ins into the place of `tiktoken` and `tokenizers`.

It is loaded into the test runs of those libraries: `pytest -p dropin_plugin`. Our own code must
still find the libraries themselves, so their original names are kept for it.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import tiktoken
import tokenizers
import tokenizers.implementations

_ORIGINALS: dict[str, Any] = {
    "tiktoken": SimpleNamespace(**vars(tiktoken)),
    "tokenizers": SimpleNamespace(**vars(tokenizers)),
}


def _original(name: str) -> Any:
    return _ORIGINALS.get(name) or import_module(name)


def _replace(module: Any, names: dict[str, Any]) -> None:
    for name, value in names.items():
        if hasattr(module, name):
            setattr(module, name, value)


def _install() -> None:
    import tokenmill.compat.tiktoken as our_tiktoken
    from tokenmill._reference import libraries
    from tokenmill.compat.hf import Encoding, Tokenizer, _library, decoders
    from tokenmill.compat.tiktoken import _peer

    for module in (_library, _peer, libraries):
        module.import_module = _original  # type: ignore[attr-defined]
    _replace(tiktoken, {name: getattr(our_tiktoken, name) for name in our_tiktoken.__all__})
    ours = {"Tokenizer": Tokenizer, "Encoding": Encoding}
    for name, module in list(sys.modules.items()):
        if name == "tokenizers" or name.startswith("tokenizers.implementations"):
            _replace(module, ours)
    _replace(tokenizers.decoders, {"DecodeStream": decoders.DecodeStream})


_install()
