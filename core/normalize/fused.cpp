#include "normalize/fused.h"

#include <bit>

#include "normalize/output.h"
#include "simd/bytes16.h"
#include "unicode/unicode.h"

namespace tokenmill::normalize {

namespace {

const MemoEntry& entry_at(const Memo& memo, const std::uint8_t* at) {
    return *at < 0x80 ? memo.ascii(*at) : memo.entry(unicode::read_character(at).point);
}

// Where the stretch of slow characters from `at` on ends: after the first of `n_calm` + 1 in a row
// that are not slow, so that the next stretch can start `n_calm` characters before its first slow
// one. The steps can run on both sides of such a place independently.
const std::uint8_t* stretch_end(const Memo& memo, const std::uint8_t* at, const std::uint8_t* end,
                                int n_calm) {
    const std::uint8_t* after_first = at;
    for (int n_seen = 0; at != end;) {
        n_seen = entry_at(memo, at).is_slow != 0 ? 0 : n_seen + 1;
        if (n_seen > n_calm) {
            return after_first;
        }
        at += char_size(*at);
        after_first = n_seen <= 1 ? at : after_first;
    }
    return end;
}

// Whether the first or the second character is slow.
bool begins_slow(const Memo& memo, Bytes text) {
    const std::uint8_t* const second = text.data() + char_size(text[0]);
    return entry_at(memo, text.data()).is_slow != 0 ||
           (second != text.data() + text.size() && entry_at(memo, second).is_slow != 0);
}

template <typename Output>
class Pass {
public:
    using Tip = typename Output::Tip;

    Pass(const Memo& memo, Bytes text, Output& output, const Stop* stop)
        : memo_(memo),
          begin_(text.data()),
          floor_(text.data()),
          end_(text.data() + text.size()),
          output_(output),
          stop_(stop) {
        output_.expect(text.size());
    }

    void run() {
        constexpr std::ptrdiff_t kPart = Output::kPart;
        StopPoints points(stop_);
        for (const std::uint8_t* at = floor_; at != end_;) {
            points.pass(static_cast<std::size_t>(at - begin_));
            Tip tip = output_.tip((kPart + simd::kBlock16) * MemoEntry::kMostBytes);
            const std::uint8_t* const stop = end_ - at > kPart ? at + kPart : end_;
            at = memo_.shape().is_usable ? write_blocks(at, stop, tip) : at;
            at = write_characters(at, stop, tip);
            output_.settle(tip);
            if (at < stop) {
                at = write_stretch(at);
            }
        }
        output_.finish();
    }

private:
    // Blocks of printable ASCII at once, other characters one by one. Returns the place of a slow
    // character, one less than a block after `stop`, or one with less than two blocks of text left.
    const std::uint8_t* write_blocks(const std::uint8_t* at, const std::uint8_t* stop, Tip& tip) {
        simd::AsciiBlock block(memo_.shape());
        while (at < stop && end_ - at >= 2 * simd::kBlock16) {
            block.load(at);
            unsigned exceptions = block.exceptions();
            if (exceptions == 0) {
                tip.write_block(block, simd::kBlock16, at);
                at += simd::kBlock16;
                continue;
            }
            const std::uint8_t* const block_end = at + simd::kBlock16;
            for (unsigned done = 0; exceptions != 0; exceptions &= exceptions - 1) {
                const auto place = static_cast<unsigned>(std::countr_zero(exceptions));
                tip.write_block(block, place - done, at);
                at += place - done;
                if (*at >= 0x80) {
                    break;
                }
                const MemoEntry& entry = memo_.ascii(*at);
                if (entry.is_slow != 0) {
                    return at;
                }
                tip.write_entry(entry, at);
                ++at;
                done = place + 1;
                block.load(at);
            }
            if (exceptions == 0) {
                const auto rest = static_cast<std::size_t>(block_end - at);
                tip.write_block(block, rest, at);
                at = block_end;
                continue;
            }
            at = write_wide(at, stop, tip);
            if (at < stop && entry_at(memo_, at).is_slow != 0) {
                return at;
            }
        }
        return at;
    }

