#include "normalize/fused.h"

#include "normalize/ascii.h"
#include "normalize/steps.h"
#include "unicode/unicode.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace tokenmill::normalize {

namespace {

using Buffer = std::vector<std::uint8_t>;

const Entry& entry_at(const Memo& memo, const std::uint8_t* at) {
    return *at < 0x80 ? memo.ascii(*at) : memo.entry(unicode::read_character(at).point);
}

// Room that is always left behind the end of the output: a block, or an entry.
constexpr std::size_t kSlack = 64;

// Rewritten text, written by position into a buffer that is larger than it.
struct TextOutput {
    explicit TextOutput(Buffer& buffer) : out(buffer) {}

    void reserve(std::size_t size) {
        if (out.size() < n_written + size + kSlack) {
            out.resize(n_written + n_written / 2 + size + 2 * kSlack);
        }
    }

    void write_block(const BlockReader& block, std::size_t size, const std::uint8_t* /*at*/) {
        block.store(out.data() + n_written);
        n_written += size;
    }

    void write_entry(const Entry& entry, const std::uint8_t* /*at*/) {
        std::memcpy(out.data() + n_written, &entry, sizeof entry);
        n_written += entry.size;
    }

    // Runs the steps over a stretch, one after the other.
    void write_slowly(const std::vector<Step>& steps, Bytes stretch) {
        current.assign(stretch.begin(), stretch.end());
        for (const Step& step : steps) {
            next.clear();
            run_step(step, current, next);
            std::swap(current, next);
        }
        reserve(current.size());
        std::copy(current.begin(), current.end(),
                  out.begin() + static_cast<std::ptrdiff_t>(n_written));
        n_written += current.size();
    }

    void unwrite(std::size_t size) { n_written -= size; }
    void finish() { out.resize(n_written); }

    Buffer& out;
    std::size_t n_written = 0;
    Buffer current;
    Buffer next;
};

struct AlignedOutput {
    AlignedOutput(AlignedText& text_out, const std::uint8_t* input, const Span* input_spans)
        : out(text_out), text(input), spans(input_spans) {
        out.spans.resize(out.text.size());
    }

    void reserve(std::size_t size) {
        if (out.text.size() < n_written + size + kSlack) {
            out.text.resize(n_written + n_written / 2 + size + 2 * kSlack);
            out.spans.resize(out.text.size());
        }
    }

    void write_block(const BlockReader& block, std::size_t size, const std::uint8_t* at) {
        block.store(out.text.data() + n_written);
        Span* const to = out.spans.data() + n_written;
        if (spans != nullptr) {
            std::copy_n(spans + (at - text), size, to);
        } else {
            const auto first = static_cast<std::uint32_t>(at - text);
            for (std::uint32_t i = 0; i < kBlock; ++i) {  // there is room, and a fixed size is quick
                to[i] = {first + i, first + i + 1};
            }
        }
        n_written += size;
    }

    void write_entry(const Entry& entry, const std::uint8_t* at) {
        std::memcpy(out.text.data() + n_written, &entry, sizeof entry);
        std::fill_n(out.spans.data() + n_written, entry.size, span_at(at));
        n_written += entry.size;
    }

    // Of the character that begins there.
    [[nodiscard]] Span span_at(const std::uint8_t* at) const noexcept {
        if (spans != nullptr) {
            return spans[at - text];
        }
        const auto begin = static_cast<std::uint32_t>(at - text);
        return {begin, begin + unicode::size_of(*at)};
    }

    void write_slowly(const std::vector<Step>& steps, Bytes stretch) {
        current.text.assign(stretch.begin(), stretch.end());
        current.spans.clear();
        for (std::size_t at = 0; at < stretch.size();) {
            const std::size_t size = unicode::size_of(stretch[at]);
            current.spans.insert(current.spans.end(), size, span_at(stretch.data() + at));
            at += size;
        }
        for (const Step& step : steps) {
            next.text.clear();
            next.spans.clear();
            run_step(step, current.text, current.spans.data(), next);
            std::swap(current, next);
        }
        reserve(current.text.size());
        std::copy(current.text.begin(), current.text.end(), out.text.data() + n_written);
        std::copy(current.spans.begin(), current.spans.end(), out.spans.data() + n_written);
        n_written += current.text.size();
    }

    void unwrite(std::size_t size) { n_written -= size; }

    void finish() {
        out.text.resize(n_written);
        out.spans.resize(n_written);
    }

