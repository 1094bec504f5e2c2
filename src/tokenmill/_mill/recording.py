"""What a run did, for the file that TOKENMILL_STATS_FILE names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill._record.facts import ReadFile, RunFacts
from tokenmill._record.file import add_run, cpu_seconds, is_recording

if TYPE_CHECKING:
    from tokenmill._mill.pack import PackResult
    from tokenmill._mill.plan.task import Task
    from tokenmill._stats import RunStats


class RunRecorder:
    """Notes a run that starts now, if somebody asked for it; `wanted` workers, `asked` device."""

    def __init__(self, wanted: int, asked: str) -> None:
        self._wanted = wanted
        self._asked = asked
        self._is_on = is_recording()
        self._began = cpu_seconds() if self._is_on else 0.0

    def note(self, task: Task, result: PackResult, memory_limit: int | str | None) -> None:
        """Note what it did; a run that was finished before did nothing."""
        stats = result.manifest.stats
        if self._is_on and stats is not None:
            add_run(self._facts(task, result, stats, memory_limit))

    def _facts(
        self, task: Task, result: PackResult, stats: RunStats, memory_limit: int | str | None
    ) -> RunFacts:
        about, manifest = task.tokenizer.describe(), result.manifest
        return RunFacts(
            kind="pack",
            tokenizer=about.name,
            path=about.path,
            stats=stats,
            reasons=about.reasons,
            target=about.target,
            tables=task.tokenizer.ready.tables,
            documents=manifest.documents["in"],
            cpu_seconds=cpu_seconds() - self._began,
            files=tuple(
                ReadFile(file.path, max(file.size, 0), file.format, file.compression)
                for file in task.plan.files
            ),
            streams=len(task.plan.streams),
            workers_wanted=self._wanted,
            memory_limit=None if memory_limit is None else str(memory_limit),
            block_bytes=task.plan.rules.block_bytes,
            device=result.device.name,
            device_asked=self._asked,
            device_note=result.device.note,
            output=str(manifest.folder),
        )
