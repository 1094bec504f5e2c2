"""The byte-level alphabet: 256 printable characters, one for each byte.

Vocabularies in JSON spell tokens in it. A byte that is printable in Latin-1 is spelled as
itself; the others use the characters from U+0100 on, in order of their value.
"""

from __future__ import annotations

import numpy as np

from tokenmill._errors import LoadError

_NOT_A_BYTE = 256


def _alphabet() -> str:
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    spare = iter(range(0x100, 0x200))
    return "".join(chr(byte if byte in printable else next(spare)) for byte in range(256))


ALPHABET = _alphabet()
# Valid UTF-8 never holds C0, C1 or F5 to FF.
UTF8_BYTES = tuple(byte for byte in range(0xF5) if byte not in (0xC0, 0xC1))


def _byte_of_character() -> np.ndarray[tuple[int], np.dtype[np.uint16]]:
    table = np.full(max(map(ord, ALPHABET)) + 2, _NOT_A_BYTE, dtype=np.uint16)
    for byte, character in enumerate(ALPHABET):
        table[ord(character)] = byte
    return table


# Indexed by code point; the last entry serves every code point beyond the alphabet.
_BYTE_OF = _byte_of_character()


def bytes_of_tokens(tokens: list[str]) -> list[bytes | None]:
    """Spell tokens as bytes; None where a character is outside the alphabet.

    One pass over all tokens joined: a loop per character would take most of the loading time.
    """
    try:
        code_points = np.frombuffer("".join(tokens).encode("utf-32-le"), dtype=np.uint32)
    except UnicodeEncodeError as error:
        problem = f"a token holds a lone surrogate, got {error.object[error.start]!r}"
        raise LoadError(problem) from error
    mapped = _BYTE_OF[np.minimum(code_points, len(_BYTE_OF) - 1)]
    spelled = (mapped & 0xFF).astype(np.uint8).tobytes()
    strange = np.concatenate([[0], np.cumsum(mapped == _NOT_A_BYTE)]).tolist()
    result: list[bytes | None] = []
    begin = 0
    for token in tokens:
        end = begin + len(token)
        result.append(spelled[begin:end] if strange[begin] == strange[end] else None)
        begin = end
    return result


def decoded_bytes(content: str) -> bytes:
    """Return what the byte-level decoder writes for a token: its bytes, else its own UTF-8."""
    spelled = bytes_of_tokens([content])[0]
    return content.encode() if spelled is None else spelled
