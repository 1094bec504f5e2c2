// encode/repeats: which missed units of a batch have the same text. Of the words that no table
// knows, a fifth to a third come again in the same batch, where no table can know them yet.
#pragma once

#include <cstring>

#include "base/bytes.h"
#include "base/hash.h"
#include "encode/unit.h"

namespace tokenmill::encode {

class Repeats {
public:
    static constexpr std::uint32_t kNone = 0xFFFFFFFFU;

    // Units are numbers of places in this column.
    explicit Repeats(const Unit* units) noexcept : units_(units) {}

    // A unit with the text of this one that was added before, or kNone. Another one may have taken
    // its place: then the text only counts as new.
    [[nodiscard]] std::uint32_t find(std::uint32_t index) noexcept {
        const std::uint8_t* const begin = unit_begin(units_[index]);
        const std::uint32_t size = unit_size(units_[index]);
        slot_ = slot_of(begin, size);
        if (slots_[slot_] == 0) {
            return kNone;
        }
        const Unit other = units_[slots_[slot_] - 1];
        const bool is_same =
            unit_size(other) == size && std::memcmp(unit_begin(other), begin, size) == 0;
        return is_same ? slots_[slot_] - 1U : kNone;
    }
    // Adds the unit that find() was asked for last.
    void add(std::uint32_t index) noexcept {
        slots_[slot_] = static_cast<std::uint16_t>(index + 1);
    }

private:
    static constexpr unsigned kBits = 8;  // a batch has at most a few hundred missed words

    // By the first and the last eight bytes.
    [[nodiscard]] static std::size_t slot_of(const std::uint8_t* begin,
                                             std::uint32_t size) noexcept {
        const std::uint64_t first = load_short(begin, size < 8 ? size : 8);
        const std::uint64_t last = size < 8 ? size : load<std::uint64_t>(begin + size - 8);
        return hash_pair(first, last) >> (64 - kBits);
    }

    const Unit* units_;
    std::size_t slot_ = 0;
    std::uint16_t slots_[std::size_t{1} << kBits] = {};  // index + 1, 0 is free
};

}  // namespace tokenmill::encode
