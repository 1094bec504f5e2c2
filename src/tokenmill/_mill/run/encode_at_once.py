"""Blocks -> ids with their ends, by one call of the core that holds no lock of the interpreter.

Every return to the interpreter waits for its lock, and with many workers longer than the work
between two of them. Blocks that need more than the core does here take the long way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokenmill._calls.options import SPECIAL_MODES
from tokenmill._core import BlockRules, CallCounts, Model, TextBuffer
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

    A block that it cannot encode, or in which it finds an error, is None. `counts` gets what the
    core has counted.
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

    def lines(self, raw: RawBlock, counts: CallCounts) -> EncodedBlock | None:
        """Parse and encode a block of JSON lines."""
        if self._has_splits or len(raw.parts) != 1 or raw.parts[0].kind != "jsonl":
            return None
        part = raw.parts[0]
        field = self._fields[part.file]
        try:
            found = self._model.encode_jsonl(part.data, self._made[field], counts)
        except SpecialTokenInText:  # the long way finds its place
            return None
        ids, lengths, *places = found
        if len(lengths) and not lengths.min():  # a document without a token is a bad record
            return None
        lines, begins, bad, numbers = places
        block = encoded_lines(raw, self._rules, field, (lines, begins, bad, numbers))
        return EncodedBlock(block, ids, lengths, None)

    def texts(
        self, block: Block, counts: CallCounts
    ) -> tuple[NDArray[Any], NDArray[np.int64]] | None:
        """Encode the texts of a block, which are UTF-8."""
        try:
            texts = TextBuffer(block.text, block.offsets)
            return self._model.encode_texts(texts, self._made[""], counts)
        except SpecialTokenInText:
            return None


def _core_rules(settings: Settings, rules: ReadRules, field: str) -> BlockRules:
    special = SPECIAL_MODES[settings.special_in_text]
    bits = 16 if settings.dtype == "uint16" else 32
    made = BlockRules(field, *settings.ids_around, special_mode=special, bits=bits)
    made.max_document_bytes = rules.max_document_bytes
    made.max_line_bytes = rules.max_line_bytes
    made.replace_bad_utf8 = "bad_utf8" in rules.replace
    made.replace_lone_surrogate = "lone_surrogate" in rules.replace
    return made
