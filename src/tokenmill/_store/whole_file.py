"""Whole objects -> files, in several ranges at a time."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tokenmill._platform.files import write_at
from tokenmill._store.ahead import cut
from tokenmill._store.objects import get, head
from tokenmill._store.sizes import IN_FLIGHT

if TYPE_CHECKING:
    from pathlib import Path

    from tokenmill._store.address import Address
    from tokenmill._store.ahead import ByteRange


def download(address: Address, path: Path) -> int:
    """Write an object to a file, all of it of one version, and return its size.

    The caller chooses a name that nobody reads, and renames the file.
    """
    info = head(address)
    with path.open("wb") as file, ThreadPoolExecutor(IN_FLIGHT) as pool:
        number = file.fileno()
        os.truncate(number, info.size)

        def fetch(wanted: ByteRange) -> None:
            body = get(address, wanted.begin, wanted.end, tag=info.tag)
            done = 0
            while done < len(body):
                done += write_at(number, memoryview(body)[done:], wanted.begin + done)

        tasks = [pool.submit(fetch, part) for part in cut(address, info.tag, 0, info.size)]
        try:
            for task in tasks:
                task.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return info.size
