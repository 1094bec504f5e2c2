"""Pack the sample corpus from Python, look at the counts, and stream tokens."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import tokenmill

CORPUS = Path(__file__).parent / "data" / "corpus"


def main() -> None:
    """Pack, read the manifest, read rows, and stream."""
    with TemporaryDirectory() as folder:
        output = Path(folder) / "packed"
        manifest = tokenmill.pack(
            CORPUS, output=output, context_length=512, validation="5%", shuffle="docs", seed=7
        )
        assert tokenmill.Manifest.load(output) == manifest  # noqa: S101
        print(f"documents: {manifest.documents}\ntokens: {manifest.tokens}")
        for line in (output / "quarantine.jsonl").read_text(encoding="utf-8").splitlines()[:3]:
            record = json.loads(line)
            print(f"quarantined: {Path(record['file']).name}:{record['line']}: {record['message']}")

        for split in ("train", "validation"):
            rows = tokenmill.PackedDataset(output, split=split, torch=False)
            print(f"{split}: {len(rows)} rows of {rows.context_length}")

    stream = tokenmill.stream(CORPUS)
    tokens = sum(len(batch.ids) for batch in stream)
    print(f"streamed: {stream.documents} documents, {tokens:,} tokens, {dict(stream.skipped)}")


if __name__ == "__main__":
    main()
