"""The options that `pack` and `plan` share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill._cli._options import (
    add_config,
    add_json,
    add_no_eos_and_bos,
    add_quiet,
    add_tokenizer,
    add_watching,
    add_workers,
)

if TYPE_CHECKING:
    import argparse


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """Add what is read."""
    parser.add_argument(
        "inputs",
        nargs="*",
        metavar="INPUT",
        help="files, globs, folders, URLs, or - for stdin: JSONL, Parquet, Arrow, CSV, TSV or "
        "plain text, also as .gz .zst .lz4 .bz2 .xz",
    )
    parser.add_argument(
        "--source",
        action="append",
        default=[],
        metavar="PATH[:WEIGHT]",
        help="an input with its share of the tokens, e.g. web.jsonl:0.7; repeatable",
    )
    parser.add_argument(
        "--recipe", metavar="FILE", help="read sources and options from YAML or TOML"
    )
    add_tokenizer(parser)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what decides the bytes."""
    _add_reading(parser.add_argument_group("reading"))
    _add_packing(parser.add_argument_group("packing"))
    _add_ends(parser.add_argument_group("tokens around documents"))
    _add_choosing(parser.add_argument_group("choosing documents"))


def _add_reading(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--field",
        metavar="NAME",
        help="the text field, e.g. data.text (default: detected, and printed)",
    )
    group.add_argument(
        "--text-mode",
        metavar="file|line|SEPARATOR",
        help="what one document of plain text is: a whole file, a line, or the text between "
        "separators (default: file)",
    )
    group.add_argument(
        "--delimiter",
        metavar="CHAR",
        help="the character between CSV fields (default: by the suffix)",
    )
    group.add_argument(
        "--input-format",
        choices=["jsonl", "text", "csv", "tsv", "parquet", "arrow"],
        help="format of stdin and of files without a known suffix (default: JSONL, Parquet, Arrow "
        "or text, detected by their first bytes)",
    )
    group.add_argument(
        "--special-in-text",
        choices=["text", "encode", "raise"],
        help="the text of a special token in a document stays text, becomes its id, or is an error "
        "(default: text)",
    )
    group.add_argument(
        "--on-bad",
        action="append",
        default=[],
        metavar="REASON=POLICY",
        help="what to do with bad records: quarantine, skip, replace or fail, e.g. "
        "bad_utf8=replace; repeatable (default: quarantine). Reasons: bad_json missing_field "
        "null_field wrong_type bad_utf8 lone_surrogate empty_text too_long bad_row, all of these "
        "as `all`, and bad_file, a file that cannot be read (default: fail)",
    )
    group.add_argument(
        "--max-document-bytes",
        metavar="SIZE",
        help="longer documents are rejected as too_long (default: 1GiB, or 1/8 of --memory-limit)",
    )


def _add_packing(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--context-length", type=int, metavar="N", help="tokens per row")
    group.add_argument(
        "--pack",
        choices=["concat", "bestfit", "bos-bestfit-crop", "pad", "none"],
        help="how documents become rows (default: concat; none for megatron, datatrove and olmo)",
    )
    group.add_argument(
        "--format",
        metavar="NAME[,NAME]",
        help="bin, megatron, datatrove, olmo, llmc, litdata, mds, npy, parquet, arrow, torch, "
        "torch-chunks (default: bin)",
    )
    group.add_argument(
        "--overlap",
        type=int,
        metavar="N",
        help="tokens that neighbouring rows of concat share (default: 0)",
    )
    group.add_argument(
        "--long-documents",
        choices=["split", "truncate", "drop"],
        help="what bestfit and pad do with documents longer than a row (default: split)",
    )
    group.add_argument(
        "--tail",
        choices=["carry", "pad", "drop"],
        help="keep the last row short, pad it or drop it (default: carry if the format can, else "
        "pad)",
    )
    group.add_argument(
        "--shard-tokens", type=int, metavar="N", help="tokens per shard (default: 33554432)"
    )


def _add_ends(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--eos", metavar="TOKEN|ID", help="ends every document (default: the tokenizer's own)"
    )
    add_no_eos_and_bos(group)
    group.add_argument(
        "--pad", metavar="TOKEN|ID", help="fills short rows (default: the tokenizer's own, or EOS)"
    )


def _add_choosing(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--shuffle", choices=["none", "docs"], help="shuffle all documents (default: none)"
    )
    group.add_argument("--seed", type=int, metavar="N", help="seed of the shuffle (default: 0)")
    group.add_argument(
        "--validation",
        metavar="SHARE",
        help="put this share of the documents, e.g. 0.01 or 1%%, into a split of their own; a hash "
        "of the text decides which",
    )
    group.add_argument(
        "--max-tokens", type=int, metavar="N", help="stop before the document that exceeds N tokens"
    )
    group.add_argument("--max-sequences", type=int, metavar="N", help="stop after N rows")
    group.add_argument(
        "--limit-documents", type=int, metavar="N", help="read only the first N documents"
    )


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add what never changes a byte."""
    group = parser.add_argument_group("running (never changes a byte)")
    add_workers(group)
    add_limits(group)
    group.add_argument(
        "--device",
        metavar="cpu|cuda|auto",
        help="where to tokenize: on the CPU, on a GPU (cuda, cuda:1), on several (cuda:0,cuda:1, "
        "cuda:all), or on whichever of CPU and GPU is faster here (auto) (default: cpu)",
    )
    group.add_argument(
        "--work",
        metavar="FOLDER",
        help="for an output in a store: where this machine keeps what is not uploaded yet "
        "(default: in the cache folder)",
    )
    add_config(group)
    add_quiet(group)
    add_json(group)
    _add_ranks(parser.add_argument_group("many machines (never changes a byte)"))


def _add_ranks(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--rank",
        metavar="I|auto",
        help="number of this process, from 0, among those that share the output; auto takes it "
        "from SLURM_PROCID or JOB_COMPLETION_INDEX",
    )
    group.add_argument(
        "--ranks",
        type=int,
        metavar="N",
        help="roughly how many of these processes there are; more or fewer work too",
    )
    group.add_argument(
        "--lease",
        type=float,
        metavar="SECONDS",
        help="a rank that has been silent this long is considered dead (default: 120)",
    )
    group.add_argument(
        "--engine",
        choices=["local", "ray"],
        help="ray: a Ray cluster does the work, with --workers and --memory-limit on each node "
        "(default: local)",
    )
    group.add_argument(
        "--address",
        metavar="ADDRESS",
        help="address of the Ray cluster, or auto (default: RAY_ADDRESS, or Ray on this machine "
        "alone)",
    )


def add_limits(group: argparse._ArgumentGroup) -> None:
    """Add the run options that `pretokenize` also has."""
    group.add_argument(
        "--memory-limit",
        metavar="SIZE",
        help="memory limit for the whole run, e.g. 2GB; documents larger than 1/8 of it are "
        "rejected as too_long (default: none)",
    )
    group.add_argument(
        "--max-bad",
        metavar="N|SHARE%",
        help="stop with exit status 3 after more bad records than this, e.g. 100 or 0.1%% "
        "(default: no limit)",
    )
    group.add_argument(
        "--force",
        action="store_true",
        default=None,
        help="start over: remove what an earlier run wrote to the output",
    )
    add_watching(group)
