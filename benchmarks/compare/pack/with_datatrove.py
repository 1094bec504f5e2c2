"""datatrove: its own pipeline, one task per file, as many workers as threads."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.readers import JsonlReader, ParquetReader
from datatrove.pipeline.tokens import DocumentTokenizer


def main() -> None:
    """Do the job on stdin."""
    job = json.load(sys.stdin)
    output = Path(job["output"])
    executor = LocalPipelineExecutor(
        pipeline=[
            reader(job),
            DocumentTokenizer(
                str(output / "tokens"),
                tokenizer_name_or_path=job["tokenizer"],
                eos_token=job["eos"],
                shuffle_documents=False,
            ),
        ],
        tasks=job["threads"],
        workers=job["threads"],
        logging_dir=str(output / "logs"),
    )
    executor.run()
    for path in (output / "tokens").iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())


def reader(job: dict[str, Any]) -> Any:
    """Return the reader of the input files, which are alone in one folder."""
    folder = str(Path(job["inputs"][0]).parent)
    if job["format"] == "parquet":
        return ParquetReader(folder, text_key="text", glob_pattern="*.parquet")
    suffix = ".jsonl.zst" if job["format"] == "zst" else ".jsonl"
    return JsonlReader(folder, text_key="text", glob_pattern="*" + suffix)


if __name__ == "__main__":
    main()
