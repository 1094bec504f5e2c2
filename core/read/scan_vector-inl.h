// The search loops of reading with 64-byte blocks. Text inside a target's namespace, after
// block_<target>.h and block_bmi2.h; scan_scalar-inl.h has the meaning.

// Bytes that end a plain run of a string.
//   text    a b \ n c "
//   result  0 0 1 0 0 1
template <typename Block>
inline std::uint64_t stop_mask(const Block& block) noexcept {
    return equals(block, '"') | equals(block, '\\') | in_range(block, 0, 32);
}

inline const std::uint8_t* skip_plain(const std::uint8_t* at, const std::uint8_t* end,
                                      const std::uint8_t* readable) noexcept {
    // At `end` is a newline, which is a control, or `readable` itself: no block passes it.
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

// Copies whole blocks: the bytes after the stop are overwritten by the next copy.
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

inline std::size_t count_newlines(const std::uint8_t* at, const std::uint8_t* end) noexcept {
    std::size_t count = 0;
    for (; end - at >= 64; at += 64) {
        count += ones_of(equals(load_block(at), '\n'));
    }
    for (; at != end; ++at) {
        count += *at == '\n' ? 1 : 0;
    }
    return count;
}
