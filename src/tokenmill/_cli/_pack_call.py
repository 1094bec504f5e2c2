"""The options of `pack` and `plan`, and a recipe -> a call of `tokenmill.pack`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokenmill._cli._milling import PackCall, run_options, tokenizer_of

if TYPE_CHECKING:
    import argparse

# Options that `tokenmill.pack` takes as they are, under the same name.
_PLAIN = (
    "context_length", "pack", "format", "field", "text_mode", "delimiter", "input_format",
    "overlap", "long_documents", "tail", "bos", "pad", "special_in_text", "shard_tokens",
    "shuffle", "seed", "validation", "max_tokens", "max_sequences", "limit_documents",
)  # fmt: skip
# Keys of a recipe that decide no byte. The command line comes first.
_RUN_KEYS = (
    "tokenizer", "output", "workers", "memory_limit", "max_bad", "progress", "force", "device",
    "metrics", "otlp", "ranks", "lease", "engine", "address", "work",
)  # fmt: skip


def read_call(options: argparse.Namespace) -> PackCall:
    """Return the call that the command line and its recipe mean."""
    from tokenmill._mill.plan.sources import parse_source

    sources, keywords = _read_recipe(options)
    inputs = [*options.inputs, *map(parse_source, options.source), *sources]
    if not inputs:
        options.parser.error("nothing to read: give files, folders, globs, --source or --recipe")
    keywords.update(_given(options))
    run = run_options(
        options,
        device=options.device,
        rank=options.rank,
        ranks=options.ranks,
        lease=options.lease,
        engine=options.engine,
        address=options.address,
        work=options.work,
    )
    return PackCall(inputs, tokenizer_of(options), keywords, run)


def eos_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return `eos` as `tokenmill.pack` takes it: False for none; nothing if it is not given."""
    if options.eos is not None and options.no_eos:
        options.parser.error("--eos and --no-eos contradict each other")
    if options.no_eos:
        return {"eos": False}
    return {} if options.eos is None else {"eos": options.eos}


def _read_recipe(options: argparse.Namespace) -> tuple[list[Any], dict[str, Any]]:
    """Return the sources and keywords of a recipe; fill in the options of running."""
    from tokenmill._mill.plan.recipe import read_recipe

    if not options.recipe:
        return [], {}
    sources, keywords = read_recipe(options.recipe)
    for key in _RUN_KEYS:
        value = keywords.pop(key, None)
        if getattr(options, key) is None:
            setattr(options, key, value)
    return sources, keywords


def _given(options: argparse.Namespace) -> dict[str, Any]:
    """Return the keywords that the command line gives."""
    from tokenmill._mill.plan.memory import parse_size

    values = {name: getattr(options, name) for name in _PLAIN}
    found = {name: value for name, value in values.items() if value is not None}
    found.update(eos_of(options))
    if options.max_document_bytes is not None:
        name = "max_document_bytes"
        found[name] = parse_size(options.max_document_bytes, name)
    if options.on_bad:
        found["on_bad"] = dict(_policies(options))
    return found


def _policies(options: argparse.Namespace) -> list[tuple[str, str]]:
    from tokenmill._read.blocks import REASONS

    chosen = []
    for text in options.on_bad:
        reason, equals, policy = text.partition("=")
        if not equals:
            problem = f"--on-bad: expected REASON=POLICY, e.g. bad_utf8=replace, got {text!r}"
            options.parser.error(problem)
        of_records = [name for name in REASONS if name != "bad_file"]
        reasons = of_records if reason == "all" else [reason.replace("-", "_")]
        chosen += [(name, policy) for name in reasons]
    return chosen
