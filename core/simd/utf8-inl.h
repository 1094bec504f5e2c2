// simd/utf8: text -> is it UTF-8? Text compiled once per target, inside its namespace.

// Calls `check` with every 64 bytes of a text, which may read three bytes before them and two after
// them. There are zeros around the text: the first and the last block are copies. Zeros are ASCII,
// so that a character cut off at the end shows as an error.
//
//   text      |<- 64 ->|<- 64 ->|<- 64 ->|...|
//   copy  000 |<- 64 ->|--               |...|000   the first block, and what is left at the end
template <typename Check>
TOKENMILL_INLINE void check_blocks(const std::uint8_t* begin, const std::uint8_t* end,
                                   const Check& check) noexcept {
    constexpr std::ptrdiff_t kBefore = 3;
    constexpr std::ptrdiff_t kAfter = 2;
    std::uint8_t copy[kBefore + 64 + kAfter] = {};
    const std::uint8_t* at = begin;
    if (end - begin >= 64) {
        const std::ptrdiff_t size = end - begin < 64 + kAfter ? end - begin : 64 + kAfter;
        std::memcpy(copy + kBefore, begin, static_cast<std::size_t>(size));
        check(copy + kBefore);
        at += 64;
    }
    for (; end - at >= 64 + kAfter; at += 64) {
        check(at);
    }
    // At most 65 bytes are left. The last round has a zero at the place of the end.
    for (std::ptrdiff_t left = end - at; left >= 0; left -= 64) {
        const std::ptrdiff_t before = end - left == begin ? 0 : kBefore;
        const std::ptrdiff_t size = left < 64 + kAfter ? left : 64 + kAfter;
        std::memset(copy, 0, sizeof(copy));
        std::memcpy(copy + kBefore - before, end - left - before,
                    static_cast<std::size_t>(before + size));
        check(copy + kBefore);
    }
}

// True when all of [begin, end) is well-formed. Reads nothing outside.
inline bool is_utf8(const std::uint8_t* begin, const std::uint8_t* end) noexcept {
    bool is_bad = false;
    check_blocks(begin, end,
                 [&](const std::uint8_t* at) { is_bad |= !is_ascii_block(at) && is_bad_utf8(at); });
    return !is_bad;
}
