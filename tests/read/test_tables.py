"""Parquet, Arrow, CSV and datasets in memory against what was written into them."""

from __future__ import annotations

import csv
import io
import json
import tracemalloc
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.read.helpers import COMPRESS, Read, read_all, read_stream

from tokenmill import InputError, OptionError
from tokenmill._read import ReadRules, deal_streams, find_field, find_inputs
from tokenmill._read.table_files import ArrowTable, column_of

if TYPE_CHECKING:
    from pathlib import Path

TEXTS: list[str | None] = [
    "one",
    None,
    "",
    "t\u00e9xt\n" * 40,
    "two",
    None,
    *("x" * i for i in range(1, 90)),
]
KINDS = [
    pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string()),
    pa.binary(), pa.large_binary(),
]  # fmt: skip


def expected(texts: list[Any], limit: int = 1 << 30, file: int = 0) -> Read:
    result = Read()
    for row, text in enumerate(texts, start=1):
        if text is None:
            result.bad.append((file, row, -1, "null_field"))
        elif not text:
            result.bad.append((file, row, -1, "empty_text"))
        elif len(text.encode()) > limit:
            result.bad.append((file, row, -1, "too_long"))
        else:
            result.documents.append((file, row, -1, text.encode()))
    return result


def outcome(found: Read) -> tuple[object, object]:
    return found.documents, found.bad


def table_of(kind: pa.DataType) -> pa.Table:
    texts: pa.Array = pa.array([t and t.encode() for t in TEXTS], pa.binary())
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    column = pa.array(TEXTS, pa.string()) if not pa.types.is_binary(value) else texts
    if pa.types.is_large_binary(value):
        column = texts
    column = column.dictionary_encode() if pa.types.is_dictionary(kind) else column.cast(kind)
    numbers = pa.array(range(len(TEXTS)))
    return pa.table(
        {"id": numbers, "text": column, "meta": pa.StructArray.from_arrays([column], ["text"])}
    )


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("field", ["text", "meta.text"])
@pytest.mark.parametrize(
    "writer", ["parquet", "arrow file", "arrow stream", "arrow stream.zst", "memory"]
)
def test_every_type_of_text(tmp_path: Path, kind: pa.DataType, field: str, writer: str) -> None:
    table = table_of(kind)
    source: object = tmp_path / "a.arrow"
    if writer == "parquet":
        source = tmp_path / "a.parquet"
        if pa.types.is_string_view(kind):
            pytest.skip("Parquet files hold no views")
        pq.write_table(table, source, row_group_size=7)
    elif writer == "memory":
        source = table
    else:
        sink = io.BytesIO()
        new = pa.ipc.new_file if writer == "arrow file" else pa.ipc.new_stream
        with new(sink, table.schema) as out:
            out.write_table(table, max_chunksize=9)
        data = sink.getvalue()
        if writer.endswith("zst"):
            source, data = tmp_path / "a.arrow.zst", COMPRESS[".zst"](data)
        source.write_bytes(data)  # type: ignore[attr-defined]
    for block_bytes in (1, 50, 8 << 20):
        rules = ReadRules(field=field, block_bytes=block_bytes, max_document_bytes=100)
        assert outcome(read_all([source], rules)) == outcome(expected(TEXTS, 100))


