// simd/bytes16: sixteen bytes -> masks, with SSE2 or in plain C++. Every x86-64 CPU has SSE2, so
// this is ordinary code: no target region and no choice at run time, unlike the 64-byte vocabulary
// of block_<target>.h. Rooms use it where wider blocks gain nothing because runs are short.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tokenmill::simd {

inline constexpr std::ptrdiff_t kBlock16 = 16;
inline constexpr std::size_t kBlock32 = 32;

// Which bytes of ASCII a block operation can do: printable ones stay or are lowered, except for at
// most two odd ones.
struct AsciiShape {
    bool is_usable = false;
    bool lowers = false;
    std::uint8_t odd[2] = {0, 0};
};

// Bit i of `blanks`: byte i is U+0020. Bit i of `suspects`: it starts white space, or a character
// that shares its first byte with white space.
struct WhiteMasks {
    unsigned blanks = 0;
    unsigned suspects = 0;
};

#if defined(__SSE2__)

// A block and the shape it is read by, in registers.
class AsciiBlock {
public:
    explicit AsciiBlock(const AsciiShape& shape)
        : odd_{_mm_set1_epi8(static_cast<char>(shape.odd[0])),
               _mm_set1_epi8(static_cast<char>(shape.odd[1]))},
          lowered_(_mm_set1_epi8(shape.lowers ? 0x20 : 0)) {}

    void load(const std::uint8_t* at) {
        block_ = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    }

    // Bit i: byte i is not printable ASCII, or it is an odd one. Signed: 0x80 and above are below
    // 0.
    [[nodiscard]] unsigned exceptions() const {
        const __m128i low = _mm_cmplt_epi8(block_, _mm_set1_epi8(0x20));
        const __m128i high = _mm_cmpeq_epi8(block_, _mm_set1_epi8(0x7F));
        const __m128i odd =
            _mm_or_si128(_mm_cmpeq_epi8(block_, odd_[0]), _mm_cmpeq_epi8(block_, odd_[1]));
        return static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(low, high), odd)));
    }

    // Bit i: byte i is lowered by the shape.
    [[nodiscard]] unsigned capitals() const {
        return static_cast<unsigned>(_mm_movemask_epi8(_mm_slli_epi16(case_bits(), 2)));
    }

    void store(std::uint8_t* out) const {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_or_si128(block_, case_bits()));
    }

private:
    // 0x20, the bit that a capital lacks, in every byte to be lowered.
    [[nodiscard]] __m128i case_bits() const {
        const __m128i is_capital = _mm_and_si128(_mm_cmpgt_epi8(block_, _mm_set1_epi8('A' - 1)),
                                                 _mm_cmplt_epi8(block_, _mm_set1_epi8('Z' + 1)));
        return _mm_and_si128(is_capital, lowered_);
    }

    __m128i odd_[2];
    __m128i lowered_;
    __m128i block_ = _mm_setzero_si128();
};

[[nodiscard]] inline WhiteMasks white_masks(const std::uint8_t* at) {
    const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const auto equals = [block](int byte) {
        return _mm_cmpeq_epi8(block, _mm_set1_epi8(static_cast<char>(byte)));
    };
    const auto mask = [](__m128i bytes) { return static_cast<unsigned>(_mm_movemask_epi8(bytes)); };
    const __m128i blanks = equals(' ');
    const __m128i controls = _mm_and_si128(_mm_cmpgt_epi8(block, _mm_set1_epi8('\t' - 1)),
                                           _mm_cmplt_epi8(block, _mm_set1_epi8('\r' + 1)));
    const __m128i leads = _mm_or_si128(_mm_or_si128(equals(0xC2), equals(0xE1)),
                                       _mm_or_si128(equals(0xE2), equals(0xE3)));
    return {mask(blanks), mask(_mm_or_si128(_mm_or_si128(blanks, controls), leads))};
}

// Bit i of 32: the byte at i is `first`, and the one `last_at` bytes later is `last`.
[[nodiscard]] inline std::uint32_t both_ends_mask(const char* at, std::size_t last_at, char first,
                                                  char last) noexcept {
    const __m128i first_byte = _mm_set1_epi8(first);
    const __m128i last_byte = _mm_set1_epi8(last);
    std::uint32_t found = 0;
    for (std::size_t half = 0; half < 2; ++half) {
        const auto* from = reinterpret_cast<const __m128i*>(at) + half;
        const auto* to = reinterpret_cast<const __m128i*>(at + last_at) + half;
        const __m128i both = _mm_and_si128(_mm_cmpeq_epi8(_mm_loadu_si128(from), first_byte),
                                           _mm_cmpeq_epi8(_mm_loadu_si128(to), last_byte));
        found |= static_cast<std::uint32_t>(_mm_movemask_epi8(both)) << (16 * half);
    }
    return found;
}

#else

class AsciiBlock {
public:
    explicit AsciiBlock(const AsciiShape& shape) : shape_(shape) {}

    void load(const std::uint8_t* at) { at_ = at; }

    [[nodiscard]] unsigned exceptions() const {
        unsigned found = 0;
        for (int index = 0; index < kBlock16; ++index) {
            const std::uint8_t byte = at_[index];
            const bool is_plain =
                byte >= 0x20 && byte < 0x7F && byte != shape_.odd[0] && byte != shape_.odd[1];
            found |= (is_plain ? 0U : 1U) << index;
        }
        return found;
    }

    [[nodiscard]] unsigned capitals() const {
        unsigned found = 0;
        for (int index = 0; index < kBlock16; ++index) {
            found |= (case_bit(at_[index]) != 0 ? 1U : 0U) << index;
        }
        return found;
    }

    void store(std::uint8_t* out) const {
        for (int index = 0; index < kBlock16; ++index) {
            out[index] = static_cast<std::uint8_t>(at_[index] | case_bit(at_[index]));
        }
    }

private:
    [[nodiscard]] unsigned case_bit(std::uint8_t byte) const {
        return shape_.lowers && byte >= 'A' && byte <= 'Z' ? 0x20 : 0;
    }

    AsciiShape shape_;
    const std::uint8_t* at_ = nullptr;
};

[[nodiscard]] inline WhiteMasks white_masks(const std::uint8_t* at) {
    WhiteMasks masks;
    for (int index = 0; index < kBlock16; ++index) {
        const std::uint8_t byte = at[index];
        const bool is_suspect = byte == ' ' || (byte >= '\t' && byte <= '\r') || byte == 0xC2 ||
                                (byte >= 0xE1 && byte <= 0xE3);
        masks.blanks |= (byte == ' ' ? 1U : 0U) << index;
        masks.suspects |= (is_suspect ? 1U : 0U) << index;
    }
    return masks;
}

[[nodiscard]] inline std::uint32_t both_ends_mask(const char* at, std::size_t last_at, char first,
                                                  char last) noexcept {
    std::uint32_t found = 0;
    for (std::size_t i = 0; i < kBlock32; ++i) {
        found |= (at[i] == first && at[i + last_at] == last ? 1U : 0U) << i;
    }
    return found;
}

#endif

}  // namespace tokenmill::simd
