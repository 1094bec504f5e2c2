"""Run models other than byte-level ones through kernels that are built with sanitizers.

python -m tests.cuda.sanitized_models FOLDER; a process of its own, as tests.cuda.sanitized.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tests.cuda.char_tokenizers import char_definition, char_texts
from tests.cuda.devices import HostDevice
from tests.cuda.shim import build
from tests.cuda.tokenizers_small import write
from tests.cuda.word_tokenizers import unigram_definition, word_piece_definition, word_texts

from tokenmill import Tokenizer
from tokenmill._cuda.device_tokenizer import DeviceTokenizer
from tokenmill._cuda.options import DeviceOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokenmill._cuda.protocols import Connect

BROKEN = [b"a\xff", b"\xe3", b"\xe4\xb8", b"\xad", b"ab\xf0\x9f\x98", b"\x80\x80", b"\xc2", b"\xf4"]


def main(folder: Path) -> None:
    """Texts of everything, malformed ones too, through small tiles and tables."""
    made: dict[str, tuple[dict[str, Any], list[bytes]]] = {
        "front": (char_definition(1, "front"), char_texts(2, 150, odd=True)),
        "uncased": (word_piece_definition(1, "uncased"), word_texts(3, 150)),
        "shortened": (unigram_definition(1, "shortened"), word_texts(4, 150)),
    }

    def connect(defines: Mapping[str, int]) -> HostDevice:
        return HostDevice(build(folder, defines, "address,undefined"), shuffle=3)

    for definition, texts in made.values():
        tokenizer = Tokenizer.load(write(folder, definition))
        options = DeviceOptions(table_bits=10)
        device = cast("Connect", connect)
        gpu = DeviceTokenizer(tokenizer.ready, 0, options, connect=device, tile=64)
        every = [*texts, *BROKEN] * 2
        expected = tokenizer.encode_batch(every, errors="replace")
        for _ in range(2):
            assert gpu.encode_batch(every, errors="replace").to_host() == expected


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    sys.stdout.write("clean\n")
