"""Job: one call of `tokenize`, with every choice made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokenmill._causal.log import Log
from tokenmill._causal.memory import check_row
from tokenmill._causal.strategy import make_encoder
from tokenmill._causal.vocabulary import boundary_tokens
from tokenmill._causal.windows import Shape
from tokenmill._machine.memory import available_bytes
from tokenmill._mill.plan.ends import resolve_boundary, resolve_eos

if TYPE_CHECKING:
    from tokenmill._causal.config import Config
    from tokenmill._causal.encoders import Encoder
    from tokenmill._causal.options import Options
    from tokenmill._causal.tokenizer import CausalLMTokenizer


@dataclass(frozen=True)
class Job:
    """What is done to each split: the ids around documents, the shape of rows, the encoder."""

    config: Config
    options: Options
    shape: Shape
    encoder: Encoder
    eos_id: int | None
    bos_id: int | None
    log: Log


def make_job(face: CausalLMTokenizer, options: Options) -> Job:
    """Load the tokenizer, choose how it runs, and find the tokens around documents."""
    config, source = face.config, face.source
    log = Log(config.verbose_level)
    context_length = face.context_length
    if reason := face.context_length_reason:
        log.info(f"context_length={context_length}: {reason}")
    if options.tail != "drop":
        check_row(context_length, available_bytes())
    encoder = make_encoder(face.loaded, config, options.special_in_text, log)
    vocabulary = encoder.vocabulary
    found = boundary_tokens(source, vocabulary)
    notes: list[str] = []
    eos = resolve_eos(options.eos, vocabulary, found, notes)
    bos = resolve_boundary("bos", options.bos or False, vocabulary, found, notes)
    pad = resolve_boundary("pad", options.pad, vocabulary, found, notes)
    for note in notes:
        log.debug(" ".join(note.split()))
    shape = Shape(context_length, config.overlap, options.tail, eos if pad is None else pad)
    return Job(config, options, shape, encoder, eos, bos, log)