    AlignedText& out;
    const std::uint8_t* text;
    const Span* spans;  // null: the text is the original
    std::size_t n_written = 0;
    AlignedText current;
    AlignedText next;
};

// Behind the slow characters from `at` on: where the next two are not slow, between those. The
// steps can be done on both sides of such a place on their own.
const std::uint8_t* stretch_end(const Memo& memo, const std::uint8_t* at, const std::uint8_t* end) {
    for (bool was_slow = true; at != end; at += unicode::size_of(*at)) {
        const bool is_slow = entry_at(memo, at).is_slow != 0;
        if (!is_slow && !was_slow) {
            break;
        }
        was_slow = is_slow;
    }
    return at;
}

template <typename Output>
class Pass {
public:
    Pass(const Memo& memo, Bytes text, Output& output)
        : memo_(memo), floor_(text.data()), end_(text.data() + text.size()), output_(output) {}

    void run() {
        const std::uint8_t* at = floor_;
        output_.reserve(static_cast<std::size_t>(end_ - at));
        if (memo_.shape().is_usable) {
            at = run_blocks(at);
        }
        while (at != end_) {
            at = write_character(at);
        }
        output_.finish();
    }

private:
    // Blocks of printable ASCII at once, other characters one by one, up to the last few bytes.
    const std::uint8_t* run_blocks(const std::uint8_t* at) {
        BlockReader block(memo_.shape());
        while (end_ - at >= kBlock) {
            output_.reserve(kBlock);
            block.load(at);
            const unsigned exceptions = block.exceptions();
            if (exceptions == 0) {
                output_.write_block(block, kBlock, at);
                at += kBlock;
                continue;
            }
            const auto n_plain = static_cast<std::size_t>(std::countr_zero(exceptions));
            output_.write_block(block, n_plain, at);
            at = write_character(at + n_plain);
            while (at != end_ && *at >= 0x80) {
                at = write_character(at);
            }
        }
        return at;
    }

    const std::uint8_t* write_character(const std::uint8_t* at) {
        const Entry& entry = entry_at(memo_, at);
        if (entry.is_slow != 0) {
            return write_stretch(at);
        }
        output_.reserve(sizeof entry);
        output_.write_entry(entry, at);
        return at + unicode::size_of(*at);
    }

    // What stands before a slow character may depend on it, so it is taken back.
    const std::uint8_t* write_stretch(const std::uint8_t* at) {
        const std::uint8_t* begin = at;
        if (begin != floor_) {
            begin = unicode::previous_character(begin);
            output_.unwrite(entry_at(memo_, begin).size);
        }
        floor_ = stretch_end(memo_, at, end_);
        output_.write_slowly(memo_.steps(), {begin, floor_});
        return floor_;
    }

    const Memo& memo_;
    const std::uint8_t* floor_;  // what stands before this cannot be taken back, and need not be
    const std::uint8_t* end_;
    Output& output_;
};

}  // namespace

bool keeps_text(const Memo& memo, Bytes text) {
    const std::uint8_t* at = text.data();
    const std::uint8_t* const end = at + text.size();
    BlockReader block(memo.shape());
    while (at != end) {
        if (memo.shape().is_usable && end - at >= kBlock) {
            block.load(at);
            const unsigned exceptions = block.exceptions();
            const int n_plain = std::countr_zero(exceptions | 1U << kBlock);
            if ((block.capitals() & ((1U << n_plain) - 1)) != 0) {
                return false;
            }
            at += n_plain;
            if (exceptions == 0) {
                continue;
            }
        }
        do {
            const Entry& entry = entry_at(memo, at);
            if (entry.is_same == 0 || entry.is_slow != 0) {
                return false;
            }
            at += unicode::size_of(*at);
        } while (at != end && *at >= 0x80);
    }
    return true;
}

void run_fused(const Memo& memo, Bytes text, std::vector<std::uint8_t>& out) {
    TextOutput output(out);
    Pass(memo, text, output).run();
}

void run_fused(const Memo& memo, Bytes text, const Span* spans, AlignedText& out) {
    AlignedOutput output(out, text.data(), spans);
    if (!text.empty() && memo.may_lag() && entry_at(memo, text.data()).is_slow != 0) {
        output.write_slowly(memo.steps(), text);
        output.finish();
        return;
    }
    Pass(memo, text, output).run();
}

}  // namespace tokenmill::normalize
