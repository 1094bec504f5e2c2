"""Settings: everything that decides the bytes of a run, checked, resolved, and comparable."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from tokenmill._checks import one_of
from tokenmill._errors import Hint, Option, OptionError
from tokenmill._pack import STRATEGIES, Packer
from tokenmill._read.blocks import REASONS
from tokenmill._write import FORMATS, find_format

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

POLICIES = ("quarantine", "skip", "replace", "fail")
REPAIRABLE = ("bad_utf8", "lone_surrogate")
DEFAULT_POLICIES = dict.fromkeys(REASONS, "quarantine") | {
    "empty_text": "skip",
    "bad_file": "fail",
}
SHARD_TOKENS = 1 << 25
TAILS = ("carry", "pad", "drop")


@dataclass(frozen=True)
class Settings:
    """What decides the bytes of a run, apart from its inputs and its tokenizer."""

    formats: tuple[str, ...]
    pack: str
    context_length: int | None
    overlap: int
    long_documents: str
    tail: str
    eos_id: int | None
    bos_id: int | None
    pad_id: int | None
    max_id: int
    dtype: str
    special_in_text: Literal["text", "encode", "raise"]
    shard_tokens: int
    shuffle: str
    seed: int
    validation: float
    max_tokens: int | None
    max_sequences: int | None
    limit_documents: int | None
    policies: tuple[tuple[str, str], ...]

    def packer(self) -> Packer:
        """Return the packer of documents, for every strategy except concat."""
        # Making one checked the settings, so the strings below are valid choices.
        return Packer(
            self.pack,  # type: ignore[arg-type]
            self.context_length,
            overlap=self.overlap,
            long=self.long_documents,  # type: ignore[arg-type]
            tail=self.tail,  # type: ignore[arg-type]
        )

    @property
    def ids_around(self) -> tuple[list[int], list[int]]:
        """The ids before and after each document: BOS and EOS."""
        before = [] if self.bos_id is None else [self.bos_id]
        return before, [] if self.eos_id is None else [self.eos_id]

    def file_split(self, split: str) -> str:
        """Return the part of file names that names a split: empty if there is only one."""
        return split if self.validation else ""

    def policy(self, reason: str) -> str:
        """Return the policy for records that are bad for this reason."""
        return dict(self.policies).get(reason, "skip")

    def as_json(self) -> dict[str, Any]:
        """Return the settings as plain values, for a record."""
        value = asdict(self)
        return {**value, "formats": list(self.formats), "policies": dict(self.policies)}


def resolve_formats(formats: str | Sequence[str]) -> tuple[str, ...]:
    """Check the names of formats, given as a list or separated by commas."""
    names = formats.split(",") if isinstance(formats, str) else list(formats)
    names = [name.strip() for name in names]
    for name in names:
        find_format(name)
    if not names or len(set(names)) != len(names):
        raise OptionError(
            f"expected one or more formats, each once, got {formats!r}", where="format"
        )
    return tuple(names)


def resolve_pack(
    pack: str | None, context_length: int | None, formats: Sequence[str]
) -> tuple[str, int | None]:
    """Choose how to pack: as asked for, or the default of the first format."""
    chosen = pack or FORMATS[formats[0]].default_pack
    if pack is None and context_length is None:
        chosen = "none" if not any(FORMATS[name].fixed_rows for name in formats) else chosen
    one_of("pack", chosen, STRATEGIES)
    if chosen == "none":
        return chosen, None
    if context_length is None:
        raise OptionError(
            f"{chosen} needs a row length",
            where="context_length",
            hint=Hint(
                "give it, e.g. {}, or pass {} to keep documents as they are",
                Option("context_length", 4096),
                Option("pack", "none"),
            ),
        )
    return chosen, context_length


def resolve_tail(tail: str | None, pack: str, formats: Sequence[str]) -> str:
    """Choose what to do with the last, short row: keep it if every format can store it."""
    if tail is not None:
        return one_of("tail", tail, TAILS)
    if pack == "concat" and any(FORMATS[name].fixed_rows for name in formats):
        return "pad"
    return "carry"


def resolve_policies(policies: Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    """Fill in the policies that are not given; refuse unknown reasons and policies."""
    chosen = dict(DEFAULT_POLICIES)
    for reason, policy in (policies or {}).items():
        if reason not in chosen:
            raise OptionError(
                f"unknown reason {reason!r}", where="policies", hint="one of " + ", ".join(REASONS)
            )
        if policy not in POLICIES or (policy == "replace" and reason not in REPAIRABLE):
            able = [p for p in POLICIES if p != "replace" or reason in REPAIRABLE]
            raise OptionError(
                f"{reason}: expected one of {', '.join(able)}, got {policy!r}", where="policies"
            )
        chosen[reason] = policy
    return tuple(sorted(chosen.items()))
