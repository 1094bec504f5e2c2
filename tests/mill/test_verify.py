"""`verify` finds everything that is wrong with an output, and nothing in a sound one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.conftest import small_definition
from tests.mill.finished import (
    TEXTS,
    WAYS,
    change_manifest,
    forge,
    forge_ids,
    make,
    no_waiting,
    write_corpus,
)

from tokenmill import (
    CorruptShard,
    InputError,
    Manifest,
    PlanDiffers,
    SourceNotFound,
    Tokenizer,
    rewrite,
    verify,
)
from tokenmill._cli import main
from tokenmill._mill.pack import pack
from tokenmill._pack.rows import Pieces
from tokenmill._write import read_index, write_index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

BIN = "bin/shard-00001.bin"
ROWS = "index/shard-00001.rows"
SKIPPED = {"bad_json": 1, "empty_text": 1, "wrong_type": 1}


@pytest.fixture(scope="module", autouse=True)
def _quick() -> Iterator[None]:
    with no_waiting():
        yield


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory, small_json: Path) -> Path:
    """A folder with a corpus and an output; tests that change them take a copy."""
    folder = tmp_path_factory.mktemp("sound")
    write_corpus(folder / "a.jsonl")
    make(
        folder / "a.jsonl",
        folder / "out",
        small_json,
        context_length=48,
        format="bin,mds,parquet",
        tail="pad",
    )
    return folder


@pytest.fixture
def corpus(sound: Path) -> Path:
    return sound / "a.jsonl"


@pytest.fixture
def output(sound: Path, tmp_path: Path) -> Path:
    shutil.copytree(sound / "out", tmp_path / "out")
    return tmp_path / "out"


def move_documents(shards: list[dict[str, Any]]) -> None:
    """Make the manifest list a document of the first shard in the second, in every format."""
    for shard in shards:
        shard["documents"] += {0: -1, 1: 1}.get(shard["number"], 0)


def problems(output: Path) -> list[str]:
    return [str(problem) for problem in verify(output, workers=1).problems]


@pytest.mark.parametrize("way", WAYS)
def test_a_sound_output_is_whole(way: str, corpus: Path, tmp_path: Path, small_json: Path) -> None:
    manifest = make(corpus, tmp_path / "out", small_json, **WAYS[way])
    report = verify(manifest.folder)
    assert (report.problems, report.warnings) == ([], [])
    assert report.ok
    assert (report.documents, report.tokens) == (manifest.documents["out"], manifest.tokens["out"])
    assert report.shards == len({(s["split"], s["number"]) for s in manifest.shards})
    assert report.rows > 0


def test_pandas_is_not_needed(output: Path) -> None:
    """Some types of pyarrow ask it, and raise an error where it is not installed."""
    code = (
        "import sys; sys.modules['pandas'] = None; import tokenmill\n"
        "assert tokenmill.verify(sys.argv[1]).problems == []"
    )
    subprocess.run([sys.executable, "-c", code, str(output)], check=True)  # noqa: S603


def test_an_output_of_nothing_is_whole(tmp_path: Path, small_json: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": ""}\n')
    options: dict[str, Any] = {"field": "text", "context_length": 8}
    make(tmp_path / "a.jsonl", tmp_path / "out", small_json, **options)
    assert verify(tmp_path / "out").problems == []


def test_a_flipped_bit_in_any_file_is_found(output: Path) -> None:
    names = [p.relative_to(output).as_posix() for p in output.rglob("*") if p.is_file()]
    checked = [name for name in names if name not in ("manifest.json", ".lock")]
    assert len(checked) > 10
    for name in checked:
        path = output / name
        sound = path.read_bytes()
        damaged = bytearray(sound)
        damaged[len(damaged) // 2] ^= 1
        path.write_bytes(damaged)
        assert any(name in problem for problem in problems(output)), name
        path.write_bytes(sound)
    assert problems(output) == []


def test_all_problems_are_listed(output: Path) -> None:
    (output / BIN).unlink()
    with (output / "mds/shard.00000.mds").open("ab") as file:
        file.write(b"x")
    (output / "documents.parquet").write_bytes(b"PAR1")
    (output / "stranger.txt").write_text("?")
    found = problems(output)
    assert any(f"{BIN}: no such file" in line for line in found)
    assert any("mds/shard.00000.mds: expected" in line for line in found)
    assert any("documents.parquet: expected" in line for line in found)
    assert any("books: cannot be counted" in line for line in found)
    assert verify(output).warnings == ["stranger.txt: not part of the output"]


def test_a_stranger_alone_is_no_fault(output: Path) -> None:
    (output / "bin" / "note.txt").write_text("?")
    report = verify(output)
    assert report.ok
    assert report.warnings == ["bin/note.txt: not part of the output"]


def test_ids_are_compared_between_formats(output: Path) -> None:
    forge_ids(output, BIN, 10, 65)
    assert problems(output) == ["train shard 1: formats hold different tokens: bin, mds, parquet"]


def test_an_id_that_cannot_occur_is_found(output: Path) -> None:
    forge_ids(output, BIN, 10, 60000)
    assert any(f"{BIN}: 1 ids above 266" in line and "60000" in line for line in problems(output))


def test_padding_that_is_none_is_found(output: Path) -> None:
    last = sorted((output / "bin").iterdir())[-1]
    forge_ids(output, f"bin/{last.name}", -1, 65)
    found = problems(output)
    assert len(found) == 1
    assert "1 ids of padding are not 266" in found[0]


def test_an_index_that_contradicts_itself_is_found(output: Path) -> None:
    found = read_index(output / ROWS)
    lengths, begins, documents = (
        np.array(x) for x in (found.lengths, found.begins, found.documents)
    )
    for change in ("lengths", "begins", "documents"):
        columns = {
            "lengths": lengths.copy(),
            "begins": begins.copy(),
            "documents": documents.copy(),
        }
        columns[change][5] += 1
        pieces = Pieces(
            columns["documents"], columns["begins"], columns["lengths"], np.array(found.row_pieces)
        )
        write_index(output / ROWS, pieces)
        forge(output, ROWS, (output / ROWS).read_bytes())
        assert problems(output) != [], change


def test_a_document_table_that_lies_is_found(output: Path) -> None:
    path = output / "documents.parquet"
    table = pq.read_table(path)
    tokens = table["tokens"].to_pylist()
    tokens[4], tokens[5] = tokens[4] + 1, tokens[5] - 1  # the sum stays
    place = table.column_names.index("tokens")
    pq.write_table(table.set_column(place, "tokens", pa.array(tokens, pa.int64())), path)
    forge(output, "documents.parquet", path.read_bytes())
    found = problems(output)
    assert any("1 lack tokens: 4" in line for line in found)
    assert any("1 go beyond their end: 5" in line for line in found)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data["tokens"].update(padding=data["tokens"]["padding"] + 1),
        lambda data: data["tokens"].update(dropped=3, **{"in": data["tokens"]["in"] + 3}),
        lambda data: data["tokens"].update(repeated=1, dropped=1),
        lambda data: data["tokens"].update(out=data["tokens"]["out"] - 1),
        lambda data: data["documents"].update(out=data["documents"]["out"] - 1),
        lambda data: data["documents"]["skipped"].update(bad_json=2, wrong_type=0),
        lambda data: data["shards"][0].update(documents=data["shards"][0]["documents"] + 1),
        lambda data: data["shards"][0].update(rows=data["shards"][0]["rows"] + 1),
        lambda data: data["shards"][0].update(tokens=data["shards"][0]["tokens"] + 1),
        lambda data: move_documents(data["shards"]),
        lambda data: data["documents"].update(
            {"in": data["documents"]["in"] + 1, "skipped": {**SKIPPED, "max_tokens": 1}}
        ),
        lambda data: [
            options.update(seed=5) for options in (data["options"], data["plan"]["options"])
        ],
        lambda data: data["options"].update(seed=5),
        lambda data: data["plan"]["options"].update(seed=5),
        lambda data: data.update(files=data["files"][1:]),
        lambda data: data["files"][0].update(path="../a.jsonl"),
        lambda data: data.pop("documents"),
        lambda data: data["shards"][0].pop("index"),
    ],
)
def test_a_manifest_that_lies_is_found(output: Path, change: Callable[[Any], None]) -> None:
    change_manifest(output, change)
    try:
        assert problems(output) != []
    except CorruptShard as error:
        assert "manifest" in str(error)  # noqa: PT017


def test_no_manifest_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceNotFound, match=r"no manifest\.json"):
        verify(tmp_path)


@pytest.mark.parametrize("way", ["concat", "bestfit", "limits"])
def test_full_makes_it_again(way: str, corpus: Path, tmp_path: Path, small_json: Path) -> None:
    make(corpus, tmp_path / "out", small_json, **{**WAYS[way], "format": "bin,mds"})
    before = sorted(os.listdir(tmp_path))  # noqa: PTH208
    report = verify(tmp_path / "out", full=True)
    assert (report.problems, report.full) == ([], True)
    assert sorted(os.listdir(tmp_path)) == before  # noqa: PTH208


def test_full_names_the_first_token_that_differs(
    corpus: Path, tmp_path: Path, small_json: Path
) -> None:
    output = tmp_path / "out"
    make(corpus, output, small_json, context_length=48)
    was = int(np.fromfile(output / BIN, "<u2")[101])
    forge_ids(output, BIN, 101, was ^ 1)
    assert verify(output).ok  # a forger who changes every record is found only by
    found = [str(problem) for problem in verify(output, full=True).problems]
    assert f"{BIN}: row 2, token 5: has {was ^ 1}, made again {was}" in found
    assert any("made again it has xxh3-128:" in line for line in found)


def test_full_makes_outputs_of_outputs_again(output: Path, tmp_path: Path) -> None:
    rewrite(output, output=tmp_path / "b", format="npy", shard_tokens=500)
    rewrite([tmp_path / "b", output], output=tmp_path / "c", format="bin")
    shutil.rmtree(tmp_path / "b")
    assert verify(tmp_path / "c", full=True).problems == []


def test_full_refuses_inputs_that_changed(tmp_path: Path, small_json: Path) -> None:
    corpus, output = tmp_path / "b.jsonl", tmp_path / "out"
    write_corpus(corpus)
    make(corpus, output, small_json, context_length=48)
    write_corpus(corpus, TEXTS[:-1])
    with pytest.raises(PlanDiffers, match=r"b\.jsonl size: \d+ in the output, \d+ now"):
        verify(output, full=True)
    corpus.unlink()
    with pytest.raises(SourceNotFound, match="no such file"):
        verify(output, full=True)


def test_full_refuses_another_tokenizer(output: Path, tmp_path: Path, small_json: Path) -> None:
    other = small_definition()
    other["model"]["merges"] = other["model"]["merges"][:-1]
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(other))
    with pytest.raises(PlanDiffers, match="with the hash"):
        verify(output, full=True, tokenizer=path)
    change_manifest(output, lambda data: data.update(tokenizer_source=str(tmp_path / "gone.json")))
    with pytest.raises(SourceNotFound, match=r"no longer at .*gone\.json.*hint: pass its path"):
        verify(output, full=True)
    assert verify(output, full=True, tokenizer=Tokenizer.load(small_json)).ok


def test_full_refuses_what_came_from_memory(tmp_path: Path, small_json: Path) -> None:
    table = pa.table({"text": TEXTS[:5]})
    pack(table, output=tmp_path / "out", tokenizer=small_json, context_length=16)
    assert verify(tmp_path / "out").ok
    with pytest.raises(InputError, match="from memory"):
        verify(tmp_path / "out", full=True)


def test_the_manifest_says_where_the_tokenizer_was(output: Path, small_json: Path) -> None:
    assert Manifest.load(output).data["tokenizer_source"] == str(small_json)


def test_the_command_tells_by_its_exit_status(
    output: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(output), "--full"]) == 0
    assert "tokenizing again writes the same bytes" in capsys.readouterr().out
    (output / BIN).unlink()
    assert main(["verify", str(output)]) == 1
    assert f"WRONG       {BIN}: no such file" in capsys.readouterr().out
    assert main(["verify", str(output), "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert (report["ok"], report["problems"][0]["where"]) == (False, BIN)
