"""Which tokenizer a source is, and how it runs in parallel."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tokenmill._causal.cores import process_count, thread_count
from tokenmill._causal.encoders import Encoder, FastEncoder, NativeEncoder
from tokenmill._causal.vocabulary import is_transformers
from tokenmill._errors import (
    LoadError,
    MissingDependency,
    OptionError,
    SourceNotFound,
    UnsupportedTokenizer,
)
from tokenmill._tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokenmill._causal.config import Config
    from tokenmill._causal.log import Log
    from tokenmill._post.request import SpecialInText

_CANNOT = (LoadError, MissingDependency, SourceNotFound, UnsupportedTokenizer)


@dataclass(frozen=True)
class LoadedTokenizer:
    """A tokenizer and the way it runs.

    "native": our engine, in its threads. "fast": the library `tokenizers`, in its own threads.
    "slow": a tokenizer written in Python, in worker processes.
    """

    tokenizer: Any
    way: Literal["native", "fast", "slow"]


def load_tokenizer(source: Any) -> LoadedTokenizer:
    """Load a tokenizer by its name, or take the object that is one, and choose how it runs."""
    tokenizer = _loaded(source) if source is None or _is_name(source) else source
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if _is_encoding(tokenizer) or _is_drop_in(backend):
        tokenizer = Tokenizer.load(backend)
    if isinstance(tokenizer, Tokenizer):
        return LoadedTokenizer(tokenizer, "native")
    if hasattr(backend, "encode_batch_fast") and hasattr(backend, "get_added_tokens_decoder"):
        return LoadedTokenizer(tokenizer, "fast")
    if not (callable(tokenizer) or callable(getattr(tokenizer, "encode", None))):
        raise OptionError(
            "expected a tokenizer: one of tokenmill, tokenizers, transformers or tiktoken, or an "
            f"object with encode(text), got {type(tokenizer).__name__}",
            where="tokenizer",
        )
    return LoadedTokenizer(tokenizer, "slow")


def make_encoder(
    loaded: LoadedTokenizer, config: Config, special: SpecialInText, log: Log
) -> Encoder:
    """Return the encoder for a tokenizer, and log what the configuration cannot change."""
    tokenizer = loaded.tokenizer
    if loaded.way == "slow":
        return _slow(tokenizer, config, special, log)
    if config.num_proc is not None:
        log.info(f"num_proc={config.num_proc} is ignored: a {loaded.way} tokenizer uses threads")
    if loaded.way == "native":
        return NativeEncoder(tokenizer, thread_count(), special)
    log.debug("tokenmill.Tokenizer.load(tokenizer) may give the same ids natively")
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    return FastEncoder(backend, thread_count(), special)


def performance_line(encoder: Encoder, batch_size: int) -> str:
    """Return the line that describes how the work is done."""
    processes = "" if encoder.num_proc is None else f"num_proc={encoder.num_proc}, "
    return (
        f"Performance configuration: batch_size={batch_size}, {processes}"
        f"parallelism={encoder.parallelism}"
    )


def _loaded(source: Any) -> Any:
    """Load by name: natively, or with `transformers` if only it knows the tokenizer."""
    try:
        return Tokenizer.load(source)
    except _CANNOT:
        if source is None or find_spec("transformers") is None or not _may_be_slow(source):
            raise
        found = _from_transformers(source)
        if found is None:
            raise
        return found


def _may_be_slow(source: Any) -> bool:
    """Whether `transformers` could know it: a hub id, or a folder with its settings."""
    path = Path(source)
    return not path.exists() or (path / "tokenizer_config.json").is_file()


def _from_transformers(source: Any) -> Any:
    try:
        return import_module("transformers").AutoTokenizer.from_pretrained(os.fspath(source))
    except Exception:
        return None


def _slow(tokenizer: Any, config: Config, special: SpecialInText, log: Log) -> Encoder:
    from tokenmill._causal.slow_encoder import SlowEncoder  # multiprocessing

    name = type(tokenizer).__name__
    if special != "encode" and not is_transformers(tokenizer):
        log.debug(f"special_in_text is ignored: {name} handles special tokens in texts itself")
    processes = process_count() if config.num_proc is None else config.num_proc
    where = "this process" if processes == 1 else f"{processes} processes"
    twin = _fast_twin(tokenizer) or "no fast version of it is known"
    log.warning(f"Using slow tokenizer {name}: it is written in Python and runs in {where}; {twin}")
    return SlowEncoder(tokenizer, processes, special)


def _fast_twin(tokenizer: Any) -> str:
    """Return where a fast version of a tokenizer is, or "" if none is known."""
    if not is_transformers(tokenizer):
        return ""
    folder = getattr(tokenizer, "name_or_path", "")
    if isinstance(folder, str) and folder and (Path(folder) / "tokenizer.json").is_file():
        return f"a fast one exists: tokenizer_name={folder!r}"
    converters = import_module("transformers.convert_slow_tokenizer").SLOW_TO_FAST_CONVERTERS
    name = next((c.__name__ for c in type(tokenizer).__mro__ if c.__name__ in converters), None)
    name = name or type(tokenizer).__name__.removesuffix("Legacy")
    if name not in converters:
        return ""
    return f"a fast one exists: transformers.AutoTokenizer loads it for {name}"


def _is_name(source: object) -> bool:
    return isinstance(source, (str, os.PathLike))


def _is_encoding(tokenizer: object) -> bool:
    """Whether it is a `tiktoken.Encoding`, which the engine reads."""
    return hasattr(tokenizer, "_mergeable_ranks") and hasattr(tokenizer, "_pat_str")


def _is_drop_in(backend: object) -> bool:
    """Whether it is a drop-in of tokenmill for a class of another library."""
    is_ours = type(backend).__module__.startswith("tokenmill.")
    return is_ours and not isinstance(backend, Tokenizer) and hasattr(backend, "to_str")
