"""The records of the segment cache, written slowly: the keyed hash, and ids in a few bits each."""

from __future__ import annotations

import struct

MASK = (1 << 64) - 1
GOLDEN, SECOND = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
MAGIC, VERSION = 0x0A0D47455354494D, 1
HEADER = struct.Struct("<QIIQQQQ16s16s")


def folded(a: int, b: int) -> int:
    product = a * b
    return (product & MASK) ^ (product >> 64)


def key_words(first: int = 0, second: int = 0) -> list[int]:
    states, words = [first, ~second & MASK], []
    for _ in range(12):
        made = []
        for i in range(2):
            states[i] = (states[i] + GOLDEN) & MASK
            word = (states[i] ^ states[i] >> 32) * SECOND & MASK
            word = (word ^ word >> 32) * GOLDEN & MASK
            made.append(word ^ word >> 29)
        words.append(made[0] ^ folded(made[1] | 1, GOLDEN))
    words[8] |= 1
    words[9] |= 1
    return words


def hash128(text: bytes, start: tuple[int, int] = (0, 0)) -> tuple[int, int]:
    key = key_words()
    low, high = start[0] ^ key[10], start[1] ^ key[11]
    padded = text + bytes(-len(text) % 64)
    for at in range(0, len(padded), 64):
        words = struct.unpack_from("<8Q", padded, at)
        keyed = [(word + k) & MASK for word, k in zip(words, key, strict=False)]
        total = sum(keyed[i] * keyed[i + 1] for i in range(0, 8, 2)) & ((1 << 128) - 1)
        low, high = folded(low ^ (total & MASK), key[8]), folded(high ^ total >> 64, key[9])
    low ^= len(text)
    mixed = (folded(low ^ key[0], key[9]) + high) & MASK
    return folded(mixed ^ key[2], key[8]), folded(high ^ key[1] ^ mixed, key[8])


def packed(ids: list[int], bits: int) -> bytes:
    total = sum(number << (bits * place) for place, number in enumerate(ids))
    return total.to_bytes((len(ids) * bits + 7) // 8, "little")


def read(record: bytes) -> tuple[bytes, list[int], bytes]:
    """Return the text, the ids and the model of a record."""
    _, _, bits, _, size, count, _, model, _ = HEADER.unpack_from(record)
    text = record[HEADER.size : HEADER.size + size]
    total = int.from_bytes(record[HEADER.size + size :], "little")
    return text, [total >> (bits * i) & ((1 << bits) - 1) for i in range(count)], model


def write(text: bytes, ids: list[int], bits: int, model: bytes, flags: int = 0) -> bytes:
    """Write a record that is whole, whatever it says."""
    body = text + packed(ids, bits)

    def header(checksum: bytes) -> bytes:
        return HEADER.pack(MAGIC, VERSION, bits, flags, len(text), len(ids), 0, model, checksum)

    checksum = hash128(body, hash128(header(bytes(16))))
    return header(struct.pack("<2Q", *checksum)) + body
