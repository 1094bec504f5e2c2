"""Numbers and texts <-> Arrow arrays, by their buffers.

`pyarrow.array` and `to_numpy` import pandas where it is installed, which takes 0.2 to 0.3 s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def number_array(values: NDArray[Any]) -> Any:  # pyarrow's
    """Return an array over the memory of `values`, which may not change any more."""
    import pyarrow as pa

    buffer = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, buffer])


def text_array(texts: Sequence[str]) -> Any:  # pyarrow's
    """Return an array of strings."""
    import pyarrow as pa

    data = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, data)]).astype(np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(data))]
    return pa.Array.from_buffers(pa.string(), len(data), buffers)


def numbers_of(column: Any) -> NDArray[Any]:  # pyarrow's
    """Return the numbers of a column in one array."""
    if column.null_count:
        return np.asarray(column.to_numpy())  # a damaged table: the numbers will not add up
    dtype = np.dtype(str(column.type))  # pyarrow asks pandas, which may not be there
    parts = [
        np.frombuffer(chunk.buffers()[1], dtype)[chunk.offset : chunk.offset + len(chunk)]
        for chunk in column.chunks
        if len(chunk)
    ]
    return np.concatenate(parts) if parts else np.empty(0, dtype)
