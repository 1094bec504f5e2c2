// What is known of the three-byte characters of a block, one by one: the plain meaning of what the
// vector targets do. Text inside a target's namespace.

constexpr std::ptrdiff_t kReadableBlock = 72;  // bytes of a block that scanners may read

// `facts` holds the kFact... bits of every code point.
template <bool kDoubtFirst, typename Junctions>
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
        const bool in_doubt =
            ((left >> split::kFactLeftShift) & 7U & (fact >> split::kFactRightShift)) != 0;
        const bool is_asked = !kDoubtFirst || in_doubt;
        out.paired |= std::uint64_t{is_asked && junctions.paired(previous, code) != 0} << i;
        out.in_doubt |= std::uint64_t{in_doubt} << i;
        left = fact;
        previous = code;
    }
    out.last = previous;
    return out;
}
