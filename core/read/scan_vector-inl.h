// The search loops of reading with 64-byte blocks; text inside a target's namespace, behind
// block_<target>.h and block_bmi2.h. See scan_scalar-inl.h for the meaning.

template <typename Block>
inline std::uint64_t stop_mask(const Block& block) noexcept {
    return equals(block, '"') | equals(block, '\\') | in_range(block, 0, 32);
}

inline const std::uint8_t* skip_plain(const std::uint8_t* at, const std::uint8_t* end,
                                      const std::uint8_t* readable) noexcept {
    // A newline, which is a control, or `readable` itself stands at `end`: no block passes it.
    for (; readable - at >= 64; at += 64) {
        const std::uint64_t stops = stop_mask(load_block(at));
        if (stops != 0) {
            return at + trailing_zeros(stops);
        }
    }
    while (at != end && *at != '"' && *at != '\\' && *at >= 0x20) {
        ++at;
    }
    return at;
}

// Copies whole blocks: what lies behind the stop is overwritten by what comes next.
inline const std::uint8_t* copy_plain(const std::uint8_t* at, const std::uint8_t* end,
                                      const std::uint8_t* readable, std::uint8_t*& out) noexcept {
    std::uint8_t* to = out;
    for (; readable - at >= 64; at += 64, to += 64) {
        const std::uint64_t stops = stop_mask(load_block(at));
        std::memcpy(to, at, 64);
        if (stops != 0) {
            out = to + trailing_zeros(stops);
            return at + trailing_zeros(stops);
        }
    }
    while (at != end && *at != '"' && *at != '\\' && *at >= 0x20) {
        *to++ = *at++;
    }
    out = to;
    return at;
}
