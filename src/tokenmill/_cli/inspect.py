"""`tokenmill inspect`: a row, a document or a line of an input, decoded, for people."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from tokenmill._cli import _show
from tokenmill._cli._options import add_json, add_tokenizer_source

if TYPE_CHECKING:
    import argparse

    from tokenmill._cli._options import Commands


def register(commands: Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "inspect",
        help="show a row, a document or a line of an input, decoded",
        usage="%(prog)s [OPTIONS] OUTPUT [FILE:LINE]",
        description="Show what is in a finished output, where documents start and end, and where "
        "they came from. Shows the first row unless you choose something else.",
    )
    parser.add_argument(
        "output", metavar="OUTPUT", help="the folder or address you passed to `pack`"
    )
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument(
        "source", nargs="?", metavar="FILE:LINE", help="a line of an input, e.g. data.jsonl:991"
    )
    choice.add_argument(
        "--row", type=int, metavar="N", help="a row, counted from 0 over all shards of the split"
    )
    choice.add_argument(
        "--document",
        type=int,
        metavar="N",
        help="a document, counted from 0 in the order of the inputs",
    )
    parser.add_argument("--split", metavar="NAME", help="the split of --row (default: the first)")
    parser.add_argument("--ids", action="store_true", help="show one line per token, with its id")
    parser.add_argument(
        "--mask",
        action="store_true",
        help="also show the position and label of each token; - if the label is ignored",
    )
    parser.add_argument("--all", action="store_true", help="show long texts in full")
    add_tokenizer_source(parser)
    add_json(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    from tokenmill._mill.inspect import inspect  # imports numpy

    view = inspect(
        options.output,
        row=options.row,
        document=options.document,
        source=options.source,
        split=options.split,
        tokenizer=options.tokenizer,
    )
    if options.json:
        text = json.dumps(_lean(view.as_json(), ids=options.ids, mask=options.mask))
    else:
        page = _show.Page(ids=options.ids, mask=options.mask, whole=options.all)
        text = "\n".join(page.lines(view))
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")


def _lean(value: Any, *, ids: bool, mask: bool) -> Any:
    """Drop the long lists that were not asked for."""
    if isinstance(value, (list, tuple)):
        return [_lean(item, ids=ids, mask=mask) for item in value]
    if not isinstance(value, dict):
        return value
    hidden = {"position_ids", "labels"} if not mask else set()
    hidden |= {"ids"} if not ids else set()
    return {
        key: _lean(item, ids=ids, mask=mask)
        for key, item in value.items()
        if key not in hidden and not (key == "tokens" and isinstance(item, list) and not ids)
    }
