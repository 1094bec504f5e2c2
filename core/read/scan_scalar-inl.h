// read/scan: a string of JSON -> its next special byte, in plain C++. Text inside a target's
// namespace; scan_vector-inl.h has the same names.

// The first byte that ends a plain run of a string: a quote, a backslash, a control, or `end`.
inline const std::uint8_t* skip_plain(const std::uint8_t* at, const std::uint8_t* end,
                                      const std::uint8_t* /*readable*/) noexcept {
    while (at != end && *at != '"' && *at != '\\' && *at >= 0x20) {
        ++at;
    }
    return at;
}

// The same, and the run is copied; `out` has room for 64 bytes more than that.
inline const std::uint8_t* copy_plain(const std::uint8_t* at, const std::uint8_t* end,
                                      const std::uint8_t* readable, std::uint8_t*& out) noexcept {
    const std::uint8_t* stop = skip_plain(at, end, readable);
    const auto size = static_cast<std::size_t>(stop - at);
    std::memcpy(out, at, size);
    out += size;
    return stop;
}

inline std::size_t count_newlines(const std::uint8_t* at, const std::uint8_t* end) noexcept {
    std::size_t count = 0;
    for (; at != end; ++at) {
        count += *at == '\n' ? 1 : 0;
    }
    return count;
}
