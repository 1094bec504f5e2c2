"""The mill against a slow and obvious one: rows token by token, places, books."""

from __future__ import annotations

import json
import random
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.mill.corpus import BAD_LINES, LONGEST, Corpus, add_lines, add_parquet
from tests.mill.outputs import BOS, compare
from tests.mill.tuned import Sizes, shrink

from tokenmill import BadRecordFound, Tokenizer
from tokenmill._mill.pack import pack
from tokenmill._write import FORMATS

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("_small")

OPTIONS: list[dict[str, Any]] = [
    {"context_length": 64},
    {"context_length": 64, "overlap": 17},
    {"context_length": 50, "tail": "drop"},
    {"context_length": 50, "tail": "drop", "overlap": 35},
    {"context_length": 64, "tail": "pad"},
    {"context_length": 3000, "tail": "carry"},
    {"context_length": 64, "pack": "bestfit"},
    {"context_length": 64, "pack": "bestfit", "long_documents": "drop"},
    {"context_length": 64, "pack": "bestfit", "long_documents": "truncate"},
    {"context_length": 64, "pack": "pad"},
    {"context_length": 64, "pack": "pad", "long_documents": "truncate"},
    {"context_length": 64, "pack": "bos-bestfit-crop", "bos": BOS},
    {"context_length": 64, "pack": "bos-bestfit-crop", "bos": BOS, "tail": "drop"},
    {"pack": "none", "format": "megatron"},
    {"pack": "none", "shard_tokens": 200},
    {"context_length": 64, "shuffle": "docs", "seed": 3},
    {"context_length": 64, "validation": 0.2},
    {"context_length": 64, "validation": 0.2, "shuffle": "docs", "pack": "bestfit"},
    {"context_length": 64, "max_tokens": 5000},
    {"context_length": 64, "max_tokens": 1},
    {"context_length": 64, "limit_documents": 13},
    {"context_length": 64, "limit_documents": 500, "validation": 0.3, "max_tokens": 2000},
    {"context_length": 64, "max_sequences": 20},
    {"context_length": 64, "max_sequences": 20, "overlap": 5, "tail": "drop"},
    {"context_length": 64, "pack": "bestfit", "max_sequences": 90},
    {"context_length": 64, "pack": "pad", "max_sequences": 90, "shuffle": "docs"},
    {"context_length": 64, "special_in_text": "encode"},
    {"context_length": 64, "on_bad": {"bad_utf8": "replace", "lone_surrogate": "replace"}},
    {"context_length": 64, "format": "bin,npy,parquet,mds,litdata,arrow,torch,llmc,megatron"},
    {"pack": "none", "format": "datatrove,olmo,megatron,bin"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_output_is_that_of_the_slow_mill(
    options: dict[str, Any], dirty: Corpus, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    chosen = {"shard_tokens": 2500, "max_document_bytes": LONGEST, **options}
    manifest = pack(dirty.paths, output=tmp_path, tokenizer=tokenizer, workers=2, **chosen)
    compare(manifest, dirty.paths, tokenizer, chosen)


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    """Return the files of three sources."""
    folder, rng = tmp_path_factory.mktemp("three"), random.Random(11)  # noqa: S311
    sources = []
    for number, documents in enumerate((120, 60, 90)):
        corpus = Corpus()
        add_lines(corpus, folder / f"{number}a.jsonl", rng, documents, BAD_LINES[number:6])
        add_lines(corpus, folder / f"{number}b.jsonl.gz", rng, documents // 2)
        sources.append(corpus.paths)
    return sources


MIXES: list[tuple[list[dict[str, Any]], dict[str, Any]]] = [
    ([{"weight": "0.7"}, {"weight": "0.2"}, {"weight": "0.1"}], {}),
    ([{"weight": "0.7"}, {"weight": "0.2"}, {"weight": "0.1"}], {"shuffle": "docs", "seed": 9}),
    ([{"weight": "1"}, {"weight": "1"}, {"weight": "1", "max_tokens": 900}], {"validation": 0.3}),
    ([{"weight": 3}, {"weight": 1}, {"weight": 1}], {"pack": "bestfit", "max_tokens": 1500}),
    ([{"max_tokens": 700}, {}, {"max_tokens": 0}], {}),
    ([{"max_tokens": 700}, {}, {"max_tokens": 90}], {"shuffle": "docs", "max_sequences": 7}),
    ([{"max_tokens": 700}, {}, {}], {"max_tokens": 3000}),
    ([{"max_tokens": 700}, {}, {}], {"limit_documents": 200, "validation": 0.1}),
    ([{}, {}, {}], {"limit_documents": 150, "shuffle": "docs"}),
]


@pytest.mark.parametrize(("sources", "options"), MIXES, ids=str)
def test_sources_are_weighed_and_capped(
    sources: list[dict[str, Any]],
    options: dict[str, Any],
    three: list[list[str]],
    tokenizer: Tokenizer,
    tmp_path: Path,
) -> None:
    inputs = [{"paths": paths, **own} for paths, own in zip(three, sources, strict=True)]
    chosen = {"shard_tokens": 800, "context_length": 48, "max_document_bytes": LONGEST, **options}
    manifest = pack(inputs, output=tmp_path, tokenizer=tokenizer, workers=3, **chosen)
    compare(manifest, inputs, tokenizer, chosen)


def test_tables_and_plain_text(tokenizer: Tokenizer, tmp_path: Path) -> None:
    folder, rng = tmp_path / "in", random.Random(4)  # noqa: S311
    folder.mkdir()
    corpus = Corpus()
    add_parquet(corpus, folder / "a.parquet", rng, 200)
    rows = "".join(f'{i},"row {i}\nof ""many""",x\n' for i in range(400))
    (folder / "b.csv").write_text("id,text,more\n" + rows + "7,short\n" + rows)
    (folder / "c.txt").write_text("one document\nof two lines\n")
    (folder / "d.txt").write_text("")
    add_lines(corpus, folder / "e.jsonl.zst", rng, 30)
    options: dict[str, Any] = {"context_length": 48, "shard_tokens": 1500}
    files = sorted(str(path) for path in folder.iterdir())
    manifest = pack(folder, output=tmp_path / "out", tokenizer=tokenizer, workers=2, **options)
    slow = compare(manifest, files, tokenizer, options)
    assert {bad.reason for bad in slow.bad} == {"null_field", "empty_text", "bad_row"}


def test_documents_without_a_token_are_counted(small_json: Path, tmp_path: Path) -> None:
    definition = json.loads(small_json.read_bytes())
    definition["normalizer"] = {"type": "Strip", "strip_left": True, "strip_right": True}
    (tmp_path / "tokenizer.json").write_text(json.dumps(definition))
    strips = Tokenizer.load(tmp_path / "tokenizer.json")
    lines = ['{"text": "hello"}', '{"text": "  "}', "{", '{"text": "world"}', '{"text": " "}']
    (tmp_path / "a.jsonl").write_text("\n".join(lines * 50))
    options: dict[str, Any] = {"context_length": 16, "shard_tokens": 300, "eos": False}
    inputs = [str(tmp_path / "a.jsonl")]
    manifest = pack(inputs, output=tmp_path / "out", tokenizer=strips, workers=2, **options)
    compare(manifest, inputs, strips, {**options, "eos": None})
    assert manifest.documents["skipped"] == {"bad_json": 50, "no_tokens": 100}


def test_one_document_longer_than_shards_leaves_no_empty_file(
    tokenizer: Tokenizer, tmp_path: Path
) -> None:
    texts = ["hello " * 10, "world " * 900, "a b c"]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in texts))
    options: dict[str, Any] = {"pack": "none", "shard_tokens": 100, "format": list(FORMATS)}
    options["format"] = [name for name, form in FORMATS.items() if not form.fixed_rows]
    manifest = pack(tmp_path / "a.jsonl", output=tmp_path / "out", tokenizer=tokenizer, **options)
    compare(manifest, [str(tmp_path / "a.jsonl")], tokenizer, options)
    assert all(shard["rows"] for shard in manifest.shards)


LENGTHS = st.one_of(st.just(1), st.integers(1, 12), st.integers(12, 90))
WAYS = st.one_of(
    st.fixed_dictionaries(
        {"pack": st.just("concat"), "tail": st.sampled_from(["carry", "pad", "drop"])},
        optional={"overlap": st.integers(0, 7)},
    ),
    st.fixed_dictionaries(
        {
            "pack": st.sampled_from(["bestfit", "pad"]),
            "long_documents": st.sampled_from(["split", "truncate", "drop"]),
        }
    ),
    st.fixed_dictionaries(
        {
            "pack": st.just("bos-bestfit-crop"),
            "bos": st.just(BOS),
            "tail": st.sampled_from(["carry", "drop"]),
        }
    ),
)
CHOICES = st.fixed_dictionaries(
    {"context_length": st.integers(8, 40), "shard_tokens": st.integers(1, 200)},
    optional={
        "shuffle": st.just("docs"),
        "seed": st.integers(0, 2**64),
        "validation": st.sampled_from([0.1, 0.5, 0.9]),
        "max_tokens": st.integers(1, 900),
        "max_sequences": st.integers(1, 30),
        "limit_documents": st.integers(1, 40),
    },
)
CAPS = st.one_of(st.just(()), st.tuples(st.none() | st.integers(0, 400), st.none()))
SIZES = st.builds(
    Sizes,
    block_bytes=st.integers(1, 900),
    stream_bytes=st.integers(1, 2000),
    part_bytes=st.integers(1, 1500),
    bucket_tokens=st.integers(1, 300),
    buffer_bytes=st.integers(1, 900),
    batch_tokens=st.integers(1, 300),
)


@settings(
    max_examples=25,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],  # an example is too slow to shrink
)
@given(
    lengths=st.lists(LENGTHS, max_size=40),
    way=WAYS,
    choices=CHOICES,
    caps=CAPS,
    sizes=SIZES,
    blanks=st.integers(0, 3),
)
def test_any_options_and_sizes(
    tokenizer: Tokenizer,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    *,
    lengths: list[int],
    way: dict[str, Any],
    choices: dict[str, Any],
    caps: tuple[int | None, ...],
    sizes: Sizes,
    blanks: int,
) -> None:
    folder = tmp_path_factory.mktemp("any")
    lines = [json.dumps({"text": f"{n} " + "x" * n}) + "\n" * (1 + blanks) for n in lengths]
    (folder / "a.jsonl").write_text("".join(lines))
    (folder / "b.jsonl").write_text("".join(lines[::2]).rstrip("\n") + "\n[]")
    inputs: list[Any] = [str(folder / "a.jsonl"), str(folder / "b.jsonl")]
    if caps:
        inputs = [{"paths": [p], "max_tokens": c} for p, c in zip(inputs, caps, strict=True)]
    options = {"field": "text", **way, **choices}
    with monkeypatch.context() as patch:
        shrink(patch.setattr, sizes)
        if not lengths:
            with pytest.raises(BadRecordFound, match="no document in 1 record"):
                pack(inputs, output=folder / "out", tokenizer=tokenizer, workers=2, **options)
            return
        manifest = pack(inputs, output=folder / "out", tokenizer=tokenizer, workers=2, **options)
    compare(manifest, inputs, tokenizer, options)
    shutil.rmtree(folder)
