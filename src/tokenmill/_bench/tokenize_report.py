"""The result of `bench tokenize` in the form of all measurements: two rows for each of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill._bench.about import about_run
from tokenmill._bench.clock import times_of
from tokenmill._bench.measurement import BenchReport, Measurement
from tokenmill._bench.scenarios import hash_texts
from tokenmill._tokenizer import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenmill._bench.documents import SampleTexts
    from tokenmill._bench.processes import Request
    from tokenmill._bench.result import Result, Row


def tokenize_report(result: Result, documents: SampleTexts, request: Request) -> BenchReport:
    """Return the report; a call is a pass over all documents."""
    tokenizer = Tokenizer.load(request.tokenizer, pattern=request.pattern)
    about = about_run(tokenizer, request.tokenizer, result.threads)
    about["load_average"] = result.load_average
    about["input"] = {
        "origin": documents.origin,
        "documents": len(documents.texts),
        "bytes": documents.size_bytes,
        "skipped": dict(documents.skipped),
    }
    text_hash = hash_texts(documents.texts)
    rows = [
        _half(row, name, seconds, text_hash, documents.size_bytes)
        for row in result.rows
        for name, seconds in (("cold", row.cold_seconds), ("warm", row.warm_seconds))
    ]
    return BenchReport("tokenize", about, rows, result.not_measured)


def _half(
    row: Row, name: str, seconds: Sequence[float], text_hash: str, size_bytes: int
) -> Measurement:
    labels = {"library": row.library, "batch_size": row.batch_size, "pass": name}
    samples = [
        times_of([value], value, cpu, peak_mib=peak, load_seconds=load)
        for value, cpu, peak, load in zip(
            seconds,
            getattr(row, f"{name}_cpu_seconds"),
            row.peak_mib,
            row.load_seconds,
            strict=True,
        )
    ]
    return Measurement(
        f"{row.name}, {name}", labels, row.documents, size_bytes, row.tokens, row.ids, text_hash,
        row.version, row.note, samples=samples,
    )  # fmt: skip
