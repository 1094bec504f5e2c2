"""A dataset on the hub, downloaded once or streamed, as an input of the mill."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokenmill._errors import InputError, MissingDependency, SourceNotFound
from tokenmill._mill.plan.sources import Source
from tokenmill._read import ReadRules, find_field, find_inputs

if TYPE_CHECKING:
    from tokenmill._mill.plan.presets import HubDataset

_LONGEST = 300  # characters of a message from a library


def load_source(
    wanted: HubDataset, *, streaming: bool = False, cache_dir: str | None = None
) -> Source:
    """Load a dataset with `datasets`. Its name is part of the plan, so another one is refused.

    A run over a downloaded dataset can be resumed: it has a fingerprint and numbered rows. A run
    over a streamed one cannot: nothing here can tell whether its rows are still the same.
    """
    dataset = _load(wanted, streaming=streaming, cache_dir=cache_dir)
    column = wanted.column or _column_of(dataset)
    name = wanted.words + (", streamed" if streaming else "")
    return Source((dataset,), field=column, name=name)


def _load(wanted: HubDataset, *, streaming: bool, cache_dir: str | None) -> Any:
    try:
        from datasets import load_dataset  # heavy, and optional
    except ImportError as error:
        raise MissingDependency(
            f"cannot load {wanted.hub} without it: {error}",
            name="datasets",
            hint="pip install 'tokenmill[hf]', or use local files: a folder, Parquet, JSONL",
        ) from error
    try:
        return load_dataset(
            wanted.hub,
            wanted.config,
            split=wanted.split,
            revision=wanted.revision,
            streaming=streaming,
            cache_dir=cache_dir,
        )
    except ConnectionError as error:
        raise InputError(
            f"the hub cannot be reached, and the dataset is not in the cache: {_message(error)}",
            path=wanted.hub,
            hint="load it once with a connection and without streaming, or use local files",
        ) from error
    except FileNotFoundError as error:
        raise SourceNotFound(
            f"not found on the hub, or you have no access: {_message(error)}",
            source=wanted.hub,
            hint="check the name; for a gated dataset accept its terms and log in (hf auth login)",
        ) from error
    except (OSError, ValueError, RuntimeError) as error:  # a wrong config or split, a bad download
        raise InputError(f"cannot be loaded: {_message(error)}", path=wanted.words) from error


def _column_of(dataset: Any) -> str | None:
    """Find the text column of a stream that does not list its columns, by its first row."""
    if getattr(dataset, "features", None) is not None or hasattr(dataset, "__getitem__"):
        return None  # the mill finds it
    first = next(iter(dataset), None)
    if first is None:
        return None
    return find_field(find_inputs([[first]]).files, ReadRules())


def _message(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."
