#include "normalize/pattern.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "unicode/unicode.h"

namespace tokenmill::normalize {

namespace {

constexpr std::uint16_t kMatchHere = 0x8000;
constexpr std::uint32_t kStart = 1;
constexpr std::uint32_t kMostClasses = 255;

class TableReader {
public:
    TableReader(Bytes table, std::size_t offset) : rest_(table), offset_(offset) {}

    std::uint32_t number() {
        std::uint32_t value;
        std::memcpy(&value, take(4).data(), 4);
        return value;
    }

    Bytes take(std::size_t size) {
        if (rest_.size() < size) {
            fail("cut short");
        }
        const Bytes front = rest_.first(size);
        rest_ = rest_.subspan(size);
        return front;
    }

    [[noreturn]] void fail(const char* problem) const {
        throw Error(ErrorCode::CorruptModel,
                    std::string("normalizer: the table of a pattern ") + problem, offset_);
    }

    [[nodiscard]] std::size_t left() const { return rest_.size(); }

private:
    Bytes rest_;
    std::size_t offset_;
};

// First place of the two bytes, or `end`; both are ASCII.
const std::uint8_t* find_two(const std::uint8_t* at, const std::uint8_t* end,
                             std::array<std::uint8_t, 2> pair) noexcept {
    constexpr std::ptrdiff_t kStride = 64;
    while (end - at > kStride) {
        // Without an early exit the loop is vectorized.
        unsigned found = 0;
        for (int index = 0; index < kStride; ++index) {
            found |= static_cast<unsigned>(at[index] == pair[0]) &
                     static_cast<unsigned>(at[index + 1] == pair[1]);
        }
        if (found != 0) {
            break;
        }
        at += kStride;
    }
    for (; end - at > 1; ++at) {
        if (at[0] == pair[0] && at[1] == pair[1]) {
            return at;
        }
    }
    return end;
}

}  // namespace

Pattern::Pattern(Bytes table, std::size_t offset) {
    TableReader numbers(table, offset);
    const std::uint32_t n_ranges = numbers.number();
    if (n_ranges == 0 || n_ranges > numbers.left() / 8) {
        numbers.fail("has an impossible number of ranges");
    }
    for (std::uint32_t index = 0; index < n_ranges; ++index) {
        firsts_.push_back(numbers.number());
        classes_.push_back(numbers.number());
    }
    const std::uint32_t n_classes = numbers.number();
    const std::uint32_t n_states = numbers.number();
    const bool is_ordered = firsts_[0] == 0 && std::is_sorted(firsts_.begin(), firsts_.end());
    if (!is_ordered || n_classes == 0 || n_classes > kMostClasses || n_states < 2 ||
        *std::max_element(classes_.begin(), classes_.end()) >= n_classes) {
        numbers.fail("contradicts itself");
    }
    width_ = n_classes + 1;
    if (numbers.left() / width_ / 2 != n_states ||
        numbers.left() != std::size_t{2} * width_ * n_states) {
        numbers.fail("does not have the size that its states and classes need");
    }
    next_.resize(std::size_t{width_} * n_states);
    std::memcpy(next_.data(), numbers.take(next_.size() * 2).data(), next_.size() * 2);
    for (const std::uint16_t step : next_) {
        if ((step & ~kMatchHere) >= n_states) {
            numbers.fail("leads to a state that does not exist");
        }
    }
    for (std::uint32_t symbol = 0; symbol < width_; ++symbol) {
        if ((next_[kStart * width_ + symbol] & kMatchHere) != 0) {
            numbers.fail("matches the empty text");
        }
    }
    find_starts();
    find_start_pair();
}

// Which first bytes can start a match, and the classes of ASCII.
void Pattern::find_starts() {
    for (char32_t point = 0; point < 0x80; ++point) {
        const auto row = std::upper_bound(firsts_.begin(), firsts_.end(), point) - 1;
        ascii_[point] =
            static_cast<std::uint8_t>(classes_[static_cast<std::size_t>(row - firsts_.begin())]);
    }
    for (std::size_t index = 0; index < firsts_.size(); ++index) {
        const std::uint32_t end = index + 1 < firsts_.size() ? firsts_[index + 1] : 0x110000;
        if (next_[kStart * width_ + classes_[index]] == 0 || end == firsts_[index]) {
            continue;
        }
        std::uint8_t first[4];
        std::uint8_t last[4];
        (void)encode_char(firsts_[index], first);
        (void)encode_char(end - 1, last);
        std::fill(may_start_.begin() + first[0], may_start_.begin() + last[0] + 1, true);
    }
}

// A prefilter: if only one ASCII byte can start a match, and only one can follow it, a search for
// the two bytes skips most of the text.
void Pattern::find_start_pair() {
    const auto only = [this](std::uint32_t state, std::uint8_t& byte) {
        int n_found = 0;
        for (std::size_t index = 0; index < firsts_.size(); ++index) {
            const std::uint32_t end = index + 1 < firsts_.size() ? firsts_[index + 1] : 0x110000;
            if (next_[state * width_ + classes_[index]] != 0 && end != firsts_[index]) {
                n_found += end - firsts_[index] == 1 && firsts_[index] < 0x80 ? 1 : 2;
                byte = static_cast<std::uint8_t>(firsts_[index]);
            }
        }
        return n_found == 1;
    };
    if (only(kStart, pair_[0])) {
        const std::uint32_t state = next_[kStart * width_ + ascii_[pair_[0]]];
        has_pair_ = next_[state * width_ + width_ - 1] == 0 && only(state, pair_[1]);
    }
}

std::uint32_t Pattern::class_of(char32_t point) const noexcept {
    if (point < 0x80) {
        return ascii_[point];
    }
    const auto row = std::upper_bound(firsts_.begin(), firsts_.end(), point) - 1;
    return classes_[static_cast<std::size_t>(row - firsts_.begin())];
}

const std::uint8_t* Pattern::match_end(const std::uint8_t* at,
                                       const std::uint8_t* end) const noexcept {
    const std::uint8_t* found = nullptr;
    for (std::uint32_t state = kStart;;) {
        const bool is_end = at == end;
        const unicode::Character character =
            is_end ? unicode::Character{} : unicode::read_character(at);
        const std::uint32_t symbol = is_end ? width_ - 1 : class_of(character.point);
        const std::uint16_t step = next_[state * width_ + symbol];
        found = (step & kMatchHere) != 0 ? at : found;
        state = step & ~kMatchHere & 0xFFFF;
        if (state == 0 || is_end) {
            return found;
        }
        at += character.size;
    }
}

ByteRange Pattern::find(Bytes text, std::size_t from) const noexcept {
    const std::uint8_t* const begin = text.data();
    if (begin == nullptr) {  // an empty text may have no address
        return {};
    }
    const std::uint8_t* const end = begin + text.size();
    for (std::size_t at = from; at < text.size(); at += char_size(text[at])) {
        if (has_pair_) {
            at = static_cast<std::size_t>(find_two(begin + at, end, pair_) - begin);
            if (at == text.size()) {
                break;
            }
        } else if (!may_start_[text[at]]) {
            continue;
        }
        if (const std::uint8_t* const stop = match_end(begin + at, end); stop != nullptr) {
            return {at, static_cast<std::size_t>(stop - begin)};
        }
    }
    return {text.size(), text.size()};
}

}  // namespace tokenmill::normalize
