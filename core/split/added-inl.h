// split/added: text -> places where an added token may start, 64 at a time. Text compiled once per
// target, inside its namespace, after simd's block vocabulary.

// Places in 64 bytes where an added token may start. Most blocks lack a byte that one starts with.
inline std::uint64_t candidates_in(const split::PrefixFilter& filter,
                                   const std::uint8_t* at) noexcept {
    return has_first_byte(filter.low[0], filter.high[0], at)
               ? prefix_candidates(filter.low, filter.high, at)
               : 0;
}

// Where the next added token may start, or `end`: a filter over the first bytes, 64 places at a
// time. The last block is copied, because the filter reads two bytes past it.
inline const std::uint8_t* find_candidate(const split::PrefixFilter& filter,
                                          const std::uint8_t* from, const std::uint8_t* end) {
    const std::uint8_t* at = from;
    for (; end - at >= 64 + 2; at += 64) {
        const std::uint64_t found = candidates_in(filter, at);
        if (found != 0) {
            return at + trailing_zeros(found);
        }
    }
    std::uint8_t rest[64 + 2] = {};
    for (; at < end; at += 64) {
        const auto size = static_cast<std::size_t>(end - at < 66 ? end - at : 66);
        std::memset(rest, 0, sizeof(rest));
        std::memcpy(rest, at, size);
        const std::uint64_t found = prefix_candidates(filter.low, filter.high, rest) &
                                    low_bits(static_cast<unsigned>(size < 64 ? size : 64));
        if (found != 0) {
            return at + trailing_zeros(found);
        }
    }
    return end;
}

// Is the text UTF-8? `may_start` becomes false if no text of the filter is in it. Both in one pass:
// most blocks are ASCII without a byte that an added token starts with.
inline bool check_text(const split::PrefixFilter& filter, const std::uint8_t* begin,
                       const std::uint8_t* end, bool& may_start) {
    bool is_bad = false;
    bool is_found = false;
    check_blocks(begin, end, [&](const std::uint8_t* at) {
        is_bad |= !is_ascii_block(at) && is_bad_utf8(at);
        is_found |= candidates_in(filter, at) != 0;
    });
    may_start = is_found;
    return !is_bad;
}
