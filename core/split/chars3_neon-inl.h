// The three-byte characters of a block, with NEON. Text inside a target's namespace; the rest is
// in chars3_vector128-inl.h.

// JunctionFilter::paired for four pairs at once, in bit 0 of each lane: one word of the filter
// holds both bits of a pair. NEON has no gather; a lane is loaded at a time.
template <typename Junctions>
TOKENMILL_INLINE uint32x4_t paired_lanes(uint32x4_t pair, const Junctions& junctions) noexcept {
    const uint32x4_t word_at =
        vshrq_n_u32(vmulq_n_u32(pair, Junctions::kWordFactor), 32 - Junctions::kWordBits);
    const uint32x4_t bits = vmulq_n_u32(pair, Junctions::kBitFactor);
    uint32x4_t word = vdupq_n_u32(junctions.words[vgetq_lane_u32(word_at, 0)]);
    word = vld1q_lane_u32(junctions.words + vgetq_lane_u32(word_at, 1), word, 1);
    word = vld1q_lane_u32(junctions.words + vgetq_lane_u32(word_at, 2), word, 2);
    word = vld1q_lane_u32(junctions.words + vgetq_lane_u32(word_at, 3), word, 3);
    const uint32x4_t first = vandq_u32(vshrq_n_u32(bits, 22), vdupq_n_u32(31));
    const uint32x4_t second = vshrq_n_u32(bits, 27);
    const auto shift_down_by = [&](uint32x4_t count) {  // to the left by less than nothing
        return vshlq_u32(word, vnegq_s32(vreinterpretq_s32_u32(count)));
    };
    return vandq_u32(shift_down_by(first), shift_down_by(second));
}

// The same where characters of three bytes follow each other without a gap: `code` is of the byte
// where the first of 24 starts. Bit 0 of out[3 * i] says whether character i is paired with the one
// before; what lies between is anything.
//
//   code      x . . y . . z . .      every third is loaded: x y z
//   code - 3  w . . x . . y . .      w x y
//   pairs     wx yx zy
template <typename Junctions>
TOKENMILL_INLINE void paired_in_run(const std::uint16_t* code, const Junctions& junctions,
                                    std::uint8_t* out) noexcept {
    for (std::size_t at = 0; at < 72; at += 24) {
        const uint16x8_t right = vld3q_u16(code + at).val[0];
        const uint16x8_t left = vld3q_u16(code + at - 3).val[0];
        const uint32x4_t low = vreinterpretq_u32_u16(vzip1q_u16(right, left));
        const uint32x4_t high = vreinterpretq_u32_u16(vzip2q_u16(right, left));
        const uint16x8_t both_halves =
            vuzp1q_u16(vreinterpretq_u16_u32(paired_lanes(low, junctions)),
                       vreinterpretq_u16_u32(paired_lanes(high, junctions)));
        const uint8x8_t eight = vmovn_u16(both_halves);
        const uint8x8x3_t thirds = {{eight, eight, eight}};  // an intrinsic may be a macro
        vst3_u8(out + at, thirds);
    }
}
constexpr unsigned kLeastRun = 9;  // fewer characters are looked up one by one

#include "split/chars3_vector128-inl.h"
