// The search loops of reading with 64-byte blocks; text inside a target's namespace, behind
// block_<target>.h and block_bmi2.h. See scan_scalar-inl.h for the meaning.

inline const std::uint8_t* skip_plain(const std::uint8_t* at, const std::uint8_t* end,
                                      const std::uint8_t* readable) noexcept {
    // A newline, which is a control, or `readable` itself stands at `end`: no block passes it.
    for (; readable - at >= 64; at += 64) {
        const auto block = load_block(at);
        const std::uint64_t stops =
            equals(block, '"') | equals(block, '\\') | in_range(block, 0, 32);
        if (stops != 0) {
            return at + trailing_zeros(stops);
        }
    }
    while (at != end && *at != '"' && *at != '\\' && *at >= 0x20) {
        ++at;
    }
    return at;
}

// Copies whole blocks: what lies behind the backslash is overwritten by what it stands for.
inline std::size_t copy_plain(const std::uint8_t* at, const std::uint8_t* end,
                              std::uint8_t* out) noexcept {
    const std::uint8_t* const begin = at;
    for (; end - at >= 64; at += 64, out += 64) {
        const std::uint64_t stops = equal_mask(at, '\\');
        std::memcpy(out, at, 64);
        if (stops != 0) {
            return static_cast<std::size_t>(at - begin) + trailing_zeros(stops);
        }
    }
    while (at != end && *at != '\\') {
        *out++ = *at++;
    }
    return static_cast<std::size_t>(at - begin);
}
