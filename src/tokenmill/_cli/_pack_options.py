"""The options that `pack` and `plan` share, and how they become arguments of `tokenmill.pack`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokenmill._cli._options import add_tokenizer, load

if TYPE_CHECKING:
    import argparse

# Options that are handed on under their own name where they are given.
_PLAIN = (
    "context_length", "pack", "format", "field", "text_mode", "delimiter", "overlap",
    "long_documents", "tail", "bos", "pad", "special_in_text", "shard_tokens", "shuffle", "seed",
    "validation", "max_tokens", "max_sequences", "limit_documents", "max_document_bytes",
)  # fmt: skip
_SIZES = ("max_document_bytes",)
_RUN_KEYS = (
    "tokenizer", "output", "workers", "memory_limit", "max_bad", "progress", "force", "device",
)  # fmt: skip


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """Add what is read."""
    parser.add_argument(
        "inputs",
        nargs="*",
        metavar="INPUT",
        help="files, globs, folders, URLs, or - for stdin: JSONL, Parquet, Arrow, CSV, TSV, plain "
        "text; .gz .zst .lz4 .bz2 .xz of those",
    )
    parser.add_argument(
        "--source",
        action="append",
        default=[],
        metavar="PATH[:WEIGHT]",
        help="a source with its share of the tokens; may be given several times",
    )
    parser.add_argument(
        "--recipe", metavar="FILE", help="sources and options from a YAML or TOML file"
    )
    add_tokenizer(parser)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what decides the bytes."""
    _add_reading(parser.add_argument_group("reading"))
    _add_packing(parser.add_argument_group("packing"))
    _add_choosing(parser.add_argument_group("choosing documents"))