    // Characters that are not ASCII, up to one that is, or is slow, or reaches beyond `stop`.
    const std::uint8_t* write_wide(const std::uint8_t* at, const std::uint8_t* stop, Tip& tip) {
        while (at < stop && *at >= 0x80) {
            if (is_lead3(*at)) {
                const char32_t point = decode3(at);
                if (memo_.is_same(point)) {
                    tip.write_three(at);
                    at += 3;
                    continue;
                }
                if (memo_.is_spaced(point)) {
                    tip.write_spaced_three(at);
                    at += 3;
                    continue;
                }
            }
            const unicode::Character character = unicode::read_character(at);
            const MemoEntry& entry = memo_.entry(character.point);
            if (entry.is_slow != 0) {
                break;
            }
            tip.write_entry(entry, at);
            at += character.size;
        }
        return at;
    }

    // Up to a slow character, or the first one at or after `stop`.
    const std::uint8_t* write_characters(const std::uint8_t* at, const std::uint8_t* stop,
                                         Tip& tip) {
        while (at < stop) {
            const MemoEntry& entry = entry_at(memo_, at);
            if (entry.is_slow != 0) {
                break;
            }
            tip.write_entry(entry, at);
            at += char_size(*at);
        }
        return at;
    }

    // The character before a slow one may depend on it, so it is written again. Both may vanish in
    // one cluster, which the reference aligns with the text before; then that is written again too.
    const std::uint8_t* write_stretch(const std::uint8_t* at) {
        const int n_calm = Output::kAligned && memo_.may_lag() ? 2 : 1;
        const std::uint8_t* begin = at;
        for (int count = 0; count < n_calm && begin != floor_; ++count) {
            begin = previous_char(begin);
            output_.unwrite(entry_at(memo_, begin).size);
        }
        floor_ = stretch_end(memo_, at, end_, n_calm);
        output_.write_slowly(memo_.steps(), {begin, floor_}, stop_);
        return floor_;
    }

    const Memo& memo_;
    const std::uint8_t* const begin_;
    const std::uint8_t* floor_;  // text before this is final
    const std::uint8_t* end_;
    Output& output_;
    const Stop* const stop_;
};

}  // namespace

bool keeps_text(const Memo& memo, Bytes text) {
    const std::uint8_t* at = text.data();
    const std::uint8_t* const end = at + text.size();
    simd::AsciiBlock block(memo.shape());
    while (at != end) {
        if (memo.shape().is_usable && end - at >= simd::kBlock16) {
            block.load(at);
            const unsigned exceptions = block.exceptions();
            const int n_plain = std::countr_zero(exceptions | 1U << simd::kBlock16);
            if ((block.capitals() & ((1U << n_plain) - 1)) != 0) {
                return false;
            }
            at += n_plain;
            if (exceptions == 0) {
                continue;
            }
        }
        do {
            const MemoEntry& entry = entry_at(memo, at);
            if (entry.is_same == 0 || entry.is_slow != 0) {
                return false;
            }
            at += char_size(*at);
        } while (at != end && *at >= 0x80);
    }
    return true;
}

void run_fused(const Memo& memo, Bytes text, Buffer& out, const Stop* stop) {
    TextOutput output(out);
    Pass(memo, text, output, stop).run();
}

void run_fused(const Memo& memo, Bytes text, const Span* spans, AlignedText& out,
               const Stop* stop) {
    AlignedOutput output(out, text.data(), spans);
    if (!text.empty() && memo.may_lag() && begins_slow(memo, text)) {
        output.write_slowly(memo.steps(), text, stop);
        output.finish();
        return;
    }
    Pass(memo, text, output, stop).run();
}

}  // namespace tokenmill::normalize
