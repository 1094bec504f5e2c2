// The search loops of reading in plain C++; text inside a target's namespace. The same names stand
// in scan_vector-inl.h.

// The first byte that ends a plain run of a string: a quote, a backslash, a control, or `end`.
inline const std::uint8_t* skip_plain(const std::uint8_t* at, const std::uint8_t* end,
                                      const std::uint8_t* /*readable*/) noexcept {
    while (at != end && *at != '"' && *at != '\\' && *at >= 0x20) {
        ++at;
    }
    return at;
}

// Copies up to the first backslash or `end`, and returns how many bytes that were.
inline std::size_t copy_plain(const std::uint8_t* at, const std::uint8_t* end,
                              std::uint8_t* out) noexcept {
    const void* stop = std::memchr(at, '\\', static_cast<std::size_t>(end - at));
    const std::uint8_t* last = stop != nullptr ? static_cast<const std::uint8_t*>(stop) : end;
    const auto size = static_cast<std::size_t>(last - at);
    std::memcpy(out, at, size);
    return size;
}
