// normalize/output: rewritten text, written by position into a larger buffer, with and without
// spans.
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/types.h"
#include "normalize/memo.h"
#include "normalize/normalize.h"
#include "normalize/steps.h"
#include "simd/bytes16.h"
#include "unicode/unicode.h"

namespace tokenmill::normalize {

// Room after the end of the text: a store may be longer than what it writes.
inline constexpr std::size_t kSlack = 64;

class TextOutput {
public:
    static constexpr bool kAligned = false;
    static constexpr std::ptrdiff_t kPart = 256;  // bytes of input between two looks at the room

    // Where to write next. A local copy stays in registers during a loop; a member does not,
    // because a written byte might be part of it.
    struct Tip {
        std::uint8_t* to;

        void write_block(const simd::AsciiBlock& block, std::size_t size,
                         const std::uint8_t* /*at*/) {
            block.store(to);
            to += size;
        }

        void write_entry(const MemoEntry& entry, const std::uint8_t* /*at*/) {
            std::memcpy(to, &entry, sizeof entry);
            to += entry.size;
        }

        // A character of three bytes, as it is or between blanks.
        void write_three(const std::uint8_t* at) {
            std::memcpy(to, at, 3);
            to += 3;
        }
        void write_spaced_three(const std::uint8_t* at) {
            to[0] = ' ';
            std::memcpy(to + 1, at, 3);
            to[4] = ' ';
            to += 5;
        }
    };

    explicit TextOutput(Buffer& out) : out_(out) {}

    // Makes room for what a text of this size usually becomes.
    void expect(std::size_t size) {
        out_.reserve(size + size / 8 + kPart * MemoEntry::kMostBytes + 2 * kSlack);
    }

    // A tip with room for `size` bytes.
    [[nodiscard]] Tip tip(std::size_t size) {
        if (out_.size() < n_written_ + size + kSlack) {
            out_.resize(n_written_ + size + kSlack);
        }
        return {out_.data() + n_written_};
    }

    void settle(const Tip& tip) { n_written_ = static_cast<std::size_t>(tip.to - out_.data()); }
    void unwrite(std::size_t size) { n_written_ -= size; }
    void finish() { out_.resize(n_written_); }

    // Runs the steps over a stretch, one after the other.
    void write_slowly(const std::vector<Step>& steps, Bytes stretch, const Stop* stop) {
        current_.assign(stretch.begin(), stretch.end());
        for (const Step& step : steps) {
            next_.clear();
            run_step(step, current_, next_, stop);
            std::swap(current_, next_);
        }
        std::copy(current_.begin(), current_.end(), tip(current_.size()).to);
        n_written_ += current_.size();
    }

private:
    Buffer& out_;
    std::size_t n_written_ = 0;
    Buffer current_;
    Buffer next_;
};

class AlignedOutput {
public:
    static constexpr bool kAligned = true;
    static constexpr std::ptrdiff_t kPart = 128;

    struct Tip {
        std::uint8_t* to;
        Span* span_to;
        const std::uint8_t* text;
        const Span* spans;  // null: the text is the original

        // Of the character that starts there.
        [[nodiscard]] Span span_at(const std::uint8_t* at) const noexcept {
            if (spans != nullptr) {
                return spans[at - text];
            }
            const auto begin = static_cast<std::uint32_t>(at - text);
            return {begin, begin + char_size(*at)};
        }

        void write_block(const simd::AsciiBlock& block, std::size_t size, const std::uint8_t* at) {
            block.store(to);
            if (spans != nullptr) {
                std::memcpy(span_to, spans + (at - text), simd::kBlock16 * sizeof(Span));
            } else {
                const auto first = static_cast<std::uint32_t>(at - text);
                for (std::uint32_t i = 0; i < simd::kBlock16; ++i) {
                    span_to[i] = {first + i, first + i + 1};
                }
            }
            to += size;
            span_to += size;
        }

        void write_entry(const MemoEntry& entry, const std::uint8_t* at) {
            std::memcpy(to, &entry, sizeof entry);
            std::fill_n(span_to, sizeof entry, span_at(at));
            to += entry.size;
            span_to += entry.size;
        }

        void write_three(const std::uint8_t* at) {
            std::memcpy(to, at, 3);
            std::fill_n(span_to, 3, span_at(at));
            to += 3;
            span_to += 3;
        }
        void write_spaced_three(const std::uint8_t* at) {
            to[0] = ' ';
            std::memcpy(to + 1, at, 3);
            to[4] = ' ';
            std::fill_n(span_to, 5, span_at(at));
            to += 5;
            span_to += 5;
        }
    };

    AlignedOutput(AlignedText& out, const std::uint8_t* text, const Span* spans)
        : out_(out), text_(text), spans_(spans) {}

    void expect(std::size_t size) {
        const std::size_t room = size + size / 8 + kPart * MemoEntry::kMostBytes + 2 * kSlack;
        out_.text.reserve(room);
        out_.spans.reserve(room);
    }

    [[nodiscard]] Tip tip(std::size_t size) {
        if (out_.text.size() < n_written_ + size + kSlack) {
            out_.text.resize(n_written_ + size + kSlack);
        }
        if (out_.spans.size() < out_.text.size()) {
            out_.spans.resize(out_.text.size());
        }
        return {out_.text.data() + n_written_, out_.spans.data() + n_written_, text_, spans_};
    }

    void settle(const Tip& tip) {
        n_written_ = static_cast<std::size_t>(tip.to - out_.text.data());
    }

    void unwrite(std::size_t size) { n_written_ -= size; }

    void finish() {
        out_.text.resize(n_written_);
        out_.spans.resize(n_written_);
    }

    void write_slowly(const std::vector<Step>& steps, Bytes stretch, const Stop* stop) {
        const Tip here = tip(0);
        current_.text.assign(stretch.begin(), stretch.end());
        current_.spans.clear();
        for (std::size_t at = 0; at < stretch.size();) {
            const std::size_t size = char_size(stretch[at]);
            current_.spans.insert(current_.spans.end(), size, here.span_at(stretch.data() + at));
            at += size;
        }
        for (const Step& step : steps) {
            next_.text.clear();
            next_.spans.clear();
            run_step(step, current_.text, current_.spans.data(), next_, stop);
            std::swap(current_, next_);
        }
        const Tip room = tip(current_.text.size());
        std::copy(current_.text.begin(), current_.text.end(), room.to);
        std::copy(current_.spans.begin(), current_.spans.end(), room.span_to);
        n_written_ += current_.text.size();
    }

private:
    AlignedText& out_;
    const std::uint8_t* text_;
    const Span* spans_;
    std::size_t n_written_ = 0;
    AlignedText current_;
    AlignedText next_;
};

}  // namespace tokenmill::normalize
