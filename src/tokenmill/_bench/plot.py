"""A picture of the result: documents a second, by tokenizer and size of batches."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from tokenmill._errors import MissingDependency

if TYPE_CHECKING:
    from pathlib import Path

    from tokenmill._bench.result import Result

_COLOURS = {"slow": "#b0b0b0", "fast": "#f2a33a", "native": "#1f6feb"}


def check_plot() -> None:
    """Refuse at once what would fail after minutes of measuring."""
    if find_spec("matplotlib") is None:
        raise MissingDependency(
            "not installed, but --plot needs it",
            name="matplotlib",
            hint="pip install matplotlib",
        )


def draw(result: Result, title: str, path: Path) -> None:
    """Write the picture; the suffix of the path names its format."""
    check_plot()
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # optional
    from matplotlib.figure import Figure

    sizes = sorted({row.batch_size for row in result.rows})
    names = list(dict.fromkeys(row.library for row in result.rows))
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for name in names:
        rows = [row for row in result.rows if row.library == name]
        places = [sizes.index(row.batch_size) for row in rows]
        rates = [row.documents_per_second for row in rows]
        axes.plot(places, rates, marker="o", label=name, color=_COLOURS.get(name))
    axes.set_xticks(range(len(sizes)), [f"{size:,}" for size in sizes])
    axes.set_xlabel("documents a call")
    axes.set_ylabel("documents a second, first pass")
    axes.set_yscale("log")  # bars would have no foot on it
    axes.grid(visible=True, axis="y", which="both", alpha=0.3)
    axes.set_title(title, fontsize="medium")
    axes.legend()
    figure.savefig(path, dpi=150)
