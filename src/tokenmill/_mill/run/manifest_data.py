"""What the manifest of a run says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokenmill import __version__
from tokenmill._mill.output.manifest import SCHEMA
from tokenmill._mill.output.shard_records import file_entries, manifest_entries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenmill._files import FileRecord
    from tokenmill._mill.output.books import Books
    from tokenmill._mill.output.shard_records import ShardRecord
    from tokenmill._mill.plan.plan import Plan


def manifest_data(
    plan: Plan,
    books: Books,
    shards: Sequence[ShardRecord],
    files: Sequence[FileRecord],
    tokenizer_source: str | None,
) -> dict[str, Any]:
    """Return the manifest of a plan whose shards and files are all written."""
    settings = plan.settings
    return {
        "schema": SCHEMA,
        "tokenmill": __version__,
        "plan_id": plan.id,
        "tokenizer": plan.facts["tokenizer"],
        "tokenizer_source": tokenizer_source,
        "context_length": settings.context_length,
        "dtype": settings.dtype,
        "eos_id": settings.eos_id,
        "bos_id": settings.bos_id,
        "pad_id": settings.pad_id,
        **books.as_json(),
        "shards": [entry for name in settings.formats for entry in manifest_entries(shards, name)],
        "files": file_entries(files),
        "options": plan.facts["options"],
        "plan": plan.facts,
    }
