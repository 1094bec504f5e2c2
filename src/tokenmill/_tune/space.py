"""What can be set: the choices that this machine has, and the defaults among them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from tokenmill._config.configuration import TABLES
from tokenmill._config.toml import toml_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tokenmill._machine.facts import MachineFacts

_BLOCKS = tuple(1 << n for n in range(20, 26))  # 1 to 32 MiB
_USUAL_BLOCK = 8 << 20
# Of a worker: blocks in their stages, for each byte of a block; and its word tables.
_COPIES = 10
_TABLE_BYTES = 40 << 20


@dataclass(frozen=True)
class TuneSetting:
    """One configuration that is tried; its fields are keys of tokenmill.toml."""

    threads: int
    block_bytes: int
    tables: str
    device: str

    def as_dict(self) -> dict[str, Any]:
        """Return the values by their keys."""
        return asdict(self)

    def changes(self, default: TuneSetting) -> dict[str, Any]:
        """Return the values that differ from the default ones."""
        usual = default.as_dict()
        return {key: value for key, value in self.as_dict().items() if value != usual[key]}

    def as_toml(self) -> str:
        """Write the values as lines of a configuration file."""
        return "\n".join(toml_lines(self.as_dict())) + "\n"


@dataclass(frozen=True)
class TuneSpace:
    """The choices of each key, in order, and the setting that runs without a configuration."""

    choices: Mapping[str, tuple[Any, ...]]
    default: TuneSetting

    @property
    def size(self) -> int:
        """The number of settings."""
        count = 1
        for values in self.choices.values():
            count *= len(values)
        return count

    def grid(self) -> Iterator[TuneSetting]:
        """Yield every setting."""
        for values in product(*self.choices.values()):
            yield TuneSetting(**dict(zip(self.choices, values, strict=True)))


def space_of(machine: MachineFacts) -> TuneSpace:
    """Return what makes sense on a machine: no more threads than it has, blocks that fit."""
    threads = machine.cpu.threads
    room = machine.memory.left // 2 // threads - _TABLE_BYTES
    blocks = tuple(size for size in _BLOCKS if size * _COPIES <= room or size <= _USUAL_BLOCK)
    has_gpu = machine.gpu is not None and not machine.gpu.why_not
    choices = {
        "threads": tuple(range(1, threads + 1)),
        "block_bytes": blocks,
        "tables": TABLES,
        "device": ("cpu", "cuda") if has_gpu else ("cpu",),
    }
    return TuneSpace(choices, TuneSetting(threads, _USUAL_BLOCK, "usual", "cpu"))
