"""Job: one call of `tokenize`, with everything that was left open chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokenmill._causal.memory import available_bytes, check_row
from tokenmill._causal.strategy import choose_encoder
from tokenmill._causal.vocabulary import boundary_tokens
from tokenmill._causal.voice import Voice
from tokenmill._causal.windows import Shape
from tokenmill._mill.plan.ends import resolve_boundary, resolve_eos

if TYPE_CHECKING:
    from tokenmill._causal.config import Config
    from tokenmill._causal.encoders import Encoder
    from tokenmill._causal.options import Options


@dataclass(frozen=True)
class Job:
    """What is done to each split: the ids around documents, the shape of rows, who encodes."""

    config: Config
    options: Options
    encoder: Encoder
    eos_id: int | None
    bos_id: int | None
    pad_id: int | None
    voice: Voice

    @property
    def shape(self) -> Shape:
        """How rows are cut."""
        config, options = self.config, self.options
        return Shape(config.context_length, config.overlap, options.tail, self.pad_id)


def make_job(source: object, config: Config, options: Options) -> Job:
    """Load the tokenizer, choose how it runs, and find the tokens around documents."""
    voice = Voice(config.verbose_level)
    if options.tail != "drop":
        check_row(config.context_length, available_bytes())
    encoder = choose_encoder(source, config, options.special_in_text, voice)
    vocabulary = encoder.vocabulary
    found = boundary_tokens(source, vocabulary)
    notes: list[str] = []
    eos = resolve_eos(options.eos, vocabulary, found, notes)
    bos = resolve_boundary("bos", options.bos or False, vocabulary, found, notes)
    pad = resolve_boundary("pad", options.pad, vocabulary, found, notes)
    for note in notes:
        voice.debug(" ".join(note.split()))
    return Job(config, options, encoder, eos, bos, eos if pad is None else pad, voice)
