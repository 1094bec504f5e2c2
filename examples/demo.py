"""See it work: text to ids and back, then a small, dirty corpus to packed shards."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import tokenmill

DATA = Path(__file__).parent / "data"
PACK = "pack 'data/*' --tokenizer builtin/tokenizer.json --output packed/ --context-length 512"


def main() -> None:
    """Show the engine, then the mill in a temporary folder."""
    tokenizer = tokenmill.Tokenizer.load()
    show_engine(tokenizer)
    with TemporaryDirectory() as folder:
        show_mill(tokenizer, Path(folder))


def show_engine(tokenizer: tokenmill.Tokenizer) -> None:
    """Encode each sample text, then all of them as one batch."""
    title("Text to ids, and back")
    files = sorted(DATA.glob("*.txt"))
    texts = [path.read_bytes() for path in files]
    print(f"{'file':<28} {'bytes':>9} {'ids':>9} {'bytes/id':>9}  back")
    for path, text in zip(files, texts, strict=True):
        ids = tokenizer.encode(text)
        back = "same" if tokenizer.decode_bytes(ids) == text else "DIFFERENT"
        ratio = len(text) / max(len(ids), 1)
        print(f"{path.name:<28} {len(text):>9,} {len(ids):>9,} {ratio:>9.2f}  {back}")

    megabytes, seconds = sum(map(len, texts)) / 1e6, []
    for _ in range(3):  # later passes know the words
        begin = time.perf_counter()
        batch = tokenizer.encode_batch(texts, dtype="uint16")
        seconds.append(time.perf_counter() - begin)
    speed = megabytes / min(seconds)
    print(f"\nall at once: {len(batch.ids):,} ids, {speed:.0f} MB/s, best of three")


def show_mill(tokenizer: tokenmill.Tokenizer, folder: Path) -> None:
    """Pack the sample corpus with the command line, read a row back, and run it again."""
    title("A corpus to packed shards")
    shutil.copytree(DATA / "corpus", folder / "data")
    (folder / "builtin").mkdir()
    tokenizer.save(folder / "builtin" / "tokenizer.json")
    tokenmill_command(PACK, folder)

    title("A row, as a trainer reads it")
    dataset = tokenmill.PackedDataset(folder / "packed", torch=False)
    row = dataset[0]["input_ids"]
    print(f"row 0 of {len(dataset)}, {len(row)} ids: {row[:8].tolist()} ...")
    print(f"{tokenizer.decode(row)[:200]!r} ...")

    title("The same command again")
    tokenmill_command(PACK, folder, last_line_only=True)


def tokenmill_command(arguments: str, folder: Path, *, last_line_only: bool = False) -> None:
    """Print a command and its output; it runs in `folder` as in a shell."""
    print(f"$ tokenmill {arguments}")
    words = [word.strip("'") for word in arguments.split()]
    done = subprocess.run(  # noqa: S603 -- the command above
        [sys.executable, "-m", "tokenmill", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    output = (done.stderr + done.stdout).strip()
    print(output.splitlines()[-1] if last_line_only and done.returncode == 0 else output)
    if done.returncode != 0:
        raise SystemExit(done.returncode)


def title(text: str) -> None:
    """Print a heading."""
    print(f"\n{text}\n{'-' * len(text)}")


if __name__ == "__main__":
    main()
