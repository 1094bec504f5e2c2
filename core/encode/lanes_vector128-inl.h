// encode: the ranks of a word while it is merged, for targets of 128 bits; see lanes_scalar-inl.h
// for the meaning. They stay in memory: to change three lanes in four vectors takes three times as
// many instructions as three stores. A store read back as a part of a vector is waited for, but the
// other words in step come in between.

template <unsigned kGroups>
class Lanes {
public:
    static Lanes of_ranks(const std::uint32_t* ranks) noexcept {
        Lanes lanes;
        std::memcpy(lanes.rank_ + kFirst, ranks, kLanes * sizeof(std::uint32_t));
        return lanes;
    }
    [[nodiscard]] std::uint32_t least() const noexcept {
        Vector m = load16(rank_ + kFirst);
        for (unsigned i = 4; i < kLanes; i += 4) {
            m = lesser_numbers(m, load16(rank_ + kFirst + i));
        }
        return least_number(m);
    }
    // Lane ~0, which is none, is the one in front of the first: no jump asks for it.
    void update(unsigned gone, unsigned before, std::uint32_t rank_before, unsigned at,
                std::uint32_t rank_at) noexcept {
        rank_[kFirst + gone] = kNoRank;
        rank_[kFirst + before] = rank_before;
        rank_[kFirst + at] = rank_at;
    }

private:
    static constexpr unsigned kLanes = 16 * kGroups;
    static constexpr unsigned kFirst = 4;
    alignas(16) std::uint32_t rank_[kFirst + kLanes];
};

inline unsigned equal_slots(const std::uint64_t* line, std::uint64_t key) noexcept {
    const Vector wanted = all_longs(&key);
    const auto same = [&](std::size_t at) {
        return equal_longs(shift_longs_down<vocab::kIdBits>(load16(line + at)), wanted);
    };
    return mask_of_longs(same(0), same(2), same(4), same(6));
}
