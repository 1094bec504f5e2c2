#include "normalize/memo.h"

#include <algorithm>
#include <utility>

#include "normalize/steps.h"
#include "unicode/unicode.h"

namespace tokenmill::normalize {

namespace {

// Whether a neighbour can change what the step makes of `text`. A form looks only at the character
// before; a cluster may continue at both ends.
bool depends_on_neighbours(const Step& step, const Buffer& text) {
    const std::uint8_t* const last = previous_char(text.data() + text.size());
    return joins(step, unicode::read_character(text.data()).point) ||
           (step.kind == StepKind::CharsMap && joins(step, unicode::read_character(last).point));
}

}  // namespace

Memo::Memo(std::span<const Step> steps)
    : steps_(steps.begin(), steps.end()),
      pages_(new std::atomic<const Page*>[kPages]()),
      same_(new Bits[kBasicPages]()),
      spaced_(new Bits[kBasicPages]()) {
    may_lag_ = std::any_of(steps_.begin(), steps_.end(),
                           [](const Step& step) { return step.kind == StepKind::CharsMap; });
    for (char32_t point = 0; point < ascii_.size(); ++point) {
        ascii_[point] = make_entry(point);
    }
    find_shape();
}

Memo::~Memo() {
    for (std::size_t page = 0; page < kPages; ++page) {
        delete pages_[page].load(std::memory_order_relaxed);
    }
}

const Memo::Page& Memo::fill(std::size_t page) const {
    auto made = std::make_unique<Page>();
    for (std::size_t index = 0; index < made->size(); ++index) {
        (*made)[index] = make_entry(static_cast<char32_t>(page << 6 | index));
    }
    if (page < kBasicPages) {
        note_bits(page, *made);
    }
    const Page* expected = nullptr;
    if (pages_[page].compare_exchange_strong(expected, made.get(), std::memory_order_acq_rel)) {
        return *made.release();
    }
    return *expected;  // another thread was quicker, with the same answer
}

void Memo::note_bits(std::size_t page, const Page& made) const {
    std::uint64_t same = 0;
    std::uint64_t spaced = 0;
    for (std::size_t index = 0; index < made.size(); ++index) {
        const MemoEntry& entry = made[index];
        std::uint8_t bytes[4];
        const std::uint32_t size = encode_char(static_cast<char32_t>(page << 6 | index), bytes);
        const bool is_spaced = entry.is_slow == 0 && entry.size == size + 2 &&
                               entry.bytes[0] == ' ' && entry.bytes[size + 1] == ' ' &&
                               std::equal(bytes, bytes + size, entry.bytes + 1);
        same |= std::uint64_t{entry.is_slow == 0 && entry.is_same != 0} << index;
        spaced |= std::uint64_t{is_spaced} << index;
    }
    same_[page].store(same, std::memory_order_relaxed);
    spaced_[page].store(spaced, std::memory_order_relaxed);
}

MemoEntry Memo::make_entry(char32_t point) const {
    MemoEntry slow;
    slow.is_slow = 1;
    if (is_surrogate(point)) {
        return slow;
    }
    std::uint8_t bytes[4];
    const Bytes original(bytes, encode_char(point, bytes));
    Buffer text(original.begin(), original.end());
    Buffer next;
    // What vanishes lets its neighbours meet, which matters if a later step looks at neighbours.
    std::size_t n_contextual =
        static_cast<std::size_t>(std::count_if(steps_.begin(), steps_.end(), is_contextual));
    for (const Step& step : steps_) {
        if (text.empty() ? n_contextual != 0 : depends_on_neighbours(step, text)) {
            return slow;
        }
        next.clear();
        run_step(step, text, next, nullptr);
        // The reference aligns what is removed here with what was written before.
        if (step.kind == StepKind::CharsMap && next.empty()) {
            return slow;
        }
        n_contextual -= is_contextual(step) ? 1 : 0;
        std::swap(text, next);
    }
    if (text.size() > MemoEntry::kMostBytes) {
        return slow;
    }
    MemoEntry entry;
    std::copy(text.begin(), text.end(), entry.bytes);
    entry.size = text.size() & 0x3F;
    entry.is_same = std::equal(text.begin(), text.end(), original.begin(), original.end()) ? 1 : 0;
    return entry;
}

void Memo::find_shape() {
    const auto lowers = [this](char32_t point) {
        return ascii_[point].size == 1 && ascii_[point].bytes[0] == (point | 0x20);
    };
    shape_.lowers = lowers('A');
    std::size_t n_odd = 0;
    for (std::uint8_t byte = 0x20; byte < 0x7F; ++byte) {
        const bool is_capital = byte >= 'A' && byte <= 'Z';
        const bool fits = is_capital && shape_.lowers ? lowers(byte) : ascii_[byte].is_same != 0;
        if (!fits) {
            shape_.odd[n_odd & 1] = byte;
            ++n_odd;
        }
    }
    shape_.is_usable = n_odd <= 2;
}

}  // namespace tokenmill::normalize
