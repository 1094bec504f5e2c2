"""The files next to the shards of several outputs, joined."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill._errors import CorruptShard
from tokenmill._files import NewFile, checksum, unfinished_path, writing
from tokenmill._mill.output.tables import commit_written
from tokenmill._mill.output.work import DOCUMENTS, QUARANTINE
from tokenmill._mirror import here

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tokenmill._files import FileRecord
    from tokenmill._mill.output.document_table import DocumentTable
    from tokenmill._mill.output.manifest import Manifest

_COPY_BYTES = 1 << 22


def join_quarantines(output: Path, manifests: Sequence[Manifest]) -> FileRecord:
    """Write the quarantined records of all outputs."""
    return _join_files(output, manifests, QUARANTINE)


def join_documents(
    output: Path, manifests: Sequence[Manifest], tables: Sequence[DocumentTable]
) -> FileRecord:
    """Write the places of the documents of all outputs, in the order of their new numbers."""
    if len(manifests) == 1:
        return _join_files(output, manifests, DOCUMENTS)
    import pyarrow.parquet as pq  # heavy

    path = output / DOCUMENTS
    unfinished = unfinished_path(path)
    for manifest in manifests:
        _refuse_damage(manifest, DOCUMENTS)
    try:
        schema = tables[0].schema
        with writing(path), pq.ParquetWriter(unfinished, schema, compression="zstd") as writer:
            for table in tables:
                for group in table.groups():
                    writer.write_table(group)
        return commit_written(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _join_files(output: Path, manifests: Sequence[Manifest], name: str) -> FileRecord:
    """Join the files of this name of all outputs."""
    file = NewFile(output / name)
    try:
        for manifest in manifests:
            _refuse_damage(manifest, name)
            with here(manifest.folder / name).open("rb") as source:
                while block := source.read(_COPY_BYTES):
                    file.write(block)
        return file.commit()
    except BaseException:
        file.discard()
        raise


def _refuse_damage(manifest: Manifest, name: str) -> None:
    path = here(manifest.folder / name)
    listed = next((f["checksum"] for f in manifest.data["files"] if f["path"] == name), "nothing")
    found = checksum(path) if path.is_file() else "no such file"
    if found != listed:
        raise CorruptShard(
            f"expected the manifest's {listed}, got {found}",
            path=path,
            hint="`tokenmill verify` lists everything that is wrong",
        )
