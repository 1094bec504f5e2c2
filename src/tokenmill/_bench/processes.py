"""Runs every row in fresh processes, in turn, and compares the ids before any time is shown."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from tokenmill._bench.answers import Answer, check_same, write_texts
from tokenmill._bench.launch import run_process
from tokenmill._bench.result import Result, Row
from tokenmill._bench.tokenizer_files import tokenizer_files
from tokenmill._platform.cpus import load_average

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

# In the order of the table, with the package that a library's process needs.
LIBRARIES: Mapping[str, str | None] = {"slow": "transformers", "fast": "tokenizers", "native": None}


@dataclass(frozen=True)
class Request:
    """What is measured: each library with each size of batches, `repeat` processes of each."""

    tokenizer: str | None
    pattern: str | None
    batch_sizes: Sequence[int]
    repeat: int
    threads: int
    libraries: Sequence[str] = tuple(LIBRARIES)


def measure(request: Request, texts: Sequence[str], report: Callable[[str], None]) -> Result:
    """Measure all rows; `report` receives what is being done."""
    load_before = load_average()
    missing = {
        name: f"needs {package} (pip install 'tokenmill[hf]')"
        for name in request.libraries
        if (package := LIBRARIES[name]) is not None and find_spec(package) is None
    }
    with TemporaryDirectory(prefix="tokenmill-bench-") as folder:
        bench = _Bench(request, Path(folder), report, not_measured=missing)
        write_texts(bench.texts, texts)
        bench.run(len(texts))
        return Result(bench.done(), bench.not_measured, request.threads, load_before)


class _Bench:
    """The rows of one call, as they fill; files in one folder."""

    def __init__(
        self,
        request: Request,
        folder: Path,
        report: Callable[[str], None],
        not_measured: dict[str, str],
    ) -> None:
        self._request = request
        self._folder = folder
        self._report = report
        self._rows: list[Row] = []
        self._right: tuple[Answer, str] | None = None
        self.not_measured = not_measured
        self.texts = folder / "documents"
        self._work = tokenizer_files(request.tokenizer, request.pattern, folder)

    def run(self, documents: int) -> None:
        """Let the rows take turns, so that what disturbs the machine disturbs all of them."""
        wanted = self._request.libraries
        self._rows = [
            Row(library, size, documents)
            for library in LIBRARIES
            if library in wanted
            for size in self._request.batch_sizes
        ]
        for number in range(self._request.repeat):
            for row in self._rows:
                if row.library not in self.not_measured:
                    self._report(f"round {number + 1} of {self._request.repeat}: {row.name}")
                    self._run_row(row)

    def done(self) -> list[Row]:
        """Return the rows that were measured."""
        return [row for row in self._rows if row.library not in self.not_measured]

    def _run_row(self, row: Row) -> None:
        answer_path = self._folder / "answer"
        body = {
            **self._work,
            "library": row.library,
            "batch_size": row.batch_size,
            "texts": str(self.texts),
            "answer": str(answer_path),
        }
        report = _run_process(body, self._request.threads)
        if "cannot" in report:
            self.not_measured[row.library] = report["cannot"]
            return
        answer = Answer.read(answer_path)
        if self._right is None:
            self._right = (answer, row.name)
        check_same(answer, row.name, *self._right)
        row.tokens, row.ids = answer.tokens, answer.hash()
        row.add(report)


def _run_process(body: Mapping[str, Any], threads: int) -> dict[str, Any]:
    return run_process(
        body,
        threads,
        where=f"{body['library']}/{body['batch_size']}",
        hint="--num-docs takes fewer documents, --only leaves a tokenizer out",
    )
