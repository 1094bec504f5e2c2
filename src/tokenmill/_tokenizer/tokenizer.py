"""`Tokenizer`: methods over a model, and no state that changes."""

from __future__ import annotations

from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias, overload

from tokenmill._model.known import find_known
from tokenmill._model.ready import chosen_tables
from tokenmill._tokenizer.parts import Parts, in_core, origin_of
from tokenmill._tokenizer.prompts import PromptCalls

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping
    from mmap import mmap

    import numpy as np
    from numpy.typing import ArrayLike, NDArray
    from typing_extensions import Unpack

    from tokenmill._calls.batch import TokenBatch
    from tokenmill._calls.encoded import EncodedBatch
    from tokenmill._decode import DecodeStream, DecodeStreams
    from tokenmill._model.describe import Description
    from tokenmill._model.ready import Ready
    from tokenmill._post import BatchOptions, ResultOptions, RowOptions
    from tokenmill._post.request import Dtype, Errors, RowDtype, SpecialInText, Strategy
    from tokenmill._stats import RunStats
    from tokenmill._tokenizer.session import Session

    Text: TypeAlias = str | bytes | bytearray | memoryview | mmap


class Tokenizer(PromptCalls):
    """An exact, fast tokenizer. Make one with `Tokenizer.load`.

    Immutable and safe to use from many threads and after a fork; every option is an argument of
    the call. Options that several methods share:

    `add_special_tokens` adds the tokens that the tokenizer puts around a text, such as `<s>`.
    `special_in_text` decides what happens to the text of a special token inside a text: "encode"
    makes it the token, "text" treats it like any other text, "raise" raises SpecialTokenInText.
    T5, XLM-R and ALBERT have words that are control tokens: "text" gives those ids, too, and
    `encode_parts` does not.
    `errors` decides what happens to bytes that are not UTF-8: "strict" raises InvalidUtf8,
    "replace" encodes U+FFFD instead, as `bytes.decode` would.
    `threads` is the number of threads; None uses every CPU that this process may use: the least of
    CPU affinity, control-group quota and TOKENMILL_THREADS.
    `timeout`: a call that takes longer than so many seconds ends with DeadlineExceeded.
    """

    __slots__ = ("__weakref__", "_encode", "_model", "_parts", "ready")

    _encode: Callable[..., NDArray[np.uint32]]
    _model: Any
    _parts: Parts
    ready: Ready  # for other rooms of the package, e.g. _cuda

    def __init__(self, ready: Ready, origin: object = None) -> None:
        put = object.__setattr__
        ready.holders.add(self)
        put(self, "ready", ready)
        put(self, "_model", ready.model)
        put(self, "_encode", ready.model.encode)
        put(self, "_parts", Parts(ready, origin))

    @classmethod
    def load(
        cls,
        source: str | os.PathLike[str] | object | None = None,
        *,
        pattern: str | None = None,
        special_tokens: Mapping[str, int] | None = None,
        tables: Literal["usual", "small", "tiny"] | None = None,
    ) -> Tokenizer:
        """Load a tokenizer; without a source, the one that ships in the package.

        `source` is a tokenizer.json, a directory that holds one, a tekken.json, a `.tiktoken`
        file, a `.mill` file, a hub id ("owner/name", "gpt2"), or a tokenizer that `tokenizers`,
        `transformers` or `tiktoken` has loaded. `pattern` (a published encoding's name or a
        regular expression) and `special_tokens` are for `.tiktoken` files, which hold neither.
        `tables` sizes the tables of words that speed encoding up: about 39, 10 or 1 MB a thread;
        None is what the file of TOKENMILL_CONFIG says, else "usual".

        Tokenizers of equal content share one model in a process (see `tokenmill.memory`).
        """
        size = chosen_tables(tables)
        ready = find_known(source, pattern, special_tokens, size)
        if ready is None:
            from tokenmill._model.resolve import Request, resolve  # reads and compiles

            ready = resolve(Request(source, pattern, special_tokens, size), stacklevel=2)
        import_module("numpy")  # now, so that the first call does not wait for it
        return cls(ready, origin_of(source))

    @in_core
    def encode(
        self,
        text: Text,
        *,
        add_special_tokens: bool = False,
        special_in_text: SpecialInText = "encode",
        errors: Errors = "strict",
        pair: Text | None = None,
        truncation: Strategy | None = None,
        max_length: int | None = None,
        truncation_side: Literal["right", "left"] = "right",
        timeout: float | None = None,
    ) -> NDArray[np.uint32]:
        """Return the ids of one text, or of a text and the `pair` that goes with it.

        A text of a megabyte or more is shared between threads, as in `encode_batch`.
        `truncation`, `max_length` and `truncation_side` are those of `encode_batch`.
        """
        if pair is None and truncation is None and max_length is None:
            if special_in_text == "encode" and errors == "strict" and timeout is None:
                return self._encode(text, add_special_tokens)
            batches = self._parts.batches
            special, policy = batches.modes(special_in_text, errors)
            return self._encode(text, add_special_tokens, special, policy, batches.stop(timeout))
        return self.encode_batch(
            [text],
            threads=1,
            add_special_tokens=add_special_tokens,
            special_in_text=special_in_text,
            errors=errors,
            pairs=None if pair is None else [pair],
            truncation=truncation,
            max_length=max_length,
            truncation_side=truncation_side,
            timeout=timeout,
        ).ids

    @overload
    def encode_batch(
        self,
        texts: Iterable[Text] | Any,  # or an Arrow array of any library
        **options: Unpack[BatchOptions],
    ) -> TokenBatch: ...
    @overload
    def encode_batch(
        self,
        texts: Iterable[Text] | Any,  # or an Arrow array of any library
        **options: Unpack[RowOptions],
    ) -> EncodedBatch: ...
    def encode_batch(
        self,
        texts: Iterable[Text] | Any,
        *,
        threads: int | None = None,
        dtype: Dtype | RowDtype = "uint32",
        add_special_tokens: bool = False,
        special_in_text: SpecialInText = "encode",
        errors: Errors = "strict",
        offsets: Literal["char", "byte"] | None = None,
        device: str = "cpu",
        timeout: float | None = None,
        stats: bool = False,
        **results: Unpack[ResultOptions],
    ) -> TokenBatch | EncodedBatch:
        """Return the ids of many texts: a list, or an Arrow array of strings (not copied).

        `offsets`: "char" or "byte" adds `spans`, the (begin, end) that every id covers in its text,
        in characters or in bytes of UTF-8; tokens around a text have (0, 0).
        `device`: "cuda" or "cuda:1" encodes there, "auto" does if it can (else see `reason`).
        `stats`: the result gets `stats`, a RunStats: where the time of this call went.

        Each of these options makes the result an EncodedBatch, the rows that a model takes:

        `pairs`: as many second texts, each of which goes into the row of its text.
        `truncation`: "longest_first", "only_first" or "only_second" cuts rows to `max_length`
        tokens, special ones included, on the `truncation_side`, "right" or "left".
        `return_overflowing`: the rest follows in rows of its own, windows that each share `stride`
        tokens with the one before.
        `padding`: "longest" or "max_length" fills rows up to one length, rounded up to
        `pad_to_multiple_of`, with `pad_id` and `pad_type_id`, on the `padding_side`.
        `return_type_ids`, `return_special_mask`, `return_attention_mask` (on with padding).

        The `dtype` of such a result may also be "int64" or "int32".
        """
        encode = self._parts.encode_counted if stats else self._parts.batches.encode
        return encode(
            texts,
            threads=threads,
            dtype=dtype,
            add_special_tokens=add_special_tokens,
            special_in_text=special_in_text,
            errors=errors,
            offsets=offsets,
            device=device,
            timeout=timeout,
            results=results,
        )

    def encode_into(
        self,
        texts: Iterable[Text] | Any,
        out: NDArray[Any],
        *,
        threads: int | None = None,
        add_special_tokens: bool = False,
        special_in_text: SpecialInText = "encode",
        errors: Errors = "strict",
    ) -> NDArray[np.int64]:
        """Write the ids of many texts into `out` (uint32 or uint16) and return their offsets.

        OutputTooSmall if they do not fit; what `out` holds then is not defined.
        """
        batches = self._parts.batches
        shared = batches.shared(add_special_tokens, special_in_text, errors, threads)
        return batches.encode_into(texts, out, shared)

    def count(
        self,
        text: Text,
        limit: int | None = None,
        *,
        add_special_tokens: bool = False,
        special_in_text: SpecialInText = "encode",
        errors: Errors = "strict",
        timeout: float | None = None,
    ) -> int:
        """Return the number of ids of one text; with `limit`, `limit + 1` means more."""
        if limit is timeout is None and special_in_text == "encode" and errors == "strict":
            return int(self._model.count(text, add_special_tokens))
        batches = self._parts.batches
        shared = batches.for_one(add_special_tokens, special_in_text, errors, timeout=timeout)
        return batches.count_one(text, limit, shared)

    def count_batch(
        self,
        texts: Iterable[Text] | Any,
        limit: int | None = None,
        *,
        threads: int | None = None,
        add_special_tokens: bool = False,
        special_in_text: SpecialInText = "encode",
        errors: Errors = "strict",
        timeout: float | None = None,
    ) -> NDArray[np.int64]:
        """Return the number of ids of each text; `limit` is as in `count`."""
        batches = self._parts.batches
        shared = batches.shared(add_special_tokens, special_in_text, errors, threads, timeout)
        return batches.count(texts, limit, shared)

    def session(
        self,
        *,
        add_special_tokens: bool = False,
        special_in_text: SpecialInText = "encode",
        errors: Errors = "strict",
        max_bytes: int | None = None,
    ) -> Session:
        """Return an empty text that grows, with its ids after every change.

        `max_bytes`: more text raises TextTooLong.
        """
        from tokenmill._tokenizer.session import open_session  # few jobs need it

        return open_session(self._model, add_special_tokens, special_in_text, errors, max_bytes)

    def decode(
        self,
        ids: ArrayLike,
        *,
        skip_special_tokens: bool = False,
        clean_up: bool = False,
        errors: str = "replace",
    ) -> str:
        """Return the text of ids.

        `skip_special_tokens` leaves special tokens out. `clean_up` removes the blanks before
        punctuation and English endings, as `clean_up_tokenization_spaces` does. `errors` is that
        of `bytes.decode`, for half a character, if ids are bytes; decoders that work on text write
        U+FFFD themselves.
        """
        return self._parts.decoding.decode(ids, skip_special_tokens, clean_up, errors)

    def decode_bytes(self, ids: ArrayLike, *, skip_special_tokens: bool = False) -> bytes:
        """Return the bytes of ids; where the decoder works on text, the UTF-8 of its text."""
        return self._parts.decoding.decode_bytes(ids, skip_special_tokens)

    def decode_batch(
        self,
        batch: TokenBatch | Iterable[ArrayLike],
        *,
        skip_special_tokens: bool = False,
        clean_up: bool = False,
        errors: str = "replace",
    ) -> list[str]:
        """Return the text of each row of ids; the options are those of `decode`."""
        return self._parts.decoding.decode_batch(batch, skip_special_tokens, clean_up, errors)

    def decode_stream(
        self, *, skip_special_tokens: bool = False, clean_up: bool = False
    ) -> DecodeStream:
        """Return a stream that turns ids into text as they come."""
        return self._parts.decoding.stream(skip_special_tokens, clean_up)

    def decode_streams(
        self, n: int, *, skip_special_tokens: bool = False, clean_up: bool = False
    ) -> DecodeStreams:
        """Return `n` streams that take an id each in one call."""
        return self._parts.decoding.streams(n, skip_special_tokens, clean_up)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a tokenizer.json that the library `tokenizers` loads, with the same ids and text.

        A tokenizer.json or a SentencePiece `.model` is written as it was; rank files become a
        tokenizer.json. So does a `.model` whose `path` ends in .json, if that can be exact.
        """
        from tokenmill._model.save import save  # brings the compiler

        save(self.ready, path)

    def token_to_id(self, token: str | bytes) -> int | None:
        """Return the id of a token, as `id_to_token` writes it or as bytes; None if unknown."""
        return self._parts.spelling.token_to_id(token)

    def id_to_token(self, token_id: int) -> str:
        """Return a token as its vocabulary writes it.

        For a tokenizer.json that is the string in the file, where a byte-level vocabulary spells
        a space as U+0120; for rank files it is the token's text, with U+FFFD for half a character.
        """
        return self._parts.spelling.id_to_token(token_id)

    def token_bytes(self, token_id: int) -> bytes:
        """Return the bytes that one id decodes to."""
        return self._parts.spelling.token_bytes(token_id)

    @property
    def name(self) -> str:
        """Where it came from: the name of its file, directory or repository."""
        return str(self.ready.meta["name"])

    @property
    def vocab_size(self) -> int:
        """One more than the largest id."""
        return int(self._model.vocab_size)

    @property
    def special_tokens(self) -> Mapping[str, int]:
        """Ids of the special tokens by their text."""
        return MappingProxyType(self.ready.meta["special_tokens"])

    def memory(self) -> dict[str, int]:
        """Return bytes mapped, resident, in tables and in caches; empty on the reference path."""
        return dict(self._model.memory())

    def stats(self) -> RunStats:
        """Return the counters of all calls so far, of all tokenizers that share the model."""
        return self._parts.stats()

    def release(self) -> int:
        """Give back the tables of workers that do nothing; return how many bytes that were.

        The next calls make new ones. Tokenizers that share the model share its workers.
        """
        return int(self._model.release())

    def describe(self) -> Description:
        """Describe which split, normalizer and path this tokenizer uses, and why."""
        from tokenmill._model.describe import Description

        return Description.from_meta(self.ready.meta, self.vocab_size, self._model.target)

    def __repr__(self) -> str:
        return f"Tokenizer({self.name!r}, {self.vocab_size} ids, {self.ready.meta['path']})"

    def __reduce__(self) -> tuple[Any, ...]:
        from tokenmill._tokenizer.pickled import reduce

        return reduce(self.ready, self._parts.chat_source())

    def __copy__(self) -> Tokenizer:
        return self

    def __deepcopy__(self, _memo: object) -> Tokenizer:
        return self

    def __setattr__(self, name: str, _value: object) -> NoReturn:
        raise AttributeError(f"a Tokenizer cannot be changed: {name!r}; options go to the calls")

    def __delattr__(self, name: str) -> NoReturn:
        self.__setattr__(name, None)
