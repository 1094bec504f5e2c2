"""Write models, texts and what Python makes of them, for tests/parity.test.mjs.

    python wasm/tools/write_expected.py FOLDER [TOKENIZERS CORPORA]

Without the last two: the vocabularies of the tests' data packages and made-up texts. With them:
every tokenizer of a folder as tools/parity reads it, and slices of every corpus.
"""

from __future__ import annotations

import json
import lzma
import random
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.strategies import class_strings

from tokenmill import Tokenizer
from tokenmill._model.resolve import compile_file

BASIC = 0xFFFF  # code points that are one unit of UTF-16
SLICE = 60_000  # characters of each corpus
STREAMED = 300  # ids of each text that a stream takes one by one


def main() -> None:
    """Do what the module says."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    if sys.argv[2:]:
        texts = corpora(Path(sys.argv[3]))
        names = write_models(folder, Path(sys.argv[2]))
    else:
        texts = {f"made up {i}": text for i, text in enumerate(made_up())}
        names = write_test_models(folder)
    (folder / "texts.json").write_text(json.dumps(texts))
    for name in names:
        write_answers(folder, name, texts)
    (folder / "names.json").write_text(json.dumps(names))


def made_up() -> list[str]:
    """Return texts for tests without corpora."""
    plain = ["", " ", "Hello, world!", "caf\u00e9 \U0001f600\U0001f469\u200d\U0001f680", "\ufeffx"]
    return [*plain, "a\x00b", *class_strings(seed=3, count=12, length=400)]


def corpora(folder: Path) -> dict[str, str]:
    """Read the beginning of every corpus."""
    texts = {}
    for path in sorted(folder.glob("*.txt.xz")):
        with lzma.open(path, "rt", encoding="utf-8") as file:
            texts[path.name.partition(".")[0]] = file.read(SLICE)
    return texts


def write_test_models(folder: Path) -> list[str]:
    """Compile the vocabularies of the tests' data packages; return their names."""
    from tests import vocabularies

    from tokenmill._model.file import write_model

    for name in vocabularies.NAMES:
        write_model(vocabularies.payload(name), folder / f"{name}.mill")
        if name in vocabularies.JSON_NAMES and name != "gpt2":
            shutil.copy(vocabularies.json_file(name), folder / f"{name}.json")
    return list(vocabularies.NAMES)


def write_models(folder: Path, tokenizers: Path) -> list[str]:
    """Compile every tokenizer; the tokenizer.json ones are kept, for the package to compile."""
    names = []
    for path in sorted(tokenizers.glob("*/*.xz")):
        if "config" in path.name:
            continue
        name = path.parent.name
        json_file = folder / f"{name}.json"
        source = json_file if path.name == "tokenizer.json.xz" else folder / f"{name}.model"
        source.write_bytes(lzma.decompress(path.read_bytes()))
        pattern = {"kimi-k2": "kimi_k2"}.get(name, name if name.endswith("_base") else None)
        is_ranks = path.name.endswith(".tiktoken.xz") or name == "kimi-k2"
        compile_file(source, folder / f"{name}.mill", pattern=pattern if is_ranks else None)
        names.append(name)
    return names


def write_answers(folder: Path, name: str, texts: dict[str, str]) -> None:
    """Write what Python makes of every text."""
    tokenizer = Tokenizer.load(folder / f"{name}.mill")
    answers: dict[str, Any] = {
        "vocabSize": tokenizer.vocab_size,
        "special": dict(tokenizer.special_tokens),
        "names": names_of(tokenizer),
        "texts": {},
    }
    choose = random.Random(name)  # noqa: S311
    chunks: list[bytes] = []
    for key, text in texts.items():
        plain = tokenizer.encode_batch([text], offsets="char")
        special = tokenizer.encode(text, add_special_tokens=True)
        mixed = [choose.randrange(tokenizer.vocab_size) for _ in range(40)]
        streamed = [*special[:STREAMED].tolist(), *mixed]
        places = utf16_places(text)[plain.spans].astype(np.uint32)
        numbers = [plain.ids.astype(np.uint32), places.ravel(), special.astype(np.uint32)]
        answers["texts"][key] = {
            "sizes": [len(part) for part in numbers],
            "decoded": tokenizer.decode(special),
            "skipped": tokenizer.decode(special, skip_special_tokens=True),
            "cleaned": tokenizer.decode(plain.ids, clean_up=True),
            "streamed": streamed,
            "streamedText": tokenizer.decode(streamed),
        }
        chunks += [part.tobytes() for part in numbers]
    (folder / f"{name}.numbers").write_bytes(b"".join(chunks))
    (folder / f"{name}.answers.json").write_text(json.dumps(answers))


def names_of(tokenizer: Tokenizer) -> dict[str, str]:
    """Return the names of some tokens, without those that are holes."""
    from tokenmill import UnknownId

    names = {}
    for token_id in [*range(0, tokenizer.vocab_size, 499), *range(300)]:
        try:
            names[str(token_id)] = tokenizer.id_to_token(token_id)
        except UnknownId:
            continue
    return names


def utf16_places(text: str) -> Any:
    """Return the place of every character, and of the end, in units of UTF-16."""
    sizes = [2 if ord(character) > BASIC else 1 for character in text]
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)


if __name__ == "__main__":
    main()
