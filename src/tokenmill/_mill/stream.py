"""`stream`: inputs -> batches of ids, one after another; writes nothing."""

from __future__ import annotations

from collections import Counter, deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._calls.batch import TokenBatch
from tokenmill._calls.options import thread_count
from tokenmill._mill.meter import Meter
from tokenmill._mill.plan.task import prepare_task
from tokenmill._mill.run.encode import BlockEncoder
from tokenmill._read import open_stream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Unpack

    from tokenmill._mill.output.parts import EncodedBlock
    from tokenmill._mill.plan.options import PackOptions
    from tokenmill._mill.plan.plan import Plan
    from tokenmill._read import RawBlock


class TokenStream:
    """Batches of documents in the order of the inputs; iterate over it once.

    Each batch is a TokenBatch of about `block_bytes` of text, EOS and BOS included. `skipped`
    counts the bad records by reason, as far as the stream has been read.
    """

    def __init__(self, plan: Plan, encoder: BlockEncoder, workers: int) -> None:
        self.skipped: Counter[str] = Counter()
        self.documents = 0
        self._plan = plan
        self._encoder = encoder
        self._workers = workers

    def __iter__(self) -> Iterator[TokenBatch]:
        with ThreadPoolExecutor(self._workers) as pool:
            waiting: deque[Future[EncodedBlock]] = deque()
            for raw in self._blocks():
                waiting.append(pool.submit(self._encoder, raw))
                if len(waiting) > self._workers + 1:
                    yield from self._batch(waiting.popleft().result())
            while waiting:
                yield from self._batch(waiting.popleft().result())

    def _blocks(self) -> Iterator[RawBlock]:
        plan = self._plan
        for stream in plan.streams:
            reader = open_stream(stream, plan.files, plan.rules, plan.fields)
            try:
                while (raw := reader.read()) is not None:
                    yield raw
            finally:
                reader.close()

    def _batch(self, encoded: EncodedBlock) -> Iterator[TokenBatch]:
        self.skipped.update(record.reason for record in encoded.block.bad)
        self.documents += len(encoded.block)
        if len(encoded.lengths):
            ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(encoded.lengths)))
            yield TokenBatch(encoded.ids, ends)


def stream(
    inputs: Any,  # as for pack
    tokenizer: object = None,
    *,
    workers: int | None = None,
    **options: Unpack[PackOptions],
) -> TokenStream:
    """Tokenize inputs on the fly: an iterable of TokenBatch, in the order of the inputs.

    Inputs, tokenizer, reading options, EOS and BOS are those of `pack`.
    """
    options.setdefault("pack", "none")
    task = prepare_task(inputs, tokenizer=tokenizer, **options)
    plan = task.plan
    encoder = BlockEncoder(
        task.tokenizer, plan.settings, plan.rules, plan.files, plan.fields, Meter()
    )
    return TokenStream(plan, encoder, thread_count(workers, "workers"))
