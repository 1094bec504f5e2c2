"""The options of a tokenizer on a device, and of its calls."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._checks import one_of, whole_number
from tokenmill._errors import DtypeError

if TYPE_CHECKING:
    from collections.abc import Sequence

DTYPES = ("int32", "uint32", "uint16")
OUTPUTS = ("device", "host")


@dataclass(frozen=True)
class DeviceOptions:
    """How a tokenizer uses a device; GpuTokenizer explains them."""

    batch_bytes: int = 256 << 20
    learn: bool = True
    table_bits: int = 21
    max_memory: int | None = None

    def __post_init__(self) -> None:
        whole_number("batch_bytes", self.batch_bytes)
        whole_number("table_bits", self.table_bits, least=10, most=26)
        if self.max_memory is not None:
            whole_number("max_memory", self.max_memory, least=0)


@dataclass(frozen=True)
class CallOptions:
    """The options of `GpuTokenizer.encode_batch`, which explains them."""

    dtype: Any = "int32"
    add_special_tokens: bool = False
    special_in_text: str = "encode"
    errors: str = "strict"
    output: str = "device"
    stream: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", dtype_of(self.dtype, DTYPES))
        one_of("output", self.output, OUTPUTS)


def dtype_of(dtype: Any, choices: Sequence[str]) -> str:  # whatever numpy takes
    """Return the name of a number type that is one of the choices."""
    if type(dtype) is str and dtype in choices:
        return dtype
    with suppress(TypeError):
        name = str(np.dtype(dtype))
        if name in choices:
            return name
    raise DtypeError(f"dtype: expected one of {', '.join(map(repr, choices))}, got {dtype!r}")


def check_out(out: Any, dtype: str) -> None:
    """Raise DtypeError unless ids can be written into `out`."""
    if out is None:
        return
    if not isinstance(out, np.ndarray) or out.dtype != dtype:
        got = getattr(out, "dtype", type(out).__name__)
        raise DtypeError(f"out: expected a row of {dtype}, got {got}")
    if out.ndim != 1 or not out.flags.c_contiguous or not out.flags.writeable:
        raise DtypeError(
            f"out: expected one writable row of {dtype} without gaps, got shape {out.shape}, "
            f"strides {out.strides}, writable {out.flags.writeable}",
            hint="numpy.empty(n, dtype)",
        )
