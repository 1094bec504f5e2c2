// simd/masks: 64 bytes as a target's block vocabulary sees them. Bit i is about byte i.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tokenmill::simd {

// Only ASCII has a class here.
struct ByteMasks {
    std::uint64_t non_ascii;
    std::uint64_t letter;
    std::uint64_t digit;
    std::uint64_t white;    // 09..0D and 20
    std::uint64_t space;    // 20
    std::uint64_t newline;  // 0A and 0D
    std::uint64_t apostrophe;
    std::uint64_t nul;
};

// The parts of characters of several bytes.
struct WideMasks {
    std::uint64_t continuation;  // 80..BF
    std::uint64_t lead2;         // C0..DF
    std::uint64_t lead3;         // E0..EF
};

// Bits of table entries: bit i of of[k] is bit k of the entry that byte i asked for.
struct EntryMasks {
    std::uint64_t of[8];
};

// Which neighbouring bytes belong together, by the kinds of bytes: two relations at once.
struct PairTables {
    static constexpr std::size_t kMostKinds = 16;

    alignas(64) std::uint8_t kind[128];           // of ASCII; all other bytes are of `wide_kind`
    alignas(16) std::uint8_t left[kMostKinds];    // bits of a kind as the left neighbour
    alignas(16) std::uint8_t first[kMostKinds];   // bits of the left neighbours it belongs to
    alignas(16) std::uint8_t second[kMostKinds];  // the same, by the other relation
    std::uint8_t wide_kind;

    [[nodiscard]] std::uint8_t left_of(std::uint8_t byte) const noexcept {
        return left[byte < 0x80 ? kind[byte] : wide_kind];
    }
};

// Bit i: byte i belongs to the one before it.
struct PairMasks {
    std::uint64_t first;
    std::uint64_t second;
};

struct Utf8Masks {
    std::uint64_t non_ascii;
    std::uint64_t continuation;
    std::uint64_t from_c2;  // bytes of C2 and above; likewise the others
    std::uint64_t from_e0;
    std::uint64_t from_f0;
    std::uint64_t from_f5;
    std::uint64_t below_a0;  // 80..9F
    std::uint64_t below_90;  // 80..8F
    std::uint64_t is_e0;
    std::uint64_t is_ed;
    std::uint64_t is_f0;
    std::uint64_t is_f4;
};

}  // namespace tokenmill::simd
