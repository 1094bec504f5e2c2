"""How tokens are written: a vocabulary's own strings <-> the bytes that the core knows."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from tokenmill._core import Model
from tokenmill._errors import UnknownId
from tokenmill._load.byte_level import ALPHABET, bytes_of_tokens

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokenmill._decode import Decoder
    from tokenmill._reference.model import ReferenceModel


class Spelling:
    """Looks tokens up by name.

    A tokenizer.json spells bytes as printable characters; rank files hold the bytes themselves.
    """

    def __init__(
        self, model: Model | ReferenceModel, meta: Mapping[str, Any], decoder: Decoder
    ) -> None:
        self._model = model
        self._decoder = decoder
        self._added: dict[str, int] = dict(meta["added_tokens"])
        self._content = {token_id: content for content, token_id in self._added.items()}
        self._uses_alphabet = meta["spelling"] == "alphabet"
        self._uses_texts = meta["spelling"] == "texts"

    def token_to_id(self, token: str | bytes) -> int | None:
        """Find a token by its string, or by its bytes; None if there is no such token."""
        if isinstance(token, str) and token in self._added:
            return self._added[token]
        if not isinstance(self._model, Model):
            text = token if isinstance(token, str) else token.decode(errors="replace")
            return self._model.library.token_to_id(text)
        if isinstance(token, bytes):
            return self._find(token)
        if self._uses_texts:
            return self._ids.get(token)
        return self._find_text(token)

    def id_to_token(self, token_id: int) -> str:
        """Write a token as its vocabulary does."""
        if token_id in self._content:
            return self._content[token_id]
        if not isinstance(self._model, Model):
            token = self._model.library.id_to_token(token_id)
            if token is None:
                raise _unknown(token_id)
            return token
        if self._uses_texts:
            return self._text_of(token_id)
        data = self.token_bytes(token_id)
        # An entry that the alphabet cannot write is held as its own UTF-8 and found by no bytes.
        if self._uses_alphabet and self._model.token_id(data) == token_id:
            return "".join([ALPHABET[byte] for byte in data])
        return data.decode(errors="replace")

    def token_bytes(self, token_id: int) -> bytes:
        """Return the bytes that an id decodes to; UnknownId for a hole as well."""
        if not 0 <= token_id < self._model.vocab_size:
            raise _unknown(token_id)
        data = self._decoder.token_bytes(token_id)
        if not data and not self._uses_texts:
            raise _unknown(token_id)
        return data

    @cached_property
    def _ids(self) -> dict[str, int]:
        """Ids by text, where the core's table holds texts; made when first asked for."""
        texts = ((self._model.token_bytes(i).decode(), i) for i in range(self._model.vocab_size))
        return {text: token_id for text, token_id in texts if text}

    def _text_of(self, token_id: int) -> str:
        if not 0 <= token_id < self._model.vocab_size:
            raise _unknown(token_id)
        text: str = self._model.token_bytes(token_id).decode()
        if not text:
            raise _unknown(token_id)
        return text

    def _find(self, data: bytes) -> int | None:
        assert isinstance(self._model, Model)  # noqa: S101 -- for the type checker
        token_id = self._model.token_id(data)
        return token_id if token_id >= 0 else None

    def _find_text(self, token: str) -> int | None:
        if not self._uses_alphabet:
            return self._find(token.encode("utf-8", "surrogatepass"))
        data = bytes_of_tokens([token])[0]
        if data is not None:
            return self._find(data)
        return self._find_strange(token)

    def _find_strange(self, token: str) -> int | None:
        """Search the entries that the alphabet cannot write; there are few, and few ask."""
        wanted = token.encode("utf-8", "surrogatepass")
        for token_id in range(self._model.vocab_size):
            if self._model.token_bytes(token_id) == wanted and self.id_to_token(token_id) == token:
                return token_id
        return None


def _unknown(token_id: int) -> UnknownId:
    return UnknownId(f"no token has the id {token_id}", id=token_id)
