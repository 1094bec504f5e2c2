// What a row of local steps makes of a character that stands alone, remembered for each character.
// A memo fills itself while it is read, a page of 64 characters at a time, from any thread: what it
// answers does not depend on who asked before.
#pragma once

#include "base/types.h"
#include "normalize/normalize.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tokenmill::normalize {

// What to write for a character.
struct Entry {
    static constexpr std::size_t kMostBytes = 11;  // a syllable of Hangul in parts has nine

    std::uint8_t bytes[kMostBytes] = {};
    std::uint8_t size : 6 = 0;
    std::uint8_t is_same : 1 = 0;  // the character itself
    std::uint8_t is_slow : 1 = 0;  // more bytes than fit here, or neighbours may matter
};
static_assert(sizeof(Entry) == 12);

// Which bytes of ASCII a block operation can do: printable ones stay or are lowered, but for two
// odd ones at the most.
struct AsciiShape {
    bool is_usable = false;
    bool lowers = false;
    std::uint8_t odd[2] = {0, 0};
};

class Memo {
public:
    explicit Memo(std::span<const Step> steps);
    ~Memo();
    Memo(const Memo&) = delete;
    Memo& operator=(const Memo&) = delete;

    [[nodiscard]] const Entry& entry(char32_t point) const {
        const Page* page = pages_[point >> 6].load(std::memory_order_acquire);
        return (page != nullptr ? *page : fill(point >> 6))[point & 0x3F];
    }

    // Of characters that stay, or get a blank on both sides, a bit each says so: the bits of a
    // script fit into the nearest cache, its entries do not. No bit while its page is not filled.
    [[nodiscard]] bool is_same(char32_t point) const {
        return (same_[point >> 6].load(std::memory_order_relaxed) >> (point & 0x3F) & 1) != 0;
    }
    [[nodiscard]] bool is_spaced(char32_t point) const {
        return (spaced_[point >> 6].load(std::memory_order_relaxed) >> (point & 0x3F) & 1) != 0;
    }

    [[nodiscard]] const Entry& ascii(std::uint8_t byte) const { return ascii_[byte]; }
    [[nodiscard]] const AsciiShape& shape() const { return shape_; }
    [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }

    // Whether the origin of what follows may depend on what the first characters became.
    [[nodiscard]] bool may_lag() const { return may_lag_; }

private:
    using Page = std::array<Entry, 64>;
    static constexpr std::size_t kPages = 0x110000 >> 6;

    const Page& fill(std::size_t page) const;
    void note_bits(std::size_t page, const Page& made) const;
    [[nodiscard]] Entry make_entry(char32_t point) const;
    void find_shape();

    std::vector<Step> steps_;
    bool may_lag_ = false;
    AsciiShape shape_;
    std::array<Entry, 128> ascii_;
    std::unique_ptr<std::atomic<const Page*>[]> pages_;
    using Bits = std::atomic<std::uint64_t>;
    static constexpr std::size_t kBasicPages = 0x10000 >> 6;  // bits only of these
    std::unique_ptr<Bits[]> same_;
    std::unique_ptr<Bits[]> spaced_;
};

}  // namespace tokenmill::normalize
