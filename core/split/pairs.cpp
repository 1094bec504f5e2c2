// split/pairs: which neighbours belong together -> tables for whole blocks.
#include "split/pairs.h"

#include <algorithm>
#include <array>
#include <vector>

namespace tokenmill::split {

namespace {

constexpr std::size_t kWide = 0x80;  // stands for every byte outside ASCII
constexpr std::size_t kBytes = 0x81;
constexpr std::size_t kLeftBits = 8;

// What a byte is joined to as the left neighbour: bit 0 in a word, bit 1 inside of it.
using Rights = std::array<std::uint8_t, kBytes>;

Rights rights_of(const Adjacency& adjacency, const InsideCuts& inside, std::size_t left) {
    Rights rights{};
    const auto left_class = static_cast<unsigned>(class_of_byte(static_cast<std::uint8_t>(left)));
    for (std::size_t right = 0; right < kBytes; ++right) {
        const auto byte = static_cast<std::uint8_t>(right);
        const bool is_joined = adjacency.joined(static_cast<std::uint8_t>(left), byte);
        const unsigned stays = inside.joins[static_cast<std::size_t>(class_of_byte(byte))];
        rights[right] =
            static_cast<std::uint8_t>((is_joined ? 1U : 0U) | (stays >> left_class & 1U) << 1);
    }
    return rights;
}

// The bits of every byte: as a left neighbour, and of the left neighbours that it is joined to.
struct PairBits {
    std::array<std::uint8_t, kBytes> left{};
    std::array<std::uint8_t, kBytes> first{};
    std::array<std::uint8_t, kBytes> second{};

    void join(std::size_t by, const Rights& rights, std::uint8_t bit) {
        left[by] = bit;
        for (std::size_t right = 0; right < kBytes; ++right) {
            if ((rights[right] & 1) != 0) {
                first[right] |= bit;
            }
            if ((rights[right] & 2) != 0) {
                second[right] |= bit;
            }
        }
    }
};

// Bytes that are joined to the same others share a bit: so there are fewer bits than classes and
// exceptions. False if there are still too many.
bool share_bits(const Adjacency& adjacency, const InsideCuts& inside, PairBits& bits) {
    std::vector<Rights> seen;
    for (std::size_t by = 0; by < kBytes; ++by) {
        const Rights rights = rights_of(adjacency, inside, by);
        if (rights == Rights{}) {
            continue;
        }
        const auto place =
            static_cast<std::size_t>(std::find(seen.begin(), seen.end(), rights) - seen.begin());
        if (place == kLeftBits) {
            return false;
        }
        if (place == seen.size()) {
            seen.push_back(rights);
        }
        bits.join(by, rights, static_cast<std::uint8_t>(1U << place));
    }
    return true;
}

bool find_bits(const Adjacency& adjacency, const InsideCuts& inside, PairBits& bits) {
    for (std::uint32_t i = 0; i < adjacency.exception_count; ++i) {
        if (adjacency.exceptions[i][0] >= 0x80 || adjacency.exceptions[i][1] >= 0x80) {
            return false;
        }
    }
    if (adjacency.exception_count != 0) {
        return share_bits(adjacency, inside, bits);
    }
    for (std::size_t by = 0; by < kBytes; ++by) {
        const auto number = static_cast<unsigned>(class_of_byte(static_cast<std::uint8_t>(by)));
        bits.join(by, rights_of(adjacency, inside, by), static_cast<std::uint8_t>(1U << number));
    }
    return true;
}

}  // namespace

bool make_pair_tables(const Adjacency& adjacency, const InsideCuts& inside,
                      simd::PairTables& tables) {
    PairBits bits;
    if (!find_bits(adjacency, inside, bits)) {
        return false;
    }
    std::size_t count = 0;
    for (std::size_t by = 0; by < kBytes; ++by) {
        std::size_t kind = 0;
        while (kind < count &&
               (tables.left[kind] != bits.left[by] || tables.first[kind] != bits.first[by] ||
                tables.second[kind] != bits.second[by])) {
            ++kind;
        }
        if (kind == simd::PairTables::kMostKinds) {
            return false;
        }
        count = std::max(count, kind + 1);
        tables.left[kind] = bits.left[by];
        tables.first[kind] = bits.first[by];
        tables.second[kind] = bits.second[by];
        (by == kWide ? tables.wide_kind : tables.kind[by]) = static_cast<std::uint8_t>(kind);
    }
    return true;
}

}  // namespace tokenmill::split
