#include "normalize/squeeze.h"

#include <bit>

#include "normalize/output.h"
#include "normalize/scan.h"
#include "simd/bytes16.h"
#include "unicode/unicode.h"

namespace tokenmill::normalize {

namespace {

MemoEntry make_blank() noexcept {
    MemoEntry entry;
    entry.bytes[0] = ' ';
    entry.size = 1;
    return entry;
}

const MemoEntry kBlank = make_blank();

bool is_printable(std::uint8_t byte) noexcept {
    return byte > ' ' && byte < 0x7F;
}

template <typename Output>
class Squeeze {
public:
    using Tip = typename Output::Tip;

    Squeeze(Bytes text, Output& output, const Stop* stop)
        : begin_(text.data()),
          end_(text.data() + text.size()),
          at_(text.data()),
          output_(output),
          points_(stop) {
        output_.expect(text.size());
    }

    void run() {
        at_ = skip_white(at_, end_);
        while (at_ != end_) {
            points_.pass(static_cast<std::size_t>(at_ - begin_));
            // At most a blank for every character, and one more; the last block may reach over.
            Tip tip = output_.tip(2 * (Output::kPart + simd::kBlock16) + kSlack);
            const std::uint8_t* const stop =
                end_ - at_ > Output::kPart ? at_ + Output::kPart : end_;
            const std::uint8_t* at = write_blocks(at_, stop, tip);
            at_ = write_characters(at, stop, tip);
            output_.settle(tip);
        }
        output_.finish();
    }

private:
    // Writes the blank before a word, unless `is_inside_`.
    void begin_word(const std::uint8_t* at, Tip& tip) {
        if (!is_inside_) {
            tip.write_entry(kBlank, at);
            is_inside_ = true;
        }
    }

    // Blocks in which every blank is between two words at once; other white space one by one.
    // Returns a place less than a block after `stop`, or with at most one block of text left.
    const std::uint8_t* write_blocks(const std::uint8_t* at, const std::uint8_t* stop, Tip& tip) {
        simd::AsciiBlock block{simd::AsciiShape{}};
        while (at < stop && end_ - at > simd::kBlock16) {
            const auto [blanks, suspects] = simd::white_masks(at);
            const unsigned pairs = blanks & blanks >> 1;
            const bool ends_blank = blanks >> (simd::kBlock16 - 1) != 0;
            const bool is_plain = suspects == blanks && pairs == 0 &&
                                  (!ends_blank || is_printable(at[simd::kBlock16]));
            block.load(at);
            if (is_plain) {
                begin_word(at, tip);
                write_words(block, at, blanks, tip);
                at += simd::kBlock16;
                continue;
            }
            const auto n_black = static_cast<std::size_t>(std::countr_zero(suspects));
            if (n_black != 0) {
                begin_word(at, tip);
                tip.write_block(block, n_black, at);
                at += n_black;
            }
            at = write_suspect(at, tip);
        }
        return at;
    }

    // A block of single blanks; the origin of each is the word after it.
    static void write_words(const simd::AsciiBlock& block, const std::uint8_t* at, unsigned blanks,
                            Tip& tip) {
        tip.write_block(block, simd::kBlock16, at);
        if constexpr (requires { tip.span_to; }) {
            for (; blanks != 0; blanks &= blanks - 1) {
                const int place = std::countr_zero(blanks);
                tip.span_to[place - simd::kBlock16] = tip.spans[at + place + 1 - tip.text];
            }
        }
    }

    // White space up to its end, or else one byte; a block may have ended within a character.
    const std::uint8_t* write_suspect(const std::uint8_t* at, Tip& tip) {
        const bool is_first_byte = !is_continuation(*at);
        if (is_first_byte && unicode::is_white_space(unicode::read_character(at).point)) {
            is_inside_ = false;
            return skip_white(at, end_);
        }
        begin_word(at, tip);
        MemoEntry entry;
        entry.bytes[0] = *at;
        entry.size = 1;
        tip.write_entry(entry, at);
        return at + 1;
    }

    const std::uint8_t* write_characters(const std::uint8_t* at, const std::uint8_t* stop,
                                         Tip& tip) {
        while (at < stop) {
            at = write_suspect(at, tip);
        }
        return at;
    }

    const std::uint8_t* const begin_;
    const std::uint8_t* const end_;
    const std::uint8_t* at_;
    Output& output_;
    StopPoints points_;
    bool is_inside_ = false;
};

}  // namespace

void squeeze(Bytes text, Buffer& out, const Stop* stop) {
    TextOutput output(out);
    Squeeze(text, output, stop).run();
}

void squeeze(Bytes text, const Span* spans, AlignedText& out, const Stop* stop) {
    AlignedOutput output(out, text.data(), spans);
    Squeeze(text, output, stop).run();
}

}  // namespace tokenmill::normalize
