"""Word tables: cold ones, small ones, and text whose words do not come back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill._advice.advice import Advice, percent

if TYPE_CHECKING:
    from tokenmill._machine.facts import MachineFacts
    from tokenmill._record.facts import RunFacts

_MERGES = 0.35  # of the time: real text stays below that, a first pass included
_MISSES = 0.02  # of the words: a warm table knows nearly all words of real text
_EVICTS = 0.01
_COLD_BYTES = 16 << 20  # up to here, most words are met for the first time


def small_tables(run: RunFacts, _: MachineFacts) -> Advice | None:
    """See whether words lose their place to others, and are merged again."""
    words = run.stats.words
    if run.tables == "usual" or not words.looked_up or words.evicted < _EVICTS * words.looked_up:
        return None
    return Advice(
        "small_tables",
        f"{words.evicted:,} words were evicted, and {percent(_missed(run))} of all were merged",
        f"the word tables are {run.tables}: too few places for the words of this text",
        'use tables="usual", 39 MB for each thread',
    )


def cold_tables(run: RunFacts, _: MachineFacts) -> Advice | None:
    """See whether a short process learns its words, and ends."""
    if not _is_merging(run) or run.bytes("split") > _COLD_BYTES or run.tables != "usual":
        return None
    return Advice(
        "cold_tables",
        f"{percent(run.share('merge'))} of the time goes into {percent(_missed(run))} of the words",
        "the word tables were empty: a process meets most words of its first megabytes "
        "for the first time",
        "give one process more text, and keep it and its Tokenizer; new processes start again",
    )


def unusual_text(run: RunFacts, _: MachineFacts) -> Advice | None:
    """See whether words of much text do not come back: base64, random letters, rare scripts."""
    if not _is_merging(run) or run.bytes("split") <= _COLD_BYTES or run.tables != "usual":
        return None
    return Advice(
        "unusual_text",
        f"{percent(run.share('merge'))} of the time goes into {percent(_missed(run))} of the words "
        f"of {run.bytes('split') / 1e6:,.0f} MB",
        "the words of this text do not come back: base64, hashes, random letters, or a language "
        "that the vocabulary hardly knows",
        "leave such fields out, if they are not meant to be learned; else this is its speed",
    )


def _is_merging(run: RunFacts) -> bool:
    return run.share("merge") >= _MERGES and _missed(run) >= _MISSES


def _missed(run: RunFacts) -> float:
    words = run.stats.words
    return words.missed / words.looked_up if words.looked_up else 0.0


ADVISERS = (small_tables, cold_tables, unusual_text)
