"""The path that texts take: a reference library, slow instructions, short calls, a device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill._advice.advice import Advice

if TYPE_CHECKING:
    from tokenmill._machine.facts import MachineFacts
    from tokenmill._record.facts import RunFacts

_MANY = 20_000  # calls
_FEW_TEXTS = 4  # in a call, on average
_SHORT_BYTES = 300  # of a call, on average: the engine needs about as long as the call itself
_MOST_SECONDS = 10e-6  # from one call to the next: with more, the program does other things


def reference_path(run: RunFacts, _: MachineFacts) -> Advice | None:
    """See whether the tokenizer's own library does the work."""
    if run.path != "reference":
        return None
    why = "; ".join(run.reasons) or "the engine cannot run it exactly"
    return Advice(
        "reference_path",
        f"{run.tokenizer} runs in its own library, many times slower than the engine",
        why,
        "see `tokenmill info SOURCE`; a tokenizer.json of the same model may run natively",
    )


def slow_target(run: RunFacts, machine: MachineFacts) -> Advice | None:
    """See whether instructions that the CPU has are switched off."""
    best = machine.cpu.targets[-1] if machine.cpu.targets else ""
    if not run.target or run.target == best or run.target not in machine.cpu.targets:
        return None
    return Advice(
        "slow_target",
        f"the engine runs its {run.target} code, and this CPU has {best}",
        "TOKENMILL_TARGET chooses it",
        "unset TOKENMILL_TARGET",
    )


def short_calls(run: RunFacts, _: MachineFacts) -> Advice | None:
    """See whether many calls have little text each. By counts: times of short calls are samples."""
    if run.kind != "calls" or run.path == "reference" or run.calls < _MANY:
        return None
    length, seconds = run.bytes("split") / run.calls, run.process_seconds / run.calls
    is_short = length <= _SHORT_BYTES and run.documents < _FEW_TEXTS * run.calls
    if not is_short or seconds > _MOST_SECONDS:
        return None
    return Advice(
        "short_calls",
        f"{run.calls:,} calls with {length:.0f} bytes each, one every {seconds * 1e6:.1f} us",
        "a call from Python costs more than a short text",
        "pass lists of texts to `encode_batch`, or files to `tokenmill pack`",
    )


def device_fell_back(run: RunFacts, _: MachineFacts) -> Advice | None:
    """See whether the CPU did work that a GPU was asked for."""
    if run.device_asked == "cpu":
        return None
    is_partly = "which the CPU encoded" in run.device_note or "left " in run.device_note
    if run.device != "cpu" and not is_partly:
        return None
    did = "some" if run.device != "cpu" else "all"
    return Advice(
        "device_fell_back",
        f"--device {run.device_asked}: the CPU did {did} of the work",
        run.device_note or "no reason was given",
        "see `tokenmill info --machine` and docs/guides/gpu.md for what a GPU can do",
    )


ADVISERS = (reference_path, slow_target, short_calls, device_fell_back)
