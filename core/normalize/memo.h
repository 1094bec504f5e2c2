// normalize/memo: a character -> what a row of local steps makes of it when no neighbour matters. A
// memo fills itself while it is read, a page of 64 characters at a time, from any thread. Its
// answer never depends on earlier calls.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/types.h"
#include "normalize/normalize.h"
#include "simd/bytes16.h"

namespace tokenmill::normalize {

// What to write for a character.
struct MemoEntry {
    static constexpr std::size_t kMostBytes = 11;  // a decomposed syllable of Hangul has nine

    std::uint8_t bytes[kMostBytes] = {};
    std::uint8_t size : 6 = 0;
    std::uint8_t is_same : 1 = 0;  // it stays as it is
    std::uint8_t is_slow : 1 = 0;  // more bytes than fit here, or neighbours may matter
};
static_assert(sizeof(MemoEntry) == 12);

class Memo {
public:
    explicit Memo(std::span<const Step> steps);
    ~Memo();
    Memo(const Memo&) = delete;
    Memo& operator=(const Memo&) = delete;

    [[nodiscard]] const MemoEntry& entry(char32_t point) const {
        const Page* page = pages_[point >> 6].load(std::memory_order_acquire);
        return (page != nullptr ? *page : fill(point >> 6))[point & 0x3F];
    }

    // One bit for characters that stay, one for those that get a blank on both sides: the bits of a
    // script fit into the first cache, its entries do not. No bit is set before its page is filled.
    [[nodiscard]] bool is_same(char32_t point) const {
        return (same_[point >> 6].load(std::memory_order_relaxed) >> (point & 0x3F) & 1) != 0;
    }
    [[nodiscard]] bool is_spaced(char32_t point) const {
        return (spaced_[point >> 6].load(std::memory_order_relaxed) >> (point & 0x3F) & 1) != 0;
    }

    [[nodiscard]] const MemoEntry& ascii(std::uint8_t byte) const { return ascii_[byte]; }
    [[nodiscard]] const simd::AsciiShape& shape() const { return shape_; }
    [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }

    // Whether the origin of what follows may depend on what the first characters became.
    [[nodiscard]] bool may_lag() const { return may_lag_; }

private:
    using Page = std::array<MemoEntry, 64>;
    static constexpr std::size_t kPages = 0x110000 >> 6;

    const Page& fill(std::size_t page) const;
    void note_bits(std::size_t page, const Page& made) const;
    [[nodiscard]] MemoEntry make_entry(char32_t point) const;
    void find_shape();

    std::vector<Step> steps_;
    bool may_lag_ = false;
    simd::AsciiShape shape_;
    std::array<MemoEntry, 128> ascii_;
    std::unique_ptr<std::atomic<const Page*>[]> pages_;
    using Bits = std::atomic<std::uint64_t>;
    static constexpr std::size_t kBasicPages = 0x10000 >> 6;  // bits only of these
    std::unique_ptr<Bits[]> same_;
    std::unique_ptr<Bits[]> spaced_;
};

}  // namespace tokenmill::normalize
