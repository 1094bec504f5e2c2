// What is known of the 3-byte characters of a block, one by one. Text inside a target's namespace.

constexpr std::ptrdiff_t kReadableBlock = 72;  // bytes of a block that scanners may read

// One bit a character, at its first byte.
struct Chars3 {
    std::uint64_t letter = 0;
    std::uint64_t unusual = 0;   // its other class bits matter too
    std::uint64_t paired = 0;    // the junction filter has it with the character before
    std::uint64_t in_doubt = 0;  // a token may hold a part of it with a part of the one before
    std::uint32_t last = 0;      // code point of the last one
};

inline std::uint32_t decode3(const std::uint8_t* at) noexcept {
    return (at[0] & 15U) << 12 | (at[1] & 63U) << 6 | (at[2] & 63U);
}

// `facts` holds the kFact... bits of every code point.
template <typename Junctions>
inline Chars3 look_up_chars3(const std::uint8_t* bytes, std::uint64_t leads, std::uint32_t previous,
                             const std::uint8_t* facts, const Junctions& junctions) noexcept {
    Chars3 out;
    unsigned left = facts[previous];
    for (std::uint64_t rest = leads; rest != 0; rest &= rest - 1) {
        const unsigned i = trailing_zeros(rest);
        const std::uint32_t code = decode3(bytes + i);
        const unsigned fact = facts[code];
        out.letter |= std::uint64_t{fact & 1} << i;
        out.unusual |= std::uint64_t{fact >> 1 & 1} << i;
        out.paired |= std::uint64_t{junctions.paired(previous, code)} << i;
        out.in_doubt |= std::uint64_t{((left >> split::kFactLeftShift) & 7U &
                                       (fact >> split::kFactRightShift)) != 0}
                        << i;
        left = fact;
        previous = code;
    }
    out.last = previous;
    return out;
}
