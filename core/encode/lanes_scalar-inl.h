// encode: the ranks of a word while it is merged, on plain arrays: one lane for every byte. The
// AVX2 and AVX-512 forms have the same members. A rank holds the id that the pair merges to, and
// its lane:
//
//   bit    31 .. 6     5 .. 0
//          merged id   lane          all ones: no merge
//
// Ids are in the order of ranks, so the least number names the next merge and its place at once.

template <unsigned kGroups>  // of sixteen lanes
class Lanes {
public:
    // 16 * kGroups ranks, aligned.
    static Lanes of_ranks(const std::uint32_t* ranks) noexcept {
        Lanes lanes;
        std::memcpy(lanes.rank_, ranks, sizeof(lanes.rank_));
        return lanes;
    }
    [[nodiscard]] std::uint32_t least() const noexcept {
        std::uint32_t least = kNoRank;
        for (unsigned i = 0; i < 16 * kGroups; ++i) {
            least = rank_[i] < least ? rank_[i] : least;
        }
        return least;
    }
    // Lane `gone` is merged away; a lane of ~0 is none.
    void update(unsigned gone, unsigned before, std::uint32_t rank_before, unsigned at,
                std::uint32_t rank_at) noexcept {
        rank_[gone] = kNoRank;
        if (before != ~0U) {
            rank_[before] = rank_before;
        }
        rank_[at] = rank_at;
    }

private:
    std::uint32_t rank_[16 * kGroups];
};

// Bit i: slot i of the line has this key, for eight slots.
inline unsigned equal_slots(const std::uint64_t* line, std::uint64_t key) noexcept {
    unsigned same = 0;
    for (unsigned i = 0; i < vocab::PairTable::kLine; ++i) {
        same |= (line[i] >> vocab::kIdBits == key ? 1U : 0U) << i;
    }
    return same;
}
