"""Other tokenizer libraries, each by its fastest call for many texts; only those installed run."""

from __future__ import annotations

from array import array
from importlib import import_module, metadata
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenmill._bench.answers import Answer, answer_of
from tokenmill._bench.libraries import CannotMeasure, Library, load_fast, load_native

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenmill._bench.libraries import Request


def load_gigatoken(request: Request) -> Library:
    """Load the tokenizer.json or the rank file with gigatoken, which takes bytes."""
    kind = import_module("gigatoken").Tokenizer
    ranks = request["ranks"]
    tokenizer = kind(Path(_definition(request))) if ranks is None else kind.from_tiktoken(ranks)
    parallel = request["threads"] > 1
    return Library(
        _version("gigatoken"),
        tokenizer.encode,
        lambda texts: tokenizer.encode_batch(texts, parallel=parallel),
        _awkward_answer,
        takes_bytes=True,
    )


def _awkward_answer(results: list[Any], singles: bool) -> Answer:
    if singles:
        return answer_of(list(map(int, row)) for row in results)
    ids, lengths = bytearray(), array("q")
    for result in results:
        offsets = [int(at) for at in result.layout.offsets]
        flat = memoryview(result.layout.content.data)[offsets[0] : offsets[-1]]
        ids += flat.cast("B") if flat.format == "I" else array("I", flat.tolist()).tobytes()
        lengths.extend(b - a for a, b in pairwise(offsets))
    return Answer(bytes(ids), lengths.tobytes())


def load_tiktoken(request: Request) -> Library:
    """Load the rank file with tiktoken."""
    if request["ranks"] is None:
        raise CannotMeasure("needs a .tiktoken file with a known pattern (-t, --pattern)")
    tiktoken = import_module("tiktoken")
    load = import_module("tiktoken.load").load_tiktoken_bpe
    encoding = tiktoken.Encoding(
        name="measured",
        pat_str=request["regex"],
        mergeable_ranks=load(request["ranks"]),
        special_tokens={},
    )
    threads = request["threads"]
    return Library(
        _version("tiktoken"),
        encoding.encode_ordinary,
        lambda texts: encoding.encode_ordinary_batch(texts, num_threads=threads),
        _list_answer,
    )


def load_tokie(request: Request) -> Library:
    """Load the tokenizer.json with tokie, which knows those of others and none made by us."""
    if request["ranks"] is not None:
        raise CannotMeasure("needs a tokenizer.json, got a rank file")
    tokenizer = import_module("tokie").Tokenizer.from_json(_definition(request))
    return Library(
        _version("tokie"),
        lambda text: tokenizer.encode(text, add_special_tokens=False),
        lambda texts: tokenizer.encode_batch(texts, add_special_tokens=False),
        _encoding_answer,
    )


def load_fastokens(request: Request) -> Library:
    """Load the tokenizer.json or the rank file with fastokens."""
    kind = import_module("fastokens").Tokenizer
    if request["ranks"] is None:
        tokenizer = kind.from_file(_definition(request))
    else:
        tokenizer = kind.from_tiktoken(request["ranks"], pattern=request["regex"])
    return Library(
        _version("fastokens"),
        tokenizer.encode,
        tokenizer.encode_batch_flat,
        _flat_answer,
    )


def _flat_answer(results: list[Any], singles: bool) -> Answer:
    if singles:
        return _encoding_answer(results, singles)
    ids, lengths = b"", array("q")
    for found, ends in results:
        offsets = array("q", bytes(ends))
        ids += bytes(found)
        lengths.extend(b - a for a, b in pairwise(offsets))
    return Answer(ids, lengths.tobytes())


def _encoding_answer(results: list[Any], singles: bool) -> Answer:
    encodings = results if singles else [one for batch in results for one in batch]
    return answer_of(encoding.ids for encoding in encodings)


def _list_answer(results: list[Any], singles: bool) -> Answer:
    return answer_of(results if singles else [row for batch in results for row in batch])


def _definition(request: Request) -> str:
    if request["json"] is None:
        raise CannotMeasure("needs a tokenizer.json, which cannot be made of this source")
    return str(request["json"])


def _version(package: str) -> str:
    return f"{package} {metadata.version(package)}"


# In the order of the table; the name is also that of the package.
PEERS: dict[str, Callable[[Request], Library]] = {
    "tokenmill": load_native,
    "gigatoken": load_gigatoken,
    "tokenizers": load_fast,
    "tiktoken": load_tiktoken,
    "tokie": load_tokie,
    "fastokens": load_fastokens,
}
