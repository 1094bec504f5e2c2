"""Many texts -> ids, ids with spans, or rows for a model: the calls of `Tokenizer` on batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokenmill._calls.batch import TokenBatch
from tokenmill._calls.options import (
    bits_of,
    core_options,
    limit_of,
    modes,
    out_of,
    row_dtype,
    span_unit,
    stop_of,
    texts_of,
    thread_count,
)
from tokenmill._errors import OptionError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tokenmill._calls.encoded import EncodedBatch
    from tokenmill._core import CallCounts
    from tokenmill._model.ready import Ready
    from tokenmill._post import ResultOptions, Wanted


class Batches:
    """A model, and what the calls do before and after it."""

    def __init__(self, ready: Ready) -> None:
        self._ready = ready
        self.model: Any = ready.model

    modes = staticmethod(modes)
    stop = staticmethod(stop_of)

    def encode(
        self,
        texts: Any,
        *,
        threads: int | None,
        dtype: Any,
        add_special_tokens: bool,
        special_in_text: str,
        errors: str,
        offsets: str | None,
        device: str,
        timeout: float | None,
        results: ResultOptions,
        counts: CallCounts | None = None,
    ) -> TokenBatch | EncodedBatch:
        """Return the ids of many texts, in rows if one of the `results` is asked for."""
        wanted = None
        if results:
            from tokenmill._post import wanted_of  # not for plain ids

            wanted = wanted_of(results)
        special, policy, count = *modes(special_in_text, errors), thread_count(threads)
        first, unit = texts_of(texts), span_unit(offsets)
        bits = 0 if wanted else bits_of(dtype, self.model.max_id)
        reason, stop = None, stop_of(timeout)
        if device != "cpu":
            if timeout is not None:
                raise OptionError('expected none unless device="cpu"', where="timeout")
            from tokenmill._cuda.choose import CallOptions, encode_on  # not for the CPU

            ids_dtype = "uint32" if wanted else dtype
            call = CallOptions(ids_dtype, add_special_tokens, special_in_text, errors, "host")
            only_ids = wanted is None and unit is None
            found = encode_on(device, self._ready, first, call, only_ids=only_ids)
            if isinstance(found, TokenBatch):
                return found
            reason = found
        if wanted is None and unit is None:  # by position: names cost a small batch a tenth
            given = count, bits, add_special_tokens, special, policy, stop
            named = {} if counts is None else {"counts": counts}
            return TokenBatch(*self.model.encode_batch(first, *given, **named), reason=reason)
        core = core_options(add_special_tokens, special_in_text, errors, count)
        core |= {"stop": stop, "counts": counts}
        if wanted is None:
            return _encode_with_spans(self._ready, first, bool(unit), core | {"bits": bits}, reason)
        return _encode_rows(self._ready, first, wanted, in_characters=unit, dtype=dtype, core=core)

    @staticmethod
    def shared(
        add_special_tokens: bool,
        special_in_text: str,
        errors: str,
        threads: int | None,
        timeout: float | None = None,
    ) -> dict[str, Any]:
        """Return the options that all calls of the core on many texts share."""
        count = thread_count(threads)
        return core_options(add_special_tokens, special_in_text, errors, count, timeout)

    for_one = staticmethod(core_options)

    def encode_into(
        self, texts: Any, out: NDArray[Any], shared: dict[str, Any]
    ) -> NDArray[np.int64]:
        """Write the ids of many texts into `out` and return their offsets."""
        texts, out = texts_of(texts), out_of(out, self.model.max_id)
        offsets: NDArray[np.int64] = self.model.encode_into(texts, out, **shared)
        return offsets

    def count_one(self, text: Any, limit: int | None, shared: dict[str, Any]) -> int:
        """Return the number of ids of one text, `limit + 1` for more than `limit`."""
        return int(self.model.count(text, limit=limit_of(limit), **shared))

    def count(self, texts: Any, limit: int | None, shared: dict[str, Any]) -> NDArray[np.int64]:
        """Return the number of ids of each text, `limit + 1` for more than `limit`."""
        counts: NDArray[np.int64] = self.model.count_batch(
            texts_of(texts), limit=limit_of(limit), **shared
        )
        return counts if limit is None else counts.clip(max=limit + 1)


def _encode_with_spans(
    ready: Ready, texts: Any, in_characters: bool, core: dict[str, Any], reason: str | None
) -> TokenBatch:
    """Return ids and the span of each; `core` are the options of the core's `encode_batch`."""
    from tokenmill._post import encode_side

    side = encode_side(ready.span_model, texts, in_characters, **core)
    return TokenBatch(side.ids, side.offsets, side.columns["spans"], reason=reason)


def _encode_rows(
    ready: Ready,
    texts: Any,
    wanted: Wanted,
    *,
    in_characters: bool | None,
    dtype: Any,
    core: dict[str, Any],
) -> EncodedBatch:
    """Return the rows that `wanted` describes, with spans unless `in_characters` is None."""
    from tokenmill._post import assemble, encode_side

    add_special_tokens = bool(core["add_special_tokens"])
    kind, bits = row_dtype(dtype, ready.model.max_id)
    core |= {"bits": bits, "add_special_tokens": False}  # the rows get them, not the texts
    batches = [texts] if wanted.pairs is None else [texts, texts_of(wanted.pairs, "pairs")]
    need = ready.tokens_needed(wanted, add_special_tokens=add_special_tokens)
    model = ready.model if in_characters is None else ready.span_model
    sides = [encode_side(model, batch, in_characters, need, **core) for batch in batches]
    return assemble(
        sides, ready.templates, wanted, add_special_tokens=add_special_tokens, dtype=kind
    )
