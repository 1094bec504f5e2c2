// vocab: tokens -> a JunctionFilter.
#include "vocab/junction_build.h"

#include "base/utf8.h"
#include "vocab/vocab.h"

namespace tokenmill::vocab {

namespace {

std::uint32_t number_of(Bytes bytes) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        value |= std::uint32_t{bytes[i]} << (8 * i);
    }
    return value;
}

}  // namespace

// A token over bytes may hold any part of a character. Pairs of whole characters go into the
// filter; a junction with a part on one side goes into the set of parts:
//
//   token   c1 c2 | b1 b2 b3     left: the last bytes of a character, right: a whole one
//                 ^ junction
void JunctionBuilder::add_token(Bytes token) {
    add_sides(token);
    for (std::size_t at = 1; at < token.size(); ++at) {
        if (!is_lead3(token[at])) {
            continue;  // only junctions before a 3-byte character are ever cut
        }
        std::size_t begin = at - 1;
        while (begin > 0 && is_continuation(token[begin])) {
            --begin;
        }
        const Bytes left = token.subspan(begin, at - begin);
        const Bytes right = token.subspan(at, std::min<std::size_t>(3, token.size() - at));
        const bool left_whole = left.size() == 3 && is_lead3(left[0]);
        const bool left_suffix = is_continuation(left[0]) && left.size() <= 2;
        if (left_whole && right.size() == 3) {
            pairs_.insert(decode3(left.data()) << 16 | decode3(right.data()));
        } else if (left_whole || left_suffix) {
            add_part(left, right);
        }
    }
}

// See CharSide.
void JunctionBuilder::add_sides(Bytes token) {
    for (std::size_t at = 0; at + 2 < token.size(); ++at) {
        if (!is_lead3(token[at])) {
            continue;
        }
        std::uint8_t& sides = sides_[decode3(token.data() + at)];
        if (at != 0) {
            const bool is_char3 = at >= 3 && is_lead3(token[at - 3]);
            sides = static_cast<std::uint8_t>(sides | (is_char3 ? kAfterChar3 : kAfterOther));
        }
        if (at + 3 < token.size()) {
            const bool is_char3 = is_lead3(token[at + 3]);
            sides = static_cast<std::uint8_t>(sides | (is_char3 ? kBeforeChar3 : kBeforeOther));
        }
    }
}

void JunctionBuilder::write_sides(bool can_cut, BlobWriter& out) const {
    constexpr std::uint8_t kAll = kBeforeChar3 | kAfterChar3 | kBeforeOther | kAfterOther;
    out.add(kCharSides, can_cut ? sides_ : std::vector<std::uint8_t>(sides_.size(), kAll));
}

void JunctionBuilder::add_part(Bytes left, Bytes right) {
    const bool whole_left = left.size() == 3;
    const unsigned kind = whole_left ? 0 : right.size() == 3 ? 1 : 2;
    left_[kind].insert(number_of(left));
    right_[kind].insert(number_of(right));
    parts_.insert(JunctionFilter::part_key(left.data(), static_cast<TmU32>(left.size()),
                                           right.data(), static_cast<TmU32>(right.size())));
}

// Marks it as if a token held the last byte of any and the first byte of any other such character.
void JunctionBuilder::add_unknown(std::uint32_t code) {
    if (unknown_.empty()) {
        unknown_.resize(0x10000);
        for (unsigned last = 0x80; last < 0xC0; ++last) {
            for (unsigned first = 0xE0; first < 0xF0; ++first) {
                parts_.insert(std::uint64_t{last} << 32 | first);
            }
        }
    }
    unknown_[code] = true;
}

// flags, by code point:  bit 0..2  kinds of parts it is in as the left side
//                        bit 4..6  the same as the right side
// A junction is tested further only if the left nibble of one and the right nibble of the other
// meet.
void JunctionBuilder::write(bool can_cut, BlobWriter& out) const {
    std::vector<std::uint32_t> words(std::size_t{1} << JunctionFilter::kWordBits,
                                     can_cut ? 0 : 0xFFFFFFFFU);
    for (const std::uint32_t pair : pairs_) {
        words[JunctionFilter::word_of(pair)] |= JunctionFilter::bits_of(pair);
    }
    std::size_t size = 64;
    while (size < 4 * parts_.size()) {
        size *= 2;
    }
    std::vector<std::uint64_t> slots(size, 0);
    const std::set<std::uint64_t> in_order(parts_.begin(), parts_.end());  // same bytes everywhere
    for (const std::uint64_t key : in_order) {
        std::size_t at = JunctionFilter::part_slot(key) & (size - 1);
        while (slots[at] != 0) {
            at = (at + 1) & (size - 1);
        }
        slots[at] = key;
    }
    std::vector<std::uint8_t> flags(65536, 0);
    for (std::uint32_t code = 0x800; code < 0x10000; ++code) {
        std::uint8_t c[3];
        encode3(code, c);
        const Bytes whole(c, 3);
        unsigned as_left = left_[0].count(number_of(whole)) != 0 ? 1U : 0U;
        unsigned as_right = right_[1].count(number_of(whole)) != 0 ? 2U : 0U;
        for (std::size_t cut = 1; cut < 3; ++cut) {
            const std::uint32_t suffix = number_of(whole.subspan(cut));
            const std::uint32_t prefix = number_of(whole.first(cut));
            as_left |= left_[1].count(suffix) != 0 ? 2U : 0U;
            as_left |= left_[2].count(suffix) != 0 ? 4U : 0U;
            as_right |= right_[0].count(prefix) != 0 ? 1U : 0U;
            as_right |= right_[2].count(prefix) != 0 ? 4U : 0U;
        }
        if (!unknown_.empty() && unknown_[code]) {
            as_left |= 4U;
            as_right |= 4U;
        }
        flags[code] = static_cast<std::uint8_t>(as_left | as_right << 4);
    }
    out.add(kJunctionFilter, words);
    out.add(kJunctionFlags, flags);
    out.add(kJunctionParts, slots);
}

}  // namespace tokenmill::vocab
