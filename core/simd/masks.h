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

// What two neighbouring bytes of UTF-8 must not be, by the halves of the first and the high half of
// the second: a pair has each fault whose bit is set in all three look-ups. (Lemire and Keiser,
// "Validating UTF-8 in less than one instruction per byte".)
enum Utf8Fault : std::uint8_t {
    kTooShort = 1,        // 11______ 0_______   11______ 11______
    kTooLong = 2,         // 0_______ 10______
    kOverlong3 = 4,       // 11100000 100_____
    kTooLarge = 8,        // 11110100 1001____   11110100 101_____   and above 11110100
    kSurrogate = 16,      // 11101101 101_____
    kOverlong2 = 32,      // 1100000_ 10______
    kTooLarge1000 = 64,   // 11110101 1000____   and above; 11110000 1000____ is overlong
    kTwoFollowers = 128,  // 10______ 10______   right where a character has three bytes or more
};
struct Utf8Faults {
    std::uint8_t first_high[16];
    std::uint8_t first_low[16];
    std::uint8_t second_high[16];
};
constexpr std::uint8_t kAnyLow = kTooShort | kTooLong | kTwoFollowers;
constexpr std::uint8_t kHighLow = kAnyLow | kTooLarge | kTooLarge1000;
constexpr std::uint8_t kAnyFollower = kTooLong | kOverlong2 | kTwoFollowers;
constexpr Utf8Faults kUtf8Faults = {
    {kTooLong, kTooLong, kTooLong, kTooLong, kTooLong, kTooLong, kTooLong, kTooLong,  // 0_______
     kTwoFollowers, kTwoFollowers, kTwoFollowers, kTwoFollowers,                      // 10______
     kTooShort | kOverlong2, kTooShort,                                               // 110_____
     kTooShort | kOverlong3 | kSurrogate,                                             // 1110____
     kTooShort | kTooLarge | kTooLarge1000},                                          // 1111____
    {kAnyLow | kOverlong3 | kOverlong2 | kTooLarge1000, kAnyLow | kOverlong2, kAnyLow, kAnyLow,
     kAnyLow | kTooLarge, kHighLow, kHighLow, kHighLow,     // ____01__
     kHighLow, kHighLow, kHighLow, kHighLow,                // ____10__
     kHighLow, kHighLow | kSurrogate, kHighLow, kHighLow},  // ____11__
    {kTooShort, kTooShort, kTooShort, kTooShort, kTooShort, kTooShort, kTooShort, kTooShort,
     kAnyFollower | kOverlong3 | kTooLarge1000,                                     // 1000____
     kAnyFollower | kOverlong3 | kTooLarge,                                         // 1001____
     kAnyFollower | kSurrogate | kTooLarge, kAnyFollower | kSurrogate | kTooLarge,  // 101_____
     kTooShort, kTooShort, kTooShort, kTooShort}};                                  // 11______

}  // namespace tokenmill::simd