def test_parquet_in_streams_of_row_groups_and_from_any_place(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(table_of(pa.string()), path, row_group_size=7)
    rules = ReadRules(stream_bytes=600, block_bytes=60)
    assert outcome(read_all([path], rules)) == outcome(expected(TEXTS))
    files = find_inputs([path]).files
    streams = deal_streams(files, rules)
    assert len(streams) > 3
    for stream in [*streams, *deal_streams(files, ReadRules())]:
        blocks = read_stream(stream, files, rules, ["text"])
        for i, block in enumerate(blocks[:-1]):
            rest, again = Read(), Read()
            for other in blocks[i + 1 :]:
                rest.add(other, {})
            for other in read_stream(stream, files, rules, ["text"], block.after):
                again.add(other, {})
            assert outcome(again) == outcome(rest)


def test_a_plain_column_is_borrowed(tmp_path: Path) -> None:
    path = tmp_path / "a.arrow"
    table = pa.table({"text": ["abc", "de"]})
    with pa.ipc.new_stream(path, table.schema) as out:
        out.write_table(table)
    files = find_inputs([path]).files
    rules = ReadRules()
    (stream,) = deal_streams(files, rules)
    first, *_ = read_stream(stream, files, rules, ["text"])
    assert bytes(first.text) == b"abcde"
    assert not first.text.flags.owndata
    opened = ArrowTable(files[0], "text", rules)
    (_, column), *_ = opened.pieces(0)
    assert bytes(column.buffers()[2])[:5] == b"abcde"
    assert column_of(table, ("text",)).to_pylist() == ["abc", "de"]
    opened.close()


def test_the_field_is_found_or_the_error_lists_what_is_there(tmp_path: Path) -> None:
    def field_of(columns: dict[str, list[Any]], rules: ReadRules | None = None) -> str:
        pq.write_table(pa.table(columns), tmp_path / "a.parquet")
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        (tmp_path / "a.jsonl").write_text("{bad\n" + "\n".join(map(json.dumps, rows)))
        names = []
        for source in (tmp_path / "a.parquet", tmp_path / "a.jsonl", rows, pa.table(columns)):
            (file,) = find_inputs([source]).files
            names.append(find_field([file], rules or ReadRules()))
        assert len(set(names)) == 1
        return names[0]

    assert field_of({"title": ["a"], "text": ["b"]}) == "text"
    assert field_of({"content": ["a"], "raw_content": ["b"]}) == "content"
    assert field_of({"id": [1], "body": ["b"]}) == "body"
    with pytest.raises(OptionError, match="title, body hold strings"):
        field_of({"id": [1], "title": ["a"], "body": ["b"]})
    with pytest.raises(OptionError, match="no field holds strings; fields: id"):
        field_of({"id": [1]})
    with pytest.raises(OptionError, match="no column 'nothing', got id, text"):
        field_of({"id": [1], "text": ["a"]}, ReadRules(field="nothing"))


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("format_name", ["csv", "tsv"])
def test_csv_with_quotes_newlines_and_bad_rows(
    tmp_path: Path, suffix: str, format_name: str
) -> None:
    texts = ["plain", 'a "quoted"\nline', "", "comma, tab\t", "x" * 200_000, "end\u00e9"]
    sink = io.StringIO(newline="")
    writer = csv.writer(sink, delimiter="," if format_name == "csv" else "\t")
    writer.writerow(["id", "text"])
    for i, text in enumerate(texts):
        writer.writerow([i, text])
    writer.writerow([7])
    writer.writerow([7, "too", "many"])
    data = (
        sink.getvalue().encode() + b"\r\n" + (b"8,\xff\n" if format_name == "csv" else b"8\t\xff\n")
    )
    path = tmp_path / f"a.{format_name}{suffix}"
    path.write_bytes(COMPRESS[suffix](data))
    for block_bytes in (1, 1 << 20):
        found = read_all([path], ReadRules(field="text", block_bytes=block_bytes))
        assert found.texts == [text.encode() for text in texts if text]
        assert [(line, reason) for _, line, _, reason in found.bad] == [
            (3, "empty_text"), (7, "bad_row"), (8, "bad_row"), (9, "bad_utf8"),
        ]  # fmt: skip
        assert found.input_bytes == path.stat().st_size


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b",x\n", b'\n4,""'])
def test_a_quote_that_is_never_closed_is_no_document(tmp_path: Path, end: bytes) -> None:
    (tmp_path / "a.csv").write_bytes(b'id,text\n1,one\n2,"two\n3,three' + end)
    found = read_all([tmp_path / "a.csv"], ReadRules(field="text"))
    assert found.texts == [b"one"]
    assert [(line, reason) for _, line, _, reason in found.bad] == [(2, "bad_row")]
    (tmp_path / "b.csv").write_bytes(b'id,text\n1,one\n2,"two\n3,three"')
    assert read_all([tmp_path / "b.csv"], ReadRules(field="text")).texts == [
        b"one",
        b"two\n3,three",
    ]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (b"2,%s", "too_long"), (b'2,"%s"', "too_long"), (b'2,"a ""b""\n%s\nend"', "too_long"),
        (b'2,"%s', "bad_row"),
    ],
)  # fmt: skip
def test_csv_rows_that_are_too_long_are_not_held(
    tmp_path: Path, row: bytes, reason: str, end: bytes
) -> None:
    filling = b"x, \n" * (1 << 20) if b'"' in row else b"x" * (4 << 20)
    after = b"3,three\n" if end else b""
    (tmp_path / "a.csv").write_bytes(b"id,text\n1,one\n" + row % filling + end + after)
    tracemalloc.start()
    found = read_all([tmp_path / "a.csv"], ReadRules(field="text", max_document_bytes=100))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.texts == ([b"one", b"three"] if after and reason == "too_long" else [b"one"])
    assert [(line, why) for _, line, _, why in found.bad] == [(2, reason)]
    assert peak < 24 << 20


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("form", ["file", "stream"])
def test_arrow_that_cannot_be_mapped(tmp_path: Path, suffix: str, form: str) -> None:
    table = pa.table({"text": pa.array([str(i) for i in range(50)]).dictionary_encode()})
    sink = pa.BufferOutputStream()
    with (pa.ipc.new_file if form == "file" else pa.ipc.new_stream)(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=7)
    data = sink.getvalue().to_pybytes()
    path = tmp_path / f"a.arrow{suffix}"
    path.write_bytes(COMPRESS[suffix](data))
    for source in (path, f"file://{path}"):
        assert read_all([source], ReadRules(block_bytes=20)).texts == [b"%d" % i for i in range(50)]
    path.write_bytes(COMPRESS[suffix](data[: len(data) // 3]))
    for source in (path, f"file://{path}"):
        with pytest.raises(InputError, match="the arrow data is damaged"):
            read_all([source], ReadRules())


def test_objects_in_memory() -> None:
    rows: list[Any] = [
        {"text": "a"}, {"text": None}, {}, {"text": 5}, {"text": "\ud800!"}, {"text": b"raw\xff"},
        {"text": ""}, 7, "plain", None,
    ]  # fmt: skip
    reasons = [
        (2, "null_field"), (3, "missing_field"), (4, "wrong_type"), (5, "lone_surrogate"),
        (6, "bad_utf8"), (7, "empty_text"), (8, "wrong_type"),
        (10, "wrong_type"),
    ]  # fmt: skip
    (file,) = find_inputs([rows]).files
    assert find_field([file], ReadRules()) == "text"
    for source in (rows, iter(rows)):
        found = read_all([source], ReadRules(field="text", block_bytes=1))
        assert found.texts == [b"a", b"plain"]
        assert [(line, reason) for _, line, _, reason in found.bad] == reasons
    repaired = read_all(
        [rows], ReadRules(field="text", replace=frozenset({"bad_utf8", "lone_surrogate"}))
    )
    assert repaired.texts == [b"a", "\ufffd!".encode(), "raw\ufffd".encode(), b"plain"]
    assert repaired.replaced == {"bad_utf8": 1, "lone_surrogate": 1}
    assert read_all([[{"meta": {"text": "in"}}]], ReadRules(field="meta.text")).texts == [b"in"]


def test_damaged_tables(tmp_path: Path) -> None:
    table = table_of(pa.string())
    pq.write_table(table, tmp_path / "a.parquet")
    with pa.ipc.new_stream(tmp_path / "a.arrow", table.schema) as out:
        out.write_table(table)
    for name in ("a.parquet", "a.arrow"):
        whole = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(whole[: len(whole) // 2])
        with pytest.raises(InputError, match=r"damaged"):
            read_all([tmp_path / name], ReadRules(field="text"))
    (tmp_path / "b.parquet.gz").write_bytes(COMPRESS[".gz"](b"PAR1"))
    with pytest.raises(InputError, match="decompress it first"):
        read_all([tmp_path / "b.parquet.gz"], ReadRules(field="text"))


@pytest.mark.parametrize("delimiter", ["", ";;", '"', "\n", "\\t"])
def test_a_delimiter_is_one_character(delimiter: str) -> None:
    with pytest.raises(OptionError, match="delimiter: expected one character"):
        ReadRules(delimiter=delimiter)
