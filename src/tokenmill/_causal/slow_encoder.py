"""SlowEncoder: a tokenizer written in Python, in worker processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokenmill._causal.encoders import refuse_special
from tokenmill._causal.slow_pool import Call, SlowPool
from tokenmill._causal.vocabulary import PythonVocabulary

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tokenmill._post.request import SpecialInText


class SlowEncoder:
    """A tokenizer written in Python, in worker processes."""

    slice_bytes: int | None = None

    def __init__(self, tokenizer: Any, processes: int, special: SpecialInText) -> None:
        self.num_proc: int | None = processes
        self.parallelism = "python_multiprocessing" if processes > 1 else "single_process"
        self._tokenizer = tokenizer
        self._special = special
        self._pool = SlowPool(Call(tokenizer, as_text=special == "text"), processes)

    @property
    def vocabulary(self) -> PythonVocabulary:
        """Return the vocabulary of the object, as far as it has one."""
        return PythonVocabulary(self._tokenizer)

    @property
    def identity(self) -> str | None:
        """Return a hash of the object, if it can be pickled."""
        from datasets.fingerprint import Hasher  # only a cache asks

        try:
            return f"{type(self._tokenizer).__qualname__} {Hasher.hash(self._tokenizer)}"
        except Exception:
            return None

    def encode(self, texts: Any) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Encode in the worker processes; documents keep their order."""
        plain = texts.to_pylist()
        if self._special == "raise":
            refuse_special(plain, self.vocabulary.special_tokens)
        return self._pool.encode(plain)

    def close(self) -> None:
        """Stop the worker processes."""
        self._pool.close()
