"""CausalLMTokenizer: the public class. Datasets of text -> rows for a Trainer."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from tokenmill._causal.config import Config, check_overlap, read_config
from tokenmill._causal.context_length import ContextLength, default_context_length
from tokenmill._causal.options import Destination, check_options
from tokenmill._causal.strategy import load_tokenizer
from tokenmill._errors import OptionError
from tokenmill._pack.derive import IGNORE_INDEX

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokenmill._causal.strategy import LoadedTokenizer

_NOT_GIVEN = object()


class CausalLMTokenizer:
    """Text in, rows of `input_ids`, `attention_mask` and `labels` out, ready for a Trainer.

    `config` is the path of a YAML file or a mapping. Its keys may be in a section "tokenizer";
    other sections are left alone. Keyword arguments override it, and
    docs/reference/configuration.md lists the keys. `tokenizer`, as a keyword only, is a tokenizer
    instead of its name: of tokenmill, `tokenizers`, `transformers` or `tiktoken`, or any object
    that has `encode(text)` or is called with a text, and returns ids.

    `tokenizer`, `is_fast` and `context_length` show what a call of `tokenize` will use. The
    tokenizer is loaded when it is needed first.
    """

    def __init__(
        self,
        config: str | os.PathLike[str] | Mapping[str, Any] | None = None,
        *,
        tokenizer: object = _NOT_GIVEN,
        **keywords: Any,  # the keys of the schema, checked by it
    ) -> None:
        given = tokenizer is not _NOT_GIVEN and tokenizer is not None
        self.config: Config = read_config(config, keywords)
        if given and self.config.tokenizer_name is not None:
            raise OptionError(
                f"expected one of tokenizer and tokenizer_name, got both ({tokenizer!r} and "
                f"{self.config.tokenizer_name!r})",
                where="tokenizer",
            )
        # What the tokenizer is loaded from: a name, a path, an object, or None for the built-in.
        self.source: Any = tokenizer if given else self.config.tokenizer_name

    @cached_property
    def loaded(self) -> LoadedTokenizer:
        """The tokenizer and the way it runs."""
        return load_tokenizer(self.source)

    @property
    def tokenizer(self) -> Any:
        """The tokenizer that `tokenize` uses.

        A name is loaded as a `tokenmill.Tokenizer`, or by `transformers` if only it knows the
        name. An object is returned unchanged, except one that the engine reads itself, such as
        an encoding of `tiktoken`.
        """
        return self.loaded.tokenizer

    @property
    def is_fast(self) -> bool:
        """Whether the tokenizer runs in threads; False for one written in Python."""
        return self.loaded.way != "slow"

    @property
    def context_length(self) -> int:
        """The tokens of a row: of the configuration, else chosen for the tokenizer."""
        return self._context_length.tokens

    @property
    def context_length_reason(self) -> str:
        """Why the context length was chosen; "" if it is in the configuration."""
        return self._context_length.reason

    @cached_property
    def _context_length(self) -> ContextLength:
        if self.config.context_length is not None:
            return ContextLength(self.config.context_length)
        chosen = default_context_length(self.source, self.tokenizer)
        check_overlap(self.config.overlap, chosen.tokens)
        return chosen

    def tokenize(
        self,
        dataset: Any,  # of datasets, or paths
        *,
        text_column: str | None = None,
        keep_columns: Sequence[str] = (),
        pack: bool = True,
        tail: Literal["pad", "carry", "drop"] | None = None,
        eos: bool | int | str | None = None,
        bos: bool | int | str | None = None,
        pad: bool | int | str | None = None,
        special_in_text: Literal["text", "encode", "raise"] = "text",
        mask_overlap: bool = False,
        ignore_index: int = IGNORE_INDEX,
        output: str | os.PathLike[str] | None = None,
        format: str | Sequence[str] = "parquet",  # noqa: A002 -- the mill's word
        cache_dir: str | os.PathLike[str] | None = None,
        force: bool = False,
        max_rows: int | None = None,
        max_chunks: int | None = None,
    ) -> Any:  # the kind of what came in
        """Return the rows of a dataset, as the same kind of object; of paths, as a Dataset.

        `dataset` is a Dataset, DatasetDict, IterableDataset or IterableDatasetDict of `datasets`,
        or a path, a glob or a list of them. With `output`, packed shards are written there in the
        mill's `format` instead, and the result is their Manifest.

        `pack=True` cuts rows from one stream for each split, with EOS after each document;
        `pack=False` cuts every document alone. `tail` decides about a row that is too short:
        "pad" (the default) fills it, "carry" leaves it short, "drop" drops and counts it.
        Labels are the ids, with `ignore_index` on padding and, with `mask_overlap`, on tokens
        that the row before has too. docs/guides/fine-tuning.md describes all options.
        """
        options = check_options(
            max_chunks, text_column=text_column, keep_columns=keep_columns, pack=pack, tail=tail,
            eos=eos, bos=bos, pad=pad, special_in_text=special_in_text, mask_overlap=mask_overlap,
            ignore_index=ignore_index, max_rows=max_rows,
        )  # fmt: skip
        destination = Destination(output, format, cache_dir, force)
        if output is not None or _is_path(dataset):
            from tokenmill._causal.tokenize_files import tokenize_files  # brings the mill

            return tokenize_files(self, dataset, options, destination)
        from tokenmill._causal.tokenize_datasets import tokenize_dataset  # pyarrow

        return tokenize_dataset(self, dataset, options, destination)

    def __repr__(self) -> str:
        source = self.source
        name = source if isinstance(source, (str, type(None))) else type(source).__name__
        return (
            f"CausalLMTokenizer({name or 'built-in'!r}, context_length={self.config.context_length}"
            f", overlap={self.config.overlap})"
        )


def _is_path(dataset: object) -> bool:
    if isinstance(dataset, (str, os.PathLike)):
        return True
    is_list = isinstance(dataset, (list, tuple))
    return is_list and all(isinstance(one, (str, os.PathLike)) for one in dataset)  # type: ignore[attr-defined]
