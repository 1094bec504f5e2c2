"""What the models of this process take, and what sharing them saves."""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING, Any

from tokenmill import _core
from tokenmill._checks import whole_number
from tokenmill._model.shared import SHELF

if TYPE_CHECKING:
    from tokenmill._model.ready import Ready


def memory() -> dict[str, int]:
    """Return the memory of all models of this process, each counted once.

    `models` that are loaded, the `tokenizers` that use them, and `shared`, how many loads found
    their model loaded already. In bytes: `mapped`, compiled models, most of them pages of files
    that processes share; `tables` of words; `caches`, buffers that are used again; `saved`, what
    the tokenizers would take more if each had a model of its own. `workers` have the tables.
    """
    total = dict.fromkeys(("models", "tokenizers", "mapped", "tables", "caches", "workers"), 0)
    total["saved"] = 0
    spare = _core.spare_bytes()
    for ready in SHELF.alive():
        model: Any = ready.model
        use = model.memory()
        own = use["caches"] - spare  # every model reports the buffers that all of them share
        holders = len(ready.holders)
        total["models"] += 1
        total["tokenizers"] += holders
        total["mapped"] += use["mapped"]
        total["tables"] += use["tables"]
        total["caches"] += max(own, 0)
        total["workers"] += use["workers"]
        copied = 0 if _is_mapped(ready) else use["mapped"]
        total["saved"] += max(holders - 1, 0) * (use["tables"] + max(own, 0) + copied)
    total["caches"] += spare
    return total | {"shared": SHELF.found}


def keep_models(max_models: int) -> None:
    """Keep so many models that no tokenizer uses, the last ones that were loaded; 0 at first.

    Loading one of them again takes microseconds. The others go with their last tokenizer.
    """
    SHELF.keep(whole_number("max_models", max_models, least=0))


def _is_mapped(ready: Ready) -> bool:
    payload = ready.payload
    return isinstance(payload, memoryview) and isinstance(payload.obj, mmap.mmap)
