#include "normalize/charsmap.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "base/error.h"
#include "unicode/unicode.h"

namespace tokenmill::normalize {

namespace {

// A unit of the double array: bits 0-7 the label of the edge that leads here, bit 8 whether a
// value hangs here, bit 9 whether the offset is in steps of 256, bits 10-30 the offset. A value
// has bit 31 set, and so no label fits it.
std::size_t offset_of(std::uint32_t unit) noexcept {
    return std::size_t{unit >> 10 & 0x1FFFFF} << ((unit & 0x200) != 0 ? 8 : 0);
}

std::uint32_t label_of(std::uint32_t unit) noexcept {
    return unit & 0x800000FF;
}

}  // namespace

CharsMap::CharsMap(Bytes blob, std::size_t offset) {
    const auto fail = [offset](const char* problem) {
        throw Error(ErrorCode::CorruptModel, std::string("normalizer: ") + problem, offset);
    };
    if (blob.size() < 4) {
        fail("a map of characters without its size");
    }
    const std::size_t size = load<std::uint32_t>(blob.data());
    const std::size_t n_units = size / 4;
    if (n_units == 0 || (blob.size() - 4) / 4 < n_units) {
        fail("the trie of a map of characters is cut short");
    }
    units_.resize(n_units);
    std::memcpy(units_.data(), blob.data() + 4, n_units * 4);
    const Bytes texts = blob.subspan(4 + n_units * 4);
    if (unicode::find_fault(texts).size != 0) {
        fail("the replacements of a map of characters are not UTF-8");
    }
    texts_.assign(texts.begin(), texts.end());
}

std::optional<Bytes> CharsMap::find(Bytes key) const noexcept {
    std::size_t node = offset_of(units_[0]);
    for (const std::uint8_t byte : key) {
        node ^= byte;
        if (byte == 0 || node >= units_.size() || label_of(units_[node]) != byte) {
            return std::nullopt;
        }
        const std::uint32_t unit = units_[node];
        node ^= offset_of(unit);
        if ((unit & 0x100) != 0) {
            return node < units_.size() ? replacement_at(units_[node] & 0x7FFFFFFF) : std::nullopt;
        }
    }
    return std::nullopt;
}

CharsMap::Found CharsMap::longest(Bytes text) const noexcept {
    Found found;
    std::size_t node = offset_of(units_[0]);
    for (std::size_t at = 0; at < text.size(); ++at) {
        node ^= text[at];
        if (node >= units_.size() || label_of(units_[node]) != text[at]) {
            break;
        }
        const std::uint32_t unit = units_[node];
        node ^= offset_of(unit);
        if ((unit & 0x100) != 0 && node < units_.size()) {
            if (const auto value = replacement_at(units_[node] & 0x7FFFFFFF)) {
                found = {at + 1, *value};
            }
        }
    }
    return found;
}

bool CharsMap::begins_key(Bytes text) const noexcept {
    std::size_t node = offset_of(units_[0]);
    for (const std::uint8_t byte : text) {
        node ^= byte;
        if (node >= units_.size() || label_of(units_[node]) != byte) {
            return false;
        }
        node ^= offset_of(units_[node]);
    }
    return true;
}

std::optional<Bytes> CharsMap::replacement_at(std::size_t place) const noexcept {
    if (place > texts_.size()) {
        return std::nullopt;
    }
    const auto begin = texts_.begin() + static_cast<std::ptrdiff_t>(place);
    const auto end = std::find(begin, texts_.end(), std::uint8_t{0});
    if (begin != end && is_continuation(*begin)) {
        return std::nullopt;  // within a character
    }
    return Bytes(begin, end);
}

}  // namespace tokenmill::normalize
