"""Ways to pack whose bytes must be the same however many processes and machines take part."""

from __future__ import annotations

from typing import Any

from tests.mill.outputs import BOS

WAYS: dict[str, dict[str, Any]] = {
    "concat": {"context_length": 128, "overlap": 17, "format": "bin,megatron"},
    "bestfit": {
        "context_length": 128, "pack": "bestfit", "validation": "20%", "shuffle": "docs",
        "format": "parquet,mds",
    },
    "documents": {
        "pack": "none", "format": "olmo,datatrove", "shuffle": "docs", "seed": 5,
        "validation": "10%",
    },
    "limits": {"context_length": 128, "max_tokens": 5000, "format": "npy,litdata"},
    "rows": {"context_length": 96, "pack": "pad", "max_sequences": 90, "format": "arrow"},
    "crop": {
        "context_length": 64, "pack": "bos-bestfit-crop", "bos": BOS, "format": "torch",
        "shuffle": "docs", "validation": "5%",
    },
}  # fmt: skip
