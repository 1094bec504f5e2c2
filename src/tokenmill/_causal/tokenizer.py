"""CausalLMTokenizer: the face. A configuration, and datasets of text -> rows for a Trainer."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal

from tokenmill._causal.config import Config, read_config
from tokenmill._causal.options import IGNORE_INDEX, check_options, check_places
from tokenmill._errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_NOT_GIVEN = object()


class CausalLMTokenizer:
    """Text in, rows of `input_ids`, `attention_mask` and `labels` out, ready for a Trainer.

    `config` is the path of a YAML file or a mapping, with or without an outer key "tokenizer";
    keyword arguments override it. `context_length` is required; docs/reference/configuration.md
    lists the keys. `tokenizer`, as a keyword only, is a tokenizer instead of its name: of
    tokenmill, `tokenizers`, `transformers` or `tiktoken`, or any object with `encode(text)` or
    that is called with a text and gives ids.
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
        or a path, a glob or a list of them. With `output`, packed shards are written below it in
        the mill's `format` instead, and the result is their Manifest.

        `pack=True` cuts one stream for each split, documents with EOS behind each, into rows;
        neighbours share `overlap` tokens. `pack=False` cuts every document by itself. `tail`
        says what becomes of a row that is too short, at the end of the stream or of a document:
        "pad" (the default) fills it, "carry" leaves it short, "drop" drops it and says how much.
        `eos`, `bos`, `pad`, `special_in_text` are those of the mill: EOS on, BOS off, padding
        with the tokenizer's own token or EOS, special tokens' texts are text like any other.

        Labels are the ids, with `ignore_index` on padding and, with `mask_overlap`, on tokens that
        repeat those of the row before, so that no token counts twice.

        `text_column` is found where there is one column of strings, or one called "text".
        `keep_columns`, only with `pack=False`, are repeated for every row of their document.
        `cache_dir` keeps the result, and finds it there the next time unless `force` is given.
        Without it, results of up to 256 MiB stay in memory, larger ones in a temporary file.
        `max_rows` (or `max_chunks`) ends each split after that many rows.
        """
        options = check_options(
            text_column=text_column,
            keep_columns=keep_columns,
            pack=pack,
            tail=tail,
            eos=eos,
            bos=bos,
            pad=pad,
            special_in_text=special_in_text,
            mask_overlap=mask_overlap,
            ignore_index=ignore_index,
            max_rows=max_rows,
            max_chunks=max_chunks,
        )
        check_places(output=output, cache_dir=cache_dir, force=force)
        if output is not None or _is_path(dataset):
            from tokenmill._causal.files import tokenize_files  # brings the mill

            return tokenize_files(
                self,
                dataset,
                options,
                output=output,
                format=format,
                cache_dir=cache_dir,
                force=force,
            )
        from tokenmill._causal.datasets_face import tokenize_dataset  # pyarrow

        return tokenize_dataset(self, dataset, options, cache_dir=cache_dir, force=force)

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
