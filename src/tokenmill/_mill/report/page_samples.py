"""Sections of the page that show texts: copies, bad records, the vocabulary, rows."""

from __future__ import annotations

from typing import Any

from tokenmill._mill.report.html import Markup, count, join, section, table, tag
from tokenmill._numbers import percent

_COLOURS = 6
_CONTROL = 0x20


def duplicates_section(copies: dict[str, Any] | None) -> Markup:
    """Show how many documents are exact copies, and the texts with the most."""
    title = "Copies of whole documents"
    if copies is None:
        return section(title, tag("p", "Not counted in a sample: copies may be in other rows."))
    words = (
        f"{copies['copies']:,} of {copies['compared']:,} documents are exact copies of an earlier "
        f"one: {copies['texts']:,} texts occur more than once. Copies hold "
        f"{copies['copied_tokens']:,} tokens. Compared by a 64-bit hash of all ids, and by length; "
        "texts that the tokenizer cannot tell apart are equal. Documents that are not whole in "
        "the rows are left out."
    )
    found = [
        join(
            [
                tag("div", _copy_label(each), kind="soft small path"),
                tag("pre", " ".join(visible(each["text"]).split())),
            ]
        )
        for each in copies["largest"]
    ]
    return section(title, tag("p", words, kind="soft small"), *found)


def _copy_label(each: dict[str, Any]) -> str:
    times = "1 copy" if each["copies"] == 1 else f"{each['copies']:,} copies"
    return f"{times}, {each['tokens']:,} tokens, first in {each['file']}:{each['line']}"


def quarantine_section(facts: dict[str, Any]) -> Markup:
    """Show the bad records by reason, with the first of each."""
    reasons = facts["quarantine"]["reasons"]
    if not reasons:
        return section("Quarantine", tag("p", "No record was quarantined.", kind="soft"))
    parts: list[object] = []
    for each in reasons:
        name = each["reason"].replace("_", " ")
        parts.append(tag("h3", f"{name}: {each['records']:,}"))
        for example in each["examples"]:
            place = f"{example['file']}:{example['line']}: {example['message']}"
            parts += [
                tag("div", place, kind="soft small path"),
                tag("pre", visible(example["raw"])),
            ]
    return section("Quarantine", *parts)


def vocabulary_section(words: dict[str, Any]) -> Markup:
    """Show how much of the vocabulary is used, and the most frequent tokens."""
    used, size = words["used"], words["size"]
    often = used - words["rare"]
    bar = tag(
        "div",
        tag("i", style=f"width: {100 * often / size:.2f}%"),
        tag("i", style=f"width: {100 * words['rare'] / size:.2f}%"),
        kind="meter",
    )
    says = (
        f"{used:,} of {size:,} ids are used, {words['rare']:,} of them fewer than "
        f"{words['rare_below']} times; {words['unused']:,} "
        f"({percent(words['unused_share'])}) never."
    )
    covering = [
        (f"{percent(float(share))} of all tokens", count(ids))
        for share, ids in words["covering"].items()
    ]
    chips = [
        tag("span", tag("code", _on_one_line(each["text"])), f" {percent(each['share'])}",
            title=f"id {each['id']}: {each['count']:,}")
        for each in words["top"]
    ]  # fmt: skip
    return section(
        "Vocabulary",
        tag("p", says),
        bar,
        table(("the most frequent ids that make", "ids"), covering, kind="narrow"),
        tag("h3", "Most frequent tokens"),
        tag("div", *chips, kind="chips"),
    )


def samples_section(samples: list[dict[str, Any]]) -> Markup:
    """Show rows with the borders of their documents."""
    parts: list[object] = [tag("h2", "Sample rows")]
    for row in samples:
        padding = f", {row['padding']:,} of padding" if row["padding"] else ""
        title = f"row {row['row']:,} of {row['split']}: {row['tokens']:,} tokens{padding}"
        pieces = [_piece(piece) for piece in row["pieces"]]
        left = row["pieces_left"]
        more = tag("p", f"and {left:,} more documents", kind="soft small") if left else Markup("")
        parts.append(
            tag(
                "section",
                tag("h3", title),
                tag("div", row["shard"], kind="soft small path"),
                tag("div", *pieces),
                more,
                style="margin-bottom: 12px",
            )
        )
    return join(parts)


def _piece(piece: dict[str, Any]) -> Markup:
    ends = "" if piece["begins_document"] else ", started in another row"
    ends += "" if piece["ends_document"] else ", continues in another row"
    place = f"{piece['file']}:{piece['line']}"
    hidden = piece["tokens"] - len(piece["shown"])
    tokens = f"{piece['tokens']:,} of {piece['document_tokens']:,} tokens"
    label = f"document {piece['document']:,}, {tokens}"
    spans = [
        tag("span", visible(text), kind=f"t t{at % _COLOURS}", title=f"id {token_id}")
        for at, (token_id, text) in enumerate(piece["shown"])
    ]
    more = tag("span", f" ... {hidden:,} more tokens", kind="soft") if hidden else Markup("")
    return tag(
        "div",
        tag("span", f"{label}{ends} ", tag("span", place, kind="path"), kind="soft small"),
        tag("div", *spans, more, kind="tokens"),
        kind="piece",
    )


def _on_one_line(value: str) -> str:
    """Show a token without breaking the line; spaces and line ends are signs."""
    return visible(value).replace("\n", "").replace("\t", "\u21e5").replace(" ", "\u2423")


def visible(value: str) -> str:
    """Show line ends as a sign, and control characters as escapes."""
    shown = value.replace("\r\n", "\n").replace("\n", "\u21b5\n")
    return "".join(
        letter if letter in "\n\t" or ord(letter) >= _CONTROL else f"\\x{ord(letter):02x}"
        for letter in shown
    )
