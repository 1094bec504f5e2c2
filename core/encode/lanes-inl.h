// encode: what the lanes_<target>-inl.h share. Text inside a target's namespace, before them.

constexpr unsigned kLaneBits = 6;
constexpr std::uint32_t kNoRank = 0xFFFFFFFFU;

// Symbols at the bits of `places`, of which the lowest is bit 1, to `out`; returns how many. The
// first argument says which way: a target may have one for its own lanes.
template <typename AnyLanes>
inline unsigned pick_symbols(const AnyLanes& /*lanes*/, const std::uint32_t* symbols,
                             std::uint64_t places, std::uint32_t* out) noexcept {
    unsigned count = 0;
    for (; places != 0; places &= places - 1) {
        out[count++] = symbols[trailing_zeros(places)];
    }
    return count;
}
