"""Where the mill tokenizes: on the CPU, or on a device that encodes the blocks of all workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokenmill._cuda.names import device_number
from tokenmill._errors import TokenmillError

if TYPE_CHECKING:
    from tokenmill._cuda.encoder import DeviceEncoder
    from tokenmill._mill.device.shared_encoder import SharedEncoder
    from tokenmill._tokenizer import Tokenizer


@dataclass(frozen=True)
class Device:
    """What tokenizes: `encoder` is None on the CPU; `why` is the reason if "auto" chose it."""

    name: str
    encoder: SharedEncoder | None = None
    why: str = ""

    @property
    def note(self) -> str:
        """For people: why it is not a GPU, or what the CPU did in its place; "" on the CPU."""
        if self.encoder is None:
            return self.why
        fallbacks = self.encoder.fallbacks
        if not fallbacks:
            return "encoded all documents"
        counts = ", ".join(f"{count:,} {reason}" for reason, count in sorted(fallbacks.items()))
        return f"encoded all documents except these, which the CPU encoded: {counts}"


CPU = Device("cpu")


def choose_device(device: str, tokenizer: Tokenizer) -> Device:
    """Open the device that was asked for. It never changes an id, so it is not part of a plan.

    "cpu"; "cuda" or "cuda:1", which raises if that device cannot be used; or "auto", which falls
    back to the CPU, for the run or for what the device fails at later, and reports why.
    """
    if device == "cpu":
        return CPU
    asked = device_number(device)
    number = asked or 0
    try:
        encoder = _open_device(tokenizer, number)
    except TokenmillError as error:
        if asked is not None:
            raise
        return Device("cpu", why=f"no GPU: {error}")
    from tokenmill._mill.device.shared_encoder import SharedEncoder

    stand_in = tokenizer if asked is None else None
    return Device(f"cuda:{number}", SharedEncoder(encoder, stand_in=stand_in))


def _open_device(tokenizer: Tokenizer, number: int) -> DeviceEncoder:
    from tokenmill._cuda.encoder import open_encoder  # not needed on the CPU

    return open_encoder(tokenizer.ready, number)
