"""`pack`: inputs and options as people write them -> a plan -> a run -> the manifest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tokenmill._checks import whole_number
from tokenmill._errors import OptionError
from tokenmill._mill.device.choose import CPU, Device, choose_device
from tokenmill._mill.meter import Meter
from tokenmill._mill.output.books import Budget
from tokenmill._mill.output.work import Work
from tokenmill._mill.plan.memory import affordable_workers
from tokenmill._mill.plan.task import Task, prepare_task
from tokenmill._mill.progress import Progress, peak_memory_mb
from tokenmill._mill.run.read_ahead import ReadAhead
from tokenmill._mill.run.run import Run

if TYPE_CHECKING:
    import os

    from typing_extensions import Unpack

    from tokenmill._mill.output.manifest import Manifest
    from tokenmill._mill.plan.options import PackOptions


def pack(
    inputs: Any,  # paths, globs, folders, URLs, datasets, sources
    *,
    output: str | os.PathLike[str],
    tokenizer: object = None,
    workers: int | None = None,
    memory_limit: int | str | None = None,
    max_bad: int | float | str | None = None,
    force: bool = False,
    progress: Literal["auto", "bar", "plain", "json", "none"] = "none",
    device: str = "cpu",
    **options: Unpack[PackOptions],
) -> Manifest:
    """Tokenize and pack inputs into shards below `output`; the same call again resumes.

    `inputs`: files, globs, folders, "-", URLs, datasets, or sources with weights and caps.
    `tokenizer`: anything `Tokenizer.load` takes, or a Tokenizer; None is the built-in one.
    `workers`, `memory_limit` ("2GB"), `max_bad` (a count or "0.1%"), `progress` and `device` never
    change a byte. `device` is what tokenizes: "cpu", "cuda", "cuda:1", "cuda:0,cuda:1", "cuda:all",
    or "auto" for the faster of CPU and GPU, by measurement. `force` starts over. The other options
    decide the bytes; PackOptions lists them.

    Raises BadRecordFound if the inputs have records and none of them holds a document.
    """
    task = prepare_task(
        inputs, tokenizer=tokenizer, memory_limit=memory_limit, output=output, **options
    )
    return pack_task(
        task,
        output=output,
        workers=workers,
        memory_limit=memory_limit,
        max_bad=max_bad,
        force=force,
        progress=progress,
        device=device,
    ).manifest


@dataclass(frozen=True)
class PackResult:
    """The result of a run: its manifest, its counters, and whether it was finished before."""

    manifest: Manifest
    meter: Meter
    was_finished: bool
    memory_mb: float
    device: Device = CPU


def pack_task(
    task: Task,
    *,
    output: str | os.PathLike[str],
    workers: int | None = None,
    memory_limit: int | str | None = None,
    max_bad: int | float | str | None = None,
    force: bool = False,
    progress: str = "none",
    device: str = "cpu",
    read_ahead: int = 0,
) -> PackResult:
    """Run a plan, or what is missing of it.

    `read_ahead` files are requested from the disk before their turn; this never changes a byte.
    """
    count = affordable_workers(workers, memory_limit, task.tokenizer)
    chosen = choose_device(device, task, count)
    meter = Meter(total_bytes=task.plan.total_bytes)
    run = Run(
        task.plan,
        task.tokenizer,
        Path(output),
        count,
        parse_budget(max_bad),
        meter,
        tokenizer_source=task.tokenizer_source,
        device=chosen.encoder,
        ahead=ReadAhead(task.plan, whole_number("read_ahead", read_ahead, least=0)),
    )
    work = Work(Path(output))
    with work.locked():
        if force:
            work.clear()
        manifest = run.finished()
        was_finished = manifest is not None
        if manifest is None:
            run.start()
            with Progress(meter, progress):
                manifest = run.execute()
    return PackResult(manifest, meter, was_finished, peak_memory_mb(), chosen)


def parse_budget(max_bad: int | float | str | None) -> Budget:
    """Read an error budget: None, a count, a share below 1, or text such as "0.1%"."""
    if max_bad is None:
        return Budget()
    text = str(max_bad).strip()
    try:
        if text.endswith("%"):
            return Budget(share=_between(float(text[:-1]) / 100))
        if isinstance(max_bad, float) or "." in text:
            return Budget(share=_between(float(text)))
        if int(text) >= 0:
            return Budget(count=int(text))
    except ValueError:
        pass
    raise OptionError(
        f"expected a count such as 100 or a share such as 0.1%, got {max_bad!r}", where="max_bad"
    )


def _between(share: float) -> float:
    if not 0 <= share <= 1:
        raise ValueError
    return share
