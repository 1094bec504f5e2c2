"""Blocks of JSON lines -> ids, by one call of the core that holds no lock of the interpreter.

Every return to the interpreter waits for its lock, and with many workers longer than the work
between two of them. Blocks that need more than the core does here take the long way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill._calls.options import SPECIAL_MODES
from tokenmill._core import JsonlRules, Model
from tokenmill._errors import SpecialTokenInText
from tokenmill._mill.output.parts import EncodedBlock
from tokenmill._read.parse import encoded_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenmill._mill.plan.settings import Settings
    from tokenmill._read import RawBlock, ReadRules
    from tokenmill._tokenizer import Tokenizer


class LineEncoder:
    """Parses and encodes blocks that are lines of JSON; many threads may call it."""

    def __init__(
        self, tokenizer: Tokenizer, settings: Settings, rules: ReadRules, fields: Sequence[str]
    ) -> None:
        self._model = tokenizer.ready.model
        self._rules = rules
        self._fields = fields
        is_ours = isinstance(self._model, Model)
        # A hash of each text decides its dataset split.
        self._can = is_ours and not settings.validation
        self._made = {field: _core_rules(settings, rules, field) for field in set(fields)}

    def __call__(self, raw: RawBlock) -> EncodedBlock | None:
        """Return the ids of a block, or None if it has to take the long way."""
        if not self._can or len(raw.parts) != 1 or raw.parts[0].kind != "jsonl":
            return None
        part = raw.parts[0]
        field = self._fields[part.file]
        try:
            found = self._model.encode_jsonl(part.data, self._made[field])
        except SpecialTokenInText:  # the long way finds its place
            return None
        ids, lengths, *places = found
        if len(lengths) and not lengths.min():  # a document without a token is a bad record
            return None
        block = encoded_lines(raw, self._rules, field, tuple(places))
        return EncodedBlock(block, ids, lengths, None)


def _core_rules(settings: Settings, rules: ReadRules, field: str) -> JsonlRules:
    before = [] if settings.bos_id is None else [settings.bos_id]
    after = [] if settings.eos_id is None else [settings.eos_id]
    special = SPECIAL_MODES[settings.special_in_text]
    bits = 16 if settings.dtype == "uint16" else 32
    made = JsonlRules(field, before, after, special_mode=special, bits=bits)
    made.max_document_bytes = rules.max_document_bytes
    made.max_line_bytes = rules.max_line_bytes
    made.replace_bad_utf8 = "bad_utf8" in rules.replace
    made.replace_lone_surrogate = "lone_surrogate" in rules.replace
    return made
