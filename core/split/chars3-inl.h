// What is known of the 3-byte characters of a block: what chars3_<target>-inl.h answer. Text inside
// a target's namespace.

// One bit a character, at its first byte. With kDoubtFirst the filter is asked only about
// characters in doubt: of a vocabulary over characters these are the ones that a token holds beside
// another.
struct Chars3 {
    std::uint64_t letter = 0;
    std::uint64_t unusual = 0;   // its other class bits matter too
    std::uint64_t paired = 0;    // the junction filter has it with the character before
    std::uint64_t in_doubt = 0;  // a token may hold a part of it with a part of the one before
    std::uint32_t last = 0;      // code point of the last one
};

// 1110aaaa 10bbbbbb 10cccccc -> aaaabbbbbbcccccc
inline std::uint32_t decode3(const std::uint8_t* at) noexcept {
    return (at[0] & 15U) << 12 | (at[1] & 63U) << 6 | (at[2] & 63U);
}
