// The part of the block vocabulary that is the same for all targets with vectors and BMI2. Text
// inside a target's namespace, after block_<target>.h, whose load_block, sign_mask, zero_mask,
// equals, at_least, in_range and with_bit5 it uses; see block_scalar.h for the meaning.

inline unsigned trailing_zeros(std::uint64_t bits) noexcept {
    return static_cast<unsigned>(_tzcnt_u64(bits));
}
inline unsigned first_bit(std::uint64_t bits) noexcept {
    return trailing_zeros(bits);
}
inline unsigned top_bit(std::uint64_t bits) noexcept {
    return 63U - static_cast<unsigned>(_lzcnt_u64(bits));
}
inline unsigned count_bits(std::uint64_t bits) noexcept {
    return static_cast<unsigned>(_mm_popcnt_u64(bits));
}
inline unsigned leading_ones(std::uint64_t bits) noexcept {
    return static_cast<unsigned>(_lzcnt_u64(~bits));
}
inline std::uint64_t extract_bits(std::uint64_t bits, std::uint64_t at) noexcept {
    return _pext_u64(bits, at);
}
inline std::uint64_t deposit_bits(std::uint64_t bits, std::uint64_t at) noexcept {
    return _pdep_u64(bits, at);
}
inline std::uint64_t keep_bytes(std::uint64_t word, unsigned count) noexcept {
    return _bzhi_u64(word, static_cast<std::uint64_t>(8 * count));  // its low 8 bits count
}

inline ByteMasks byte_masks(const std::uint8_t* at) noexcept {
    const auto v = load_block(at);
    ByteMasks m;
    m.non_ascii = sign_mask(v);
    m.letter = in_range(with_bit5(v), 'a', 26);
    m.digit = in_range(v, '0', 10);
    m.space = equals(v, ' ');
    m.white = m.space | in_range(v, 9, 5);
    m.newline = equals(v, '\n') | equals(v, '\r');
    m.apostrophe = equals(v, '\'');
    m.nul = zero_mask(v);
    return m;
}

inline std::uint64_t upper_mask(const std::uint8_t* at) noexcept {
    return in_range(load_block(at), 'A', 26);
}

inline std::uint64_t equal_mask(const std::uint8_t* at, std::uint8_t byte) noexcept {
    return equals(load_block(at), byte);
}

inline void store_inline_ids(std::uint32_t* out, std::uint64_t value) noexcept {
    const std::uint64_t two = _pdep_u64(value, 0x000FFFFF000FFFFFULL);
    std::memcpy(out, &two, 8);
    out[2] = static_cast<std::uint32_t>(value >> 40) & 0xFFFFF;
}
