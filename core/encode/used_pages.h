// encode: which pages of a table have a word. The others are not read. If a page is read before it
// is written, the system gets it twice, and the second time every processor has to forget the first
// one. That was a third of a first pass over Chinese (log 2026-11-20).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tokenmill::encode {

class UsedPages {
public:
    explicit UsedPages(std::size_t size_bytes) : bits_(size_bytes / kPage / 64 + 1) {}
    [[nodiscard]] bool has(std::size_t place) const noexcept {
        return (bits_[place / kPage / 64] & bit_of(place)) != 0;
    }
    // False if this is the first word of its page, so that all around it is empty.
    [[nodiscard]] bool add(std::size_t place) noexcept {
        const bool had = has(place);
        bits_[place / kPage / 64] |= bit_of(place);
        return had;
    }
    void add_all() noexcept { std::fill(bits_.begin(), bits_.end(), ~std::uint64_t{0}); }

private:
    static constexpr std::size_t kPage = 4096;
    [[nodiscard]] static std::uint64_t bit_of(std::size_t place) noexcept {
        return std::uint64_t{1} << (place / kPage % 64);
    }
    std::vector<std::uint64_t> bits_;
};

}  // namespace tokenmill::encode
