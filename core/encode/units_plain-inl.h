// encode: what targets need that make units with plain numbers. Text inside a target's namespace,
// at the top of its units_<target>-inl.h.

// Which of a unit's first eight bytes make its key, by its size: none if it is longer.
struct KeyMasks {
    constexpr KeyMasks() noexcept {
        for (unsigned size = 1; size <= 8; ++size) {
            of[size] = ~std::uint64_t{0} >> (64 - 8 * size);
        }
    }
    std::uint64_t of[129] = {};
};
constexpr KeyMasks kKeyMasks;

// Bit i: the unit that starts at i and ends at the next of `ends` has more than eight bytes.
//   near   an end in one of the eight places after i
inline std::uint64_t starts_of_longer(std::uint64_t ends) noexcept {
    std::uint64_t near = ends >> 1;
    near |= near >> 1;
    near |= near >> 2;
    near |= near >> 4;
    return ends & ~near;
}
