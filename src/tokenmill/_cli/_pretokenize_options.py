"""The options of `pretokenize`: those of `pack`, under the names that other tools use.

Their `dest` is the name that `tokenmill.pack` has for them, so that errors find the option.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill._cli._options import (
    add_json,
    add_no_eos_and_bos,
    add_quiet,
    add_tokenizer,
    add_workers,
    positive,
)
from tokenmill._cli._pack_options import add_limits

if TYPE_CHECKING:
    import argparse

CHUNK_SIZE = 2048


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add all options, grouped by what they decide."""
    _add_inputs(parser.add_argument_group("inputs (these decide the result)"))
    _add_rows(parser.add_argument_group("rows (these decide the result)"))
    _add_files(parser.add_argument_group("files (these decide how rows are stored, never a row)"))
    _add_running(parser.add_argument_group("running (never changes the result)"))
    parser.add_argument("--list-datasets", action="store_true", help="print the presets and exit")


def _add_inputs(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--dataset",
        metavar="NAME",
        help="a preset (see --list-datasets), a hub id such as owner/name, or a path",
    )
    group.add_argument("--input-dir", metavar="FOLDER", help="local files instead of --dataset")
    group.add_argument(
        "--config", metavar="NAME", help="configuration of the dataset (default: the preset's)"
    )
    group.add_argument("--split", metavar="NAME", help="split of the dataset (default: train)")
    group.add_argument("--revision", metavar="NAME", help="tag or commit of the dataset")
    group.add_argument(
        "--text-column",
        "--field",
        dest="field",
        metavar="NAME",
        help="the column with the text (default: the preset's, or detected, and printed)",
    )
    group.add_argument(
        "--streaming",
        action="store_true",
        help="read the dataset over the network without downloading it first; cannot resume",
    )


def _add_rows(group: argparse._ArgumentGroup) -> None:
    add_tokenizer(group)
    group.add_argument(
        "--chunk-size",
        dest="context_length",
        type=positive,
        metavar="N",
        help=f"tokens per row (default: {CHUNK_SIZE})",
    )
    group.add_argument(
        "--overlap",
        type=int,
        default=0,
        metavar="N",
        help="tokens that neighbouring rows share (default: 0)",
    )
    group.add_argument(
        "--max-chunks",
        dest="max_sequences",
        type=positive,
        metavar="N",
        help="stop after N rows, e.g. for a trial (default: no limit)",
    )
    group.add_argument(
        "--eos",
        nargs="?",
        const=True,
        metavar="TOKEN|ID",
        help="ends every document (default: the tokenizer's own)",
    )
    add_no_eos_and_bos(group)
    group.add_argument(
        "--tail",
        choices=["carry", "pad", "drop"],
        help="keep the last row short, pad it or drop it (default: carry if the format can, else "
        "pad; parquet and arrow never pad)",
    )


def _add_files(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "-o",
        "--output",
        "--output-dir",
        dest="output",
        metavar="FOLDER",
        help="where the files go (default: tokenized/NAME, after the dataset or input folder)",
    )
    group.add_argument(
        "--format",
        default="parquet",
        metavar="NAME[,NAME]",
        help="parquet, arrow, bin, npy, mds, litdata, torch, torch-chunks (one plain int64 tensor "
        "per file), and the others of `pack` (default: parquet)",
    )
    group.add_argument(
        "--sequences-per-chunk",
        type=positive,
        metavar="N",
        help="rows per file (default: as many as hold 33,554,432 tokens)",
    )


def _add_running(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--batch-size",
        type=positive,
        metavar="N",
        help="rows to fetch from a dataset at a time; no effect on files (default: 1000)",
    )
    group.add_argument(
        "--prefetch-files",
        type=positive,
        metavar="N",
        help="ask the system to read N files ahead (default: none)",
    )
    group.add_argument(
        "--cache-dir", metavar="FOLDER", help="where `datasets` keeps what it downloads"
    )
    add_workers(group, "--num-workers", "--num-proc", "--workers")
    add_limits(group)
    add_quiet(group)
    add_json(group)
