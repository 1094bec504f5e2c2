// simd/bytes16: sixteen bytes -> masks, with what every processor of a kind has (SSE2, NEON, or
// SIMD128 where the module is compiled for it), or in plain C++. So this is ordinary code: no
// target region and no choice at run time, unlike the 64-byte vocabulary of block_<target>.h. Rooms
// use it where wider blocks gain nothing because runs are short.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/platform.h"
#include "simd/masks.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#elif TOKENMILL_AARCH64
#include <arm_neon.h>
namespace tokenmill::simd::vector128 {
#include "simd/block_plain.h"
#include "simd/vector_neon.h"
}  // namespace tokenmill::simd::vector128
#elif TOKENMILL_SIMD128
#include <wasm_simd128.h>
namespace tokenmill::simd::vector128 {
#include "simd/block_plain.h"
#include "simd/vector_simd128.h"
}  // namespace tokenmill::simd::vector128
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

#elif TOKENMILL_AARCH64 || TOKENMILL_SIMD128

// A block and the shape it is read by, in registers.
class AsciiBlock {
public:
    explicit AsciiBlock(const AsciiShape& shape)
        : odd_{vector128::all_bytes(shape.odd[0]), vector128::all_bytes(shape.odd[1])},
          lowered_(vector128::all_bytes(shape.lowers ? 0x20 : 0)),
          block_(vector128::all_bytes(0)) {}

    void load(const std::uint8_t* at) { block_ = vector128::load16(at); }

    // Bit i: byte i is not printable ASCII, or it is an odd one.
    [[nodiscard]] unsigned exceptions() const {
        using namespace vector128;
        const Vector low = below_bytes(block_, all_bytes(0x20));
        const Vector high = at_least_bytes(block_, all_bytes(0x7F));
        const Vector odd = either(equal_bytes(block_, odd_[0]), equal_bytes(block_, odd_[1]));
        return mask_of_bytes(either(either(low, high), odd));
    }

    // Bit i: byte i is lowered by the shape.
    [[nodiscard]] unsigned capitals() const {
        return vector128::mask_of_bytes(vector128::common_bits(case_bits(), lowered_));
    }

    void store(std::uint8_t* out) const {
        vector128::store16(out, vector128::either(block_, case_bits()));
    }

private:
    // 0x20, the bit that a capital lacks, in every byte to be lowered.
    [[nodiscard]] vector128::Vector case_bits() const {
        using namespace vector128;
        const Vector letter = subtract_bytes(block_, all_bytes('A'));
        return both(below_bytes(letter, all_bytes(26)), lowered_);
    }

    vector128::Vector odd_[2];
    vector128::Vector lowered_;
    vector128::Vector block_;
};

[[nodiscard]] inline WhiteMasks white_masks(const std::uint8_t* at) {
    using namespace vector128;
    const Vector block = load16(at);
    const auto is_among = [block](int first, int count) {
        return below_bytes(subtract_bytes(block, all_bytes(first)), all_bytes(count));
    };
    const Vector blanks = equal_bytes(block, all_bytes(' '));
    const Vector leads = either(equal_bytes(block, all_bytes(0xC2)), is_among(0xE1, 3));
    return {mask_of_bytes(blanks), mask_of_bytes(either(either(blanks, is_among(9, 5)), leads))};
}

// Bit i of 32: the byte at i is `first`, and the one `last_at` bytes later is `last`.
[[nodiscard]] inline std::uint32_t both_ends_mask(const char* at, std::size_t last_at, char first,
                                                  char last) noexcept {
    using namespace vector128;
    const Vector first_byte = all_bytes(static_cast<unsigned char>(first));
    const Vector last_byte = all_bytes(static_cast<unsigned char>(last));
    std::uint32_t found = 0;
    for (std::size_t half = 0; half < kBlock32; half += 16) {
        const Vector is_first = equal_bytes(load16(at + half), first_byte);
        const Vector is_last = equal_bytes(load16(at + half + last_at), last_byte);
        found |= mask_of_bytes(both(is_first, is_last)) << half;
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
