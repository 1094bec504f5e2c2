"""Workers that wait for input: decompressors, and files that cannot be divided."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill._advice.advice import Advice, percent

if TYPE_CHECKING:
    from tokenmill._machine.facts import MachineFacts
    from tokenmill._record.facts import RunFacts

_WAITS = 0.2  # of all time, from here on waiting is worth a word
_READS = 0.4
_SLOW_CODECS = ("gz", "bz2", "xz")


def few_compressed_files(run: RunFacts, _: MachineFacts) -> Advice | None:
    """See whether workers wait for a decompressor: a compressed file has one reader at a time."""
    packed = [file for file in run.files if file.compression is not None]
    threads, readers = run.stats.threads, min(len(packed), run.streams)
    waiting = run.share("wait_input")
    is_late = run.seconds("decompress") > _READS * run.stats.wall_seconds * max(1, readers)
    if not packed or readers >= threads or waiting < _WAITS or not is_late:
        return None
    suffix = f".{packed[0].compression}"
    files = "one file" if len(packed) == 1 else f"{len(packed)} files"
    at_once = "" if readers == len(packed) else f" (small ones in turn, {readers} at a time)"
    better = "use" if suffix == ".zst" else "use .zst, which unpacks faster, or"
    return Advice(
        "few_compressed_files",
        f"{percent(waiting)} of the time, workers wait for the decompressor",
        f"{suffix} is unpacked by one thread for each file, and {files}{at_once} must feed "
        f"{threads} workers",
        f"{better} at least {threads} large files, or plain JSONL",
    )


def decompressing(run: RunFacts, _: MachineFacts) -> Advice | None:
    """See whether every worker unpacks for most of its time."""
    slow = sorted({f.compression for f in run.files if f.compression in _SLOW_CODECS})
    share = run.work_share("decompress")
    if not slow or share < _READS:
        return None
    names = " and ".join(f".{name}" for name in slow)
    return Advice(
        "decompressing",
        f"{percent(share)} of the work is unpacking {names}",
        f"{names} unpacks at a fraction of the speed of the tokenizer",
        "store the files as .zst, or plain if the disk is fast",
    )


def one_large_file(run: RunFacts, _: MachineFacts) -> Advice | None:
    """See whether workers have nothing to do because the input cannot be divided."""
    waiting = run.share("wait_input")
    is_plain = bool(run.files) and all(file.compression is None for file in run.files)
    if not is_plain or waiting < _WAITS or run.streams >= run.stats.threads:
        return None
    why = _undivided(run)
    if why is None:
        return None
    return Advice("one_large_file", f"{percent(waiting)} of the time, workers wait for input", *why)


def _undivided(run: RunFacts) -> tuple[str, str] | None:
    """Return why the input keeps fewer workers busy, and what to do; None if it does not."""
    threads, forms = run.stats.threads, {file.format for file in run.files}
    if forms == {"text"} and len(run.files) < threads:
        return (
            "a plain text file is one document, which is read by one worker",
            "use --text-mode line or a separator, or divide the text into more files",
        )
    if run.bytes("split") < threads * run.block_bytes:
        return (
            f"the input is smaller than a block of {run.block_bytes >> 20} MiB for each worker",
            "nothing, for a job of this size; or set a smaller block_bytes (`tokenmill tune`)",
        )
    input_seconds = sum(map(run.seconds, ("read", "decompress", "parse")))
    if input_seconds < _READS * run.stats.wall_seconds * run.streams:
        return None  # one reader is enough
    return (
        f"the files can be read in {run.streams} place(s) at a time, and reading takes long",
        f"divide the input into at least {threads} files",
    )


def reading(run: RunFacts, machine: MachineFacts) -> Advice | None:
    """See whether reading takes most of the time: the disk, or the network."""
    share = run.share("read")
    if share < _READS:
        return None
    rate = run.bytes("read") / max(run.seconds("read"), 1e-9) / 1e6
    return Advice(
        "reading",
        f"{percent(share)} of the time goes into reading, at {rate:,.0f} MB/s for each worker",
        f"the disk ({machine.disk.kind}) or the network is slower than the tokenizer",
        "read from a local SSD, or compress the files as .zst to read less",
    )


ADVISERS = (few_compressed_files, decompressing, one_large_file, reading)