def _add_reading(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--field", metavar="NAME", help="the text field (default: found and said)")
    group.add_argument(
        "--text-mode",
        metavar="file|line|SEPARATOR",
        help="plain text: one document a file (default), a line, or between separators",
    )
    group.add_argument("--delimiter", metavar="CHAR", help="of CSV (default: by the suffix)")
    group.add_argument(
        "--special-in-text",
        choices=["text", "encode", "raise"],
        help="a special token's text inside a document stays text (default), becomes its id, or "
        "is an error",
    )
    group.add_argument(
        "--on-bad",
        action="append",
        default=[],
        metavar="REASON=POLICY",
        help="what becomes of bad records: quarantine (default), skip, replace or fail; reasons: "
        "bad_json missing_field null_field wrong_type bad_utf8 lone_surrogate empty_text too_long "
        "bad_row, or all of these; and bad_file (default fail): a file that cannot be read",
    )
    group.add_argument(
        "--max-document-bytes",
        metavar="SIZE",
        help="longer documents are too_long (default 1GiB, or an eighth of --memory-limit)",
    )


def _add_packing(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--context-length", type=int, metavar="N", help="tokens of a row")
    group.add_argument(
        "--pack",
        choices=["concat", "bestfit", "bos-bestfit-crop", "pad", "none"],
        help="how documents become rows (default: concat; none for megatron, datatrove and olmo)",
    )
    group.add_argument(
        "--format",
        metavar="NAME[,NAME]",
        help="bin (default), megatron, datatrove, olmo, llmc, litdata, mds, npy, parquet, arrow, "
        "torch; several at once with commas",
    )
    group.add_argument(
        "--overlap", type=int, metavar="N", help="tokens that rows of concat share (default 0)"
    )
    group.add_argument(
        "--long-documents",
        choices=["split", "truncate", "drop"],
        help="documents longer than a row, for bestfit and pad (default split)",
    )
    group.add_argument(
        "--tail",
        choices=["carry", "pad", "drop"],
        help="the last, short row is kept short, padded or dropped (default: kept where the "
        "format can)",
    )
    group.add_argument("--eos", metavar="TOKEN|ID", help="ends every document (default: found)")
    group.add_argument("--no-eos", action="store_true", help="put nothing behind documents")
    group.add_argument(
        "--bos",
        nargs="?",
        const=True,
        metavar="TOKEN|ID",
        help="put a token before every document; without a value the tokenizer's own",
    )
    group.add_argument(
        "--pad", metavar="TOKEN|ID", help="fills short rows (default: found, or EOS)"
    )
    group.add_argument(
        "--shard-tokens", type=int, metavar="N", help="tokens of a shard (default 33554432)"
    )


def _add_choosing(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--shuffle", choices=["none", "docs"], help="shuffle all documents")
    group.add_argument("--seed", type=int, metavar="N", help="of the shuffle (default 0)")
    group.add_argument(
        "--validation",
        metavar="SHARE",
        help="put 0.01 or 1%% of the documents, chosen by a hash of their text, into a split of "
        "their own",
    )
    group.add_argument("--max-tokens", type=int, metavar="N", help="stop before more tokens")
    group.add_argument("--max-sequences", type=int, metavar="N", help="stop after so many rows")
    group.add_argument(
        "--limit-documents", type=int, metavar="N", help="only the first N documents, for a trial"
    )


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add what never changes a byte."""
    group = parser.add_argument_group("running (never changes a byte)")
    group.add_argument(
        "--workers", type=int, metavar="N", help="threads (default: what this process may use)"
    )
    group.add_argument(
        "--memory-limit",
        metavar="SIZE",
        help="of the whole run, as 2GB; makes longer documents than an eighth of it too_long",
    )
    group.add_argument(
        "--max-bad", metavar="N|SHARE%", help="stop with exit status 3 past so many bad records"
    )
    group.add_argument(
        "--force", action="store_true", default=None, help="start over, whatever the output holds"
    )
    group.add_argument(
        "--progress",
        choices=["auto", "bar", "plain", "json", "none"],
        help="a bar on a terminal, plain lines elsewhere (auto), or as named",
    )
    group.add_argument(
        "--device",
        metavar="cpu|cuda|auto",
        help="what tokenizes: the CPU (default), a GPU (cuda, cuda:1), or a GPU where that can be "
        "(auto); changes no byte",
    )
    group.add_argument("--quiet", action="store_true", help="say nothing but errors")
    group.add_argument("--json", action="store_true", help="print the result as JSON on stdout")


def read(
    parser: argparse.ArgumentParser, options: argparse.Namespace
) -> tuple[list[Any], dict[str, Any]]:
    """Return the inputs and the keywords of `tokenmill.pack`."""
    from tokenmill._mill.plan.memory import parse_size
    from tokenmill._mill.plan.recipe import read_recipe
    from tokenmill._mill.plan.sources import parse_source

    keywords: dict[str, Any] = {}
    inputs: list[Any] = [*options.inputs, *(parse_source(text) for text in options.source)]
    if options.recipe:
        sources, keywords = read_recipe(options.recipe)
        inputs += sources
        for key in [key for key in _RUN_KEYS if key in keywords]:
            value = keywords.pop(key)
            if getattr(options, key, None) is None:
                setattr(options, key, value)
    if not inputs:
        parser.error("nothing to read; hint: give files, folders, globs, --source or --recipe")
    for name in _PLAIN:
        value = getattr(options, name)
        if value is not None:
            keywords[name] = parse_size(value, name) if name in _SIZES else value
    if options.eos is not None and options.no_eos:
        parser.error("--eos and --no-eos contradict each other")
    if options.eos is not None or options.no_eos:
        keywords["eos"] = False if options.no_eos else options.eos
    if options.on_bad:
        keywords["on_bad"] = dict(_policies(parser, options.on_bad))
    return inputs, keywords


def tokenizer_of(options: argparse.Namespace) -> object:
    """Return what `tokenmill.pack` loads, or the tokenizer itself where it takes a pattern."""
    # A path says more than what was loaded from it: the files beside it name EOS and BOS.
    return options.tokenizer if options.pattern is None else load(options)


def _policies(parser: argparse.ArgumentParser, given: list[str]) -> list[tuple[str, str]]:
    from tokenmill._read.blocks import REASONS

    chosen = []
    for text in given:
        reason, equals, policy = text.partition("=")
        if not equals:
            parser.error(f"--on-bad: expected REASON=POLICY as bad_utf8=replace, got {text!r}")
        of_records = [name for name in REASONS if name != "bad_file"]
        reasons = of_records if reason == "all" else [reason.replace("-", "_")]
        chosen += [(name, policy) for name in reasons]
    return chosen
