"""Where metrics of a run go besides its heartbeat: a file for Prometheus, a collector of OTLP.

Nothing here may stop a run or slow it down. What does not work is said once.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenmill._mill.watch.heartbeat import replace_file
from tokenmill._mill.watch.metrics import as_prometheus, metrics_of
from tokenmill._mill.watch.warn import say

if TYPE_CHECKING:
    import os

    from tokenmill._mill.watch.heartbeat import Listener


class MetricsFile:
    """A file for the textfile collector of Prometheus's node exporter, replaced at every beat."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._has_warned = False

    def hear(self, beat: dict[str, Any]) -> None:
        """Replace the file; say once if that fails."""
        labels = (("output", str(beat.get("output", ""))),)
        try:
            replace_file(self._path, as_prometheus(metrics_of(beat), labels))
        except OSError as error:
            if not self._has_warned:
                self._has_warned = True
                say(f"no metrics: {self._path} cannot be written: {error.strerror or error}")


def exporters(metrics: str | os.PathLike[str] | None, otlp: str | None) -> list[Listener]:
    """Return what the options and the environment ask for."""
    from tokenmill._mill.watch.otlp import otlp_export  # looks at the environment

    found: list[Listener] = [] if metrics is None else [MetricsFile(Path(metrics))]
    export = otlp_export(otlp)
    return found if export is None else [*found, export]
