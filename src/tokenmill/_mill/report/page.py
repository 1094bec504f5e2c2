"""The facts of a corpus -> one page: no script, nothing from elsewhere, all text escaped."""

from __future__ import annotations

from typing import Any

from tokenmill import __version__
from tokenmill._mill.report.html import (
    Markup,
    bytes_size,
    count,
    join,
    ratio,
    section,
    table,
    tag,
)
from tokenmill._mill.report.page_samples import (
    duplicates_section,
    quarantine_section,
    samples_section,
    vocabulary_section,
)
from tokenmill._numbers import percent, short
from tokenmill._page import load_page

_FILES_SHOWN = 12
_KIBI = 1024


def report_page(facts: dict[str, Any]) -> str:
    """Return the page."""
    body = join(
        [
            _header(facts),
            _tiles(facts),
            _by("By source", facts["sources"], ""),
            _languages(facts["languages"]),
            _files(facts),
            _lengths(facts["lengths"]),
            _rows(facts),
            duplicates_section(facts["duplicates"]),
            quarantine_section(facts),
            vocabulary_section(facts["vocabulary"]),
            samples_section(facts["samples"]),
            _footer(facts),
        ],
        "\n",
    )
    return load_page("tokenmill._mill.report", "report.html").replace("{body}", body)


def _header(facts: dict[str, Any]) -> Markup:
    rows = "documents as they are"
    if facts["context_length"]:
        rows = f"{facts['packing'] or 'mixed'}, rows of {facts['context_length']:,}"
    about = [facts["tokenizer"]["name"], rows, facts["dtype"], ", ".join(facts["formats"])]
    return tag(
        "header",
        tag("h1", "Corpus report"),
        tag("span", facts["output"], kind="path"),
        *(tag("span", word) for word in about),
    )


def _tiles(facts: dict[str, Any]) -> Markup:
    books, tokens, scan = facts["documents"], facts["tokens"], facts["scan"]
    copies, quarantine = facts["duplicates"], facts["quarantine"]
    of_sample = " in the sample" if scan["is_sample"] else ""
    per_token = 1 / scan["tokens_per_byte"] if scan["tokens_per_byte"] else None
    found = [
        ("Documents", count(books["out"]), f"of {count(books['in'])} records"),
        ("Tokens", short(tokens["out"]), f"{count(tokens['out'])} stored"),
        ("Text", bytes_size(scan["text_bytes"]), f"decoded from the rows{of_sample}"),
        (
            "Tokens per byte",
            ratio(scan["tokens_per_byte"]),
            "" if per_token is None else f"{per_token:.2f} bytes per token{of_sample}",
        ),
        ("Rows", count(scan["of_rows"]), f"{facts['rows']['pieces_per_row']:.1f} documents each"),
        ("Padding", percent(facts["rows"]["padding_share"]), f"{count(tokens['padding'])} ids"),
        (
            "Copies",
            "not counted"
            if copies is None
            else percent(_share(copies["copies"], copies["compared"])),
            "not counted in a sample" if copies is None else f"{count(copies['copies'])} documents",
        ),
        ("Quarantine", count(quarantine["records"]), "bad records"),
    ]
    return tag("div", *(_tile(*each) for each in found), kind="tiles")


def _tile(name: str, value: str, note: str) -> Markup:
    return tag(
        "section",
        tag("h3", name),
        tag("div", value, kind="now"),
        tag("div", note, kind="soft small"),
    )


def _by(title: str, groups: list[dict[str, Any]], how: str) -> Markup:
    heads = (
        "name", "documents", "tokens", "text", "tokens/byte", "input", "mean", "p50", "p90", "p99",
        "longest", "copies",
    )  # fmt: skip
    most = max((group["tokens"] for group in groups), default=0) or 1
    rows = [_group_row(group, most) for group in groups if group["documents"]]
    note = (
        "Documents and tokens are all that were read. Text is what the rows decode to, input is "
        "the size of the files as stored. The last columns are lengths in tokens."
    )
    return section(title, tag("p", how or note, kind="soft small"), table(heads, rows))


