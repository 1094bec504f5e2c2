// transcode: code points of a fixed width -> UTF-8. Text compiled once per target, inside its
// namespace, after transcode_<target>-inl.h.

// Units -> bytes, up to the end or to the first surrogate, which UTF-8 has no bytes for. Groups
// store more bytes than they fill: `out` has room for pipeline::kTranscodeSlack bytes more than the
// text needs.
template <typename Unit>
inline pipeline::Transcoded write_units(const Unit* from, std::size_t size,
                                        std::uint8_t* out) noexcept {
    const Unit* at = from;
    const Unit* const end = from + size;
    std::uint8_t* to = out;
    bool is_well_formed = true;
    while (is_well_formed && end - at >= kAsciiUnits) {
        if (write_ascii(at, to)) {
            at += kAsciiUnits;
            to += kAsciiUnits;
            continue;
        }
        for (std::ptrdiff_t i = 0; i < kAsciiUnits; i += kGroupUnits<Unit>) {
            const std::size_t written = write_group(at, to);
            // A jump, so that the next group need not wait for the size of this one.
            if (unlikely(written == 0)) {
                is_well_formed = false;  // the loop below finds the surrogate
                break;
            }
            at += kGroupUnits<Unit>;
            to += written;
        }
    }
    while (at < end && !is_surrogate(*at)) {
        to += encode_char(*at, to);
        ++at;
    }
    return {static_cast<std::size_t>(at - from), static_cast<std::size_t>(to - out)};
}

inline pipeline::Transcoded transcode(const pipeline::CodeUnits& units,
                                      std::uint8_t* out) noexcept {
    switch (units.width) {
        case 1:
            return write_units(static_cast<const std::uint8_t*>(units.data), units.size, out);
        case 2:
            return write_units(static_cast<const std::uint16_t*>(units.data), units.size, out);
        default:
            return write_units(static_cast<const std::uint32_t*>(units.data), units.size, out);
    }
}

// A code point takes one byte, and one more for each limit that it reaches; a surrogate counts as
// U+FFFD. Bytes after the first, of `kSize` units.
template <std::size_t kSize, typename Unit>
inline std::size_t count_more(const Unit* units) noexcept {
    Unit more = 0;  // in the width of a unit, so that the compiler makes vectors of the loop
    for (std::size_t i = 0; i < kSize; ++i) {
        more = static_cast<Unit>(more + static_cast<Unit>(units[i] > Unit{0x7F}));
        if constexpr (sizeof(Unit) > 1) {
            more = static_cast<Unit>(more + static_cast<Unit>(units[i] > Unit{0x7FF}));
        }
        if constexpr (sizeof(Unit) > 2) {
            more = static_cast<Unit>(more + static_cast<Unit>(units[i] > Unit{0xFFFF}));
        }
    }
    return more;
}

template <typename Unit>
inline std::size_t count_utf8(const Unit* units, std::size_t size) noexcept {
    constexpr std::size_t kRun = 64;
    std::size_t total = size;
    std::size_t at = 0;
    for (; at + kRun <= size; at += kRun) {
        total += count_more<kRun>(units + at);
    }
    for (; at < size; ++at) {
        total += count_more<1>(units + at);
    }
    return total;
}

inline std::size_t utf8_size(const pipeline::CodeUnits& units) noexcept {
    switch (units.width) {
        case 1:
            return count_utf8(static_cast<const std::uint8_t*>(units.data), units.size);
        case 2:
            return count_utf8(static_cast<const std::uint16_t*>(units.data), units.size);
        default:
            return count_utf8(static_cast<const std::uint32_t*>(units.data), units.size);
    }
}
