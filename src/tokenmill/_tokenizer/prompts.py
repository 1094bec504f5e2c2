"""The calls of `Tokenizer` for those who build prompts: parts, conversations, batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from mmap import mmap
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from tokenmill._post.request import Errors, RowOptions
    from tokenmill._tokenizer.budget import BudgetBatches
    from tokenmill._tokenizer.chat import Conversations
    from tokenmill._tokenizer.parts import Parts

    Messages: TypeAlias = Sequence[Mapping[str, Any]] | Sequence[Any]  # dicts, or like them
    PartText: TypeAlias = str | bytes | bytearray | memoryview | mmap


class PromptCalls:
    """Methods over the parts of a tokenizer."""

    __slots__ = ()

    _parts: Parts

    def encode_parts(
        self,
        parts: Iterable[tuple[PartText, bool]],
        *,
        control: Sequence[str] = (),
        add_special_tokens: bool = False,
        errors: Errors = "strict",
    ) -> NDArray[np.uint32]:
        """Return the ids of a text given in parts, each with whether it is trusted.

        Special tokens, and added tokens named in `control`, count only where all of their text is
        trusted; elsewhere they are text, as with `special_in_text="text"`. Where there are none,
        the ids are those of `encode` for the joined text.
        """
        return self._parts.trusted.encode(
            parts, control=control, add_special_tokens=add_special_tokens, errors=errors
        )

    def chat(
        self,
        messages: Messages,
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        documents: Sequence[Mapping[str, Any]] | None = None,
        template: str | Path | None = None,
        add_generation_prompt: bool | None = None,
        continue_final_message: bool | str = False,
        trusted: Literal["template", "all"] = "template",
        control: Sequence[str] = (),
        **variables: Any,
    ) -> NDArray[np.uint32]:
        """Return the ids of a conversation, as its chat template writes it (needs jinja2).

        `messages`, `tools`, `documents` and `variables` are what the template sees.
        `template` is one of the tokenizer's templates by name, the text of another one, or a
        `Path`; None takes the usual one, which `Tokenizer.load` has found next to the tokenizer.
        `add_generation_prompt` opens the answer, unless `continue_final_message` leaves the final
        message open instead (its "content", or the field that is named).
        `trusted`: "template" makes control tokens only of what the template writes itself, never
        of what it is given; "all" also of that, as `transformers` does. Control tokens are the
        special tokens, added tokens that the template names, and those in `control`.
        """
        chat = self._parts.chat
        rendered = chat.rendered(
            messages,
            tools=tools,
            documents=documents,
            template=template,
            add_generation_prompt=add_generation_prompt,
            continue_final_message=continue_final_message,
            **variables,
        )
        return chat.encode(rendered, trusted, control)

    def render_chat(self, messages: Messages, **options: Any) -> str:
        """Return the text of a conversation; the options are those of `chat` that change it."""
        return str.__str__(self._parts.chat.rendered(messages, **options).text)

    @property
    def conversations(self) -> Conversations:
        """The steps of `chat`, for a service that measures each of them."""
        return self._parts.chat

    def batches(
        self,
        texts: Iterable[PartText],
        *,
        max_tokens: int,
        max_rows: int | None = None,
        bucket: int = 4096,
        too_long: Literal["error", "alone"] = "error",
        **options: Unpack[RowOptions],
    ) -> BudgetBatches:
        """Return an iterator over padded batches of texts of like length.

        The rows of a batch times its longest row, rounded up to `pad_to_multiple_of`, are at most
        `max_tokens`, and its rows at most `max_rows`. `bucket` texts at a time are taken from
        `texts` and sorted by length. A text that is longer than the budget raises EncodeError, or
        with `too_long="alone"` is a batch of its own; nothing is cut unless `truncation` says so.
        The `options` are those of `encode_batch` for rows; `dtype` is "int64" unless given.

        Each batch has its arrays, the numbers of its texts in `rows`, and the share of tokens that
        are not padding in `fill`. `restore(outputs)` of the iterator puts results back in order.
        """
        return self._parts.budget_batches(texts, (max_tokens, max_rows, bucket, too_long), options)
