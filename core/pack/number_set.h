// pack: an ordered set of small numbers, as a tree of bits with 64 children for each node.
//
//   level 1   0 0 1 0 ...            bit w: word w of level 0 is not empty
//   level 0   [0..63] [64..127] ...  bit n: n is in the set
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tokenmill::pack {

// Each bit of a level is set if the word below it has any bit. Takes an eighth of a byte for
// each number below `limit`; every call visits at most two words a level.
class NumberSet {
public:
    static constexpr std::int64_t kNone = -1;

    explicit NumberSet(std::size_t limit) {
        std::size_t words = limit / 64 + 1;
        levels_.emplace_back(words);
        while (words > 1) {
            words = (words + 63) / 64;
            levels_.emplace_back(words);
        }
    }

    void insert(std::size_t number) noexcept {
        for (auto& level : levels_) {
            level[number / 64] |= std::uint64_t{1} << (number % 64);
            number /= 64;
        }
    }

    void erase(std::size_t number) noexcept {
        for (auto& level : levels_) {
            level[number / 64] &= ~(std::uint64_t{1} << (number % 64));
            if (level[number / 64] != 0) {
                return;
            }
            number /= 64;
        }
    }

    // The least member that is at least `number`, or kNone.
    [[nodiscard]] std::int64_t at_least(std::size_t number) const noexcept {
        for (std::size_t height = 0; height < levels_.size(); ++height) {
            if (number / 64 >= levels_[height].size()) {
                return kNone;
            }
            const std::uint64_t above = levels_[height][number / 64] >> (number % 64);
            if (above != 0) {
                return least_below(height,
                                   number + static_cast<std::size_t>(std::countr_zero(above)));
            }
            number = number / 64 + 1;
        }
        return kNone;
    }

    // The largest member that is at most `number`, which is below the limit; or kNone.
    [[nodiscard]] std::int64_t at_most(std::size_t number) const noexcept {
        for (std::size_t height = 0; height < levels_.size(); ++height) {
            const std::uint64_t below = levels_[height][number / 64] << (63 - number % 64);
            if (below != 0) {
                return largest_below(height,
                                     number - static_cast<std::size_t>(std::countl_zero(below)));
            }
            if (number < 64) {
                return kNone;
            }
            number = number / 64 - 1;
        }
        return kNone;
    }

private:
    [[nodiscard]] std::int64_t least_below(std::size_t height, std::size_t node) const noexcept {
        while (height > 0) {
            const std::uint64_t word = levels_[--height][node];
            node = node * 64 + static_cast<std::size_t>(std::countr_zero(word));
        }
        return static_cast<std::int64_t>(node);
    }

    [[nodiscard]] std::int64_t largest_below(std::size_t height, std::size_t node) const noexcept {
        while (height > 0) {
            const std::uint64_t word = levels_[--height][node];
            node = node * 64 + 63 - static_cast<std::size_t>(std::countl_zero(word));
        }
        return static_cast<std::int64_t>(node);
    }

    std::vector<std::vector<std::uint64_t>> levels_;
};

}  // namespace tokenmill::pack
