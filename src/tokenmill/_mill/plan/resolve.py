"""Options as given, some of them left open -> Settings, with every value decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill._calls.options import MAX_U16
from tokenmill._checks import one_of, share, whole_number, whole_number_or_none
from tokenmill._errors import Hint, Option, OptionError
from tokenmill._load.boundary_tokens import find_boundary_tokens
from tokenmill._mill.plan.ends import resolve_boundary, resolve_eos
from tokenmill._mill.plan.settings import (
    SHARD_TOKENS,
    Settings,
    resolve_formats,
    resolve_pack,
    resolve_policies,
    resolve_tail,
)

if TYPE_CHECKING:
    from tokenmill._mill.plan.options import PackOptions
    from tokenmill._tokenizer import Tokenizer


def resolve_settings(
    options: PackOptions, source: object, tokenizer: Tokenizer, notes: list[str]
) -> Settings:
    """Decide every option; `notes` collects what people should know about the choices."""
    formats = resolve_formats(options.get("format", "bin"))
    way, length = resolve_pack(options.get("pack"), options.get("context_length"), formats)
    ends = find_boundary_tokens(source, tokenizer, ("eos", "bos", "pad"))
    eos = resolve_eos(options.get("eos"), tokenizer, ends, notes)
    bos = resolve_boundary("bos", options.get("bos", False), tokenizer, ends, notes)
    pad = resolve_boundary("pad", options.get("pad"), tokenizer, ends, notes)
    if pad is None and way not in ("none",):
        pad = eos  # as most trainers do without a padding token
    ids = [tokenizer.vocab_size - 1, *(i for i in (eos, bos, pad) if i is not None)]
    tail = resolve_tail(options.get("tail"), way, formats)
    settings = Settings(
        formats=formats,
        pack=way,
        context_length=length,
        overlap=options.get("overlap", 0),
        long_documents=options.get("long_documents", "split"),
        tail=tail,
        eos_id=eos,
        bos_id=bos,
        pad_id=pad,
        max_id=max(ids),
        dtype="uint16" if max(ids) <= MAX_U16 else "uint32",
        special_in_text=options.get("special_in_text", "text"),
        shard_tokens=whole_number("shard_tokens", options.get("shard_tokens", SHARD_TOKENS)),
        shuffle=one_of("shuffle", options.get("shuffle") or "none", ("none", "docs")),
        seed=whole_number("seed", options.get("seed", 0), least=0),
        validation=share("validation", options.get("validation", 0.0)),
        max_tokens=whole_number_or_none("max_tokens", options.get("max_tokens")),
        max_sequences=whole_number_or_none("max_sequences", options.get("max_sequences")),
        limit_documents=whole_number_or_none("limit_documents", options.get("limit_documents")),
        policies=resolve_policies(options.get("on_bad")),
    )
    settings.packer()  # refuses options that contradict each other
    if way == "bos-bestfit-crop" and bos is None:
        raise OptionError(
            "every row must start with a BOS token, but none is added",
            where="pack bos-bestfit-crop",
            hint=Hint("give {}, or the token's name or id", Option("bos", value=True)),
        )
    return settings