def _group_row(group: dict[str, Any], most: int) -> list[object]:
    bar = tag("span", kind="share", style=f"width: {100 * group['tokens'] / most:.1f}%")
    lengths = [count(group[name]) for name in ("mean", "p50", "p90", "p99", "most")]
    return [
        join([group["name"], bar]),
        count(group["documents"]),
        count(group["tokens"]),
        bytes_size(group["text_bytes"]),
        ratio(group["tokens_per_byte"]),
        bytes_size(group["input_bytes"]),
        *lengths,
        count(group["copies"]),
    ]


def _languages(languages: dict[str, Any]) -> Markup:
    if not languages["how"]:
        return Markup("")
    return _by("By language", languages["groups"], f"Found by {languages['how']}.")


def _files(facts: dict[str, Any]) -> Markup:
    files = facts["files"]
    if len(files) <= 1 or len(files) == len(facts["sources"]):
        return Markup("")
    shown = tag("details", tag("summary", f"{len(files):,} files"), _by("By file", files, ""))
    return shown if len(files) > _FILES_SHOWN else _by("By file", files, "")


def _lengths(lengths: dict[str, Any]) -> Markup:
    bars = lengths["histogram"]
    if not bars:
        return Markup("")
    most = max(bar["documents"] for bar in bars)
    columns = [
        tag(
            "div",
            style=f"height: {100 * bar['documents'] / most:.2f}%",
            title=f"{bar['from']:,} to {bar['below'] - 1:,} tokens: {bar['documents']:,} documents",
        )
        for bar in bars
    ]
    axis = [tag("span", _power(bar["from"])) for bar in bars]
    words = (
        f"Half of the documents have at most {lengths['p50']:,} tokens, one in ten has more than "
        f"{lengths['p90']:,}, the longest has {lengths['most']:,}. Columns start at powers of two."
    )
    return section(
        "Lengths of documents, in tokens",
        tag("p", words, kind="soft small"),
        tag("div", *columns, kind="columns"),
        tag("div", *axis, kind="axis"),
    )


def _rows(facts: dict[str, Any]) -> Markup:
    tokens, cut, books = facts["tokens"], facts["cut"], facts["documents"]
    money = [
        ("tokens of all documents that were read", count(tokens["in"])),
        ("+ padding, which fills short rows", count(tokens["padding"])),
        ("+ repeated, because rows overlap", count(tokens["repeated"])),
        (
            "- dropped, in no row: truncated, cropped, left out, or the tail",
            count(tokens["dropped"]),
        ),
        ("= stored in the rows", count(tokens["out"])),
    ]
    documents = [
        (name.replace("_", " "), count(number)) for name, number in books["skipped"].items()
    ]
    parts: list[object] = [table(("tokens", "count"), money, kind="narrow")]
    if cut is not None:
        whole = [
            ("whole in the rows", count(cut["whole"])),
            ("truncated or cropped: some tokens are in no row", count(cut["cut"])),
            ("read, but left out", count(cut["left_out"])),
        ]
        parts.append(table(("documents", "count"), whole, kind="narrow"))
    if documents:
        parts.append(table(("records without a document", "count"), documents, kind="narrow"))
    return section("Padding and truncation", *parts)


def _footer(facts: dict[str, Any]) -> Markup:
    scan = facts["scan"]
    how = f"All {scan['of_rows']:,} rows were read."
    if scan["is_sample"]:
        how = (
            f"A sample of {scan['rows']:,} of {scan['of_rows']:,} rows was read: text, tokens per "
            "byte and the vocabulary are of the sample, everything else is of the whole corpus."
        )
    words = (
        f"{how} Percentiles above 256 tokens are right to within 3 %. tokenmill {__version__}, "
        f"tokenizer {facts['tokenizer']['name']} ({facts['tokenizer']['hash']}), plan "
        f"{facts['plan_id']}."
    )
    return tag("footer", tag("p", words, kind="soft small path"))


def _power(number: int) -> str:
    """Write a power of two: "512", "64 Ki"."""
    for unit in ("", " Ki", " Mi", " Gi"):
        if number < _KIBI:
            return f"{number}{unit}"
        number //= _KIBI
    return f"{number} Ti"


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
