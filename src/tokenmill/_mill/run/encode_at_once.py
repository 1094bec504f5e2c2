"""Blocks -> ids with their ends, by one call of the core that holds no lock of the interpreter.

Every return to the interpreter waits for its lock, and with many workers longer than the work
between two of them. Blocks that need more than the core does here take the long way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokenmill._calls.options import SPECIAL_MODES
from tokenmill._core import BlockRules, Model, TextBuffer
from tokenmill._errors import SpecialTokenInText
from tokenmill._mill.output.parts import EncodedBlock
from tokenmill._read.parse import encoded_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tokenmill._mill.plan.settings import Settings
    from tokenmill._read import Block, RawBlock, ReadRules
    from tokenmill._tokenizer import Tokenizer


class AtOnce:
    """Encodes blocks on the calling thread; many threads may call it.

    A block that it cannot encode, or in which it finds an error, is None.
    """

    def __init__(
        self, model: Model, settings: Settings, rules: ReadRules, fields: Sequence[str]
    ) -> None:
        self._model = model
        self._rules = rules
        self._fields = fields
        self._has_splits = bool(settings.validation)  # a hash of each text decides its split
        self._made = {field: _core_rules(settings, rules, field) for field in {*fields, ""}}

    @classmethod
    def of(
        cls, tokenizer: Tokenizer, settings: Settings, rules: ReadRules, fields: Sequence[str]
    ) -> AtOnce | None:
        """Return one, or None if the tokenizer has no model of ours."""
        model = tokenizer.ready.model
        return cls(model, settings, rules, fields) if isinstance(model, Model) else None

    def lines(self, raw: RawBlock) -> EncodedBlock | None:
        """Parse and encode a block of JSON lines."""
        if self._has_splits or len(raw.parts) != 1 or raw.parts[0].kind != "jsonl":
            return None
        part = raw.parts[0]
        field = self._fields[part.file]
        try:
            found = self._model.encode_jsonl(part.data, self._made[field])
        except SpecialTokenInText:  # the long way finds its place
            return None
        ids, lengths, lines, begins, bad, counts = found
        if len(lengths) and not lengths.min():  # a document without a token is a bad record
            return None
        block = encoded_lines(raw, self._rules, field, (lines, begins, bad, counts))
        return EncodedBlock(block, ids, lengths, None)

    def texts(self, block: Block) -> tuple[NDArray[Any], NDArray[np.int64]] | None:
        """Encode the texts of a block, which are UTF-8."""
        try:
            return self._model.encode_texts(TextBuffer(block.text, block.offsets), self._made[""])
        except SpecialTokenInText:
            return None


def _core_rules(settings: Settings, rules: ReadRules, field: str) -> BlockRules:
    before = [] if settings.bos_id is None else [settings.bos_id]
    after = [] if settings.eos_id is None else [settings.eos_id]
    special = SPECIAL_MODES[settings.special_in_text]
    bits = 16 if settings.dtype == "uint16" else 32
    made = BlockRules(field, before, after, special_mode=special, bits=bits)
    made.max_document_bytes = rules.max_document_bytes
    made.max_line_bytes = rules.max_line_bytes
    made.replace_bad_utf8 = "bad_utf8" in rules.replace
    made.replace_lone_surrogate = "lone_surrogate" in rules.replace
    return made
