#include <algorithm>
#include <cstring>

#include "base/platform.h"
#include "read/kernel.h"
#include "unicode/unicode.h"

namespace tokenmill::read {

namespace {

constexpr std::size_t kSlack = 64;  // copies run in whole blocks
constexpr std::size_t kFirstBytes = std::size_t{1} << 20;

Bytes text_of(Bytes buffer, const Ranges& ranges, std::size_t i) {
    const auto begin = static_cast<std::size_t>(ranges.begins[i]);
    return buffer.subspan(begin, static_cast<std::size_t>(ranges.ends[i]) - begin);
}

// The next separator at or after `from`, or the buffer's size.
std::size_t find(Bytes buffer, Bytes separator, std::size_t from) noexcept {
    const void* found =
        find_bytes(buffer.data() + from, buffer.size() - from, separator.data(), separator.size());
    return found != nullptr
               ? static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - buffer.data())
               : buffer.size();
}

}  // namespace

const ReadKernel& kernel_of(simd::Target target) noexcept {
    switch (target) {
#if TOKENMILL_X86_64
        case simd::Target::Avx2:
            return kAvx2Kernel;
        case simd::Target::Avx512:
            return kAvx512Kernel;
#elif TOKENMILL_AARCH64
        case simd::Target::Neon:
            return kNeonKernel;
#endif
        default:
            return kScalarKernel;
    }
}

std::uint8_t* JoinedTexts::reserve(std::size_t more) {
    const std::size_t wanted = used_ + more + kSlack;
    if (wanted > memory_.size_bytes()) {
        // Pages cost only once touched, so asking for too much is free.
        PageBuffer larger =
            take_spare(std::max({wanted, 2 * memory_.size_bytes(), kFirstBytes}), Spares::Texts);
        if (used_ != 0) {
            std::memcpy(larger.data(), memory_.data(), used_);
        }
        memory_ = std::move(larger);
    }
    return memory_.data() + used_;
}

bool is_blank(Bytes text) noexcept {
    return std::all_of(text.begin(), text.end(), [](std::uint8_t c) {
        return c == ' ' || c == '\t' || c == '\r' || c == '\n';
    });
}

Ranges split_lines(Bytes buffer) {
    static constexpr std::uint8_t kNewline[1] = {'\n'};
    Ranges lines = split_at(buffer, kNewline);
    for (std::size_t i = 0; i < lines.begins.size(); ++i) {
        const Bytes line = text_of(buffer, lines, i);
        lines.ends[i] -= !line.empty() && line.back() == '\r' ? 1 : 0;
    }
    if (static_cast<std::size_t>(lines.begins.back()) == buffer.size()) {
        lines.begins.pop_back();
        lines.ends.pop_back();
    }
    return lines;
}

Ranges split_at(Bytes buffer, Bytes separator) {
    Ranges pieces;
    std::size_t begin = 0;
    for (;;) {
        const std::size_t end = find(buffer, separator, begin);
        pieces.begins.push_back(static_cast<std::int64_t>(begin));
        pieces.ends.push_back(static_cast<std::int64_t>(end));
        if (end == buffer.size()) {
            return pieces;
        }
        begin = end + separator.size();
    }
}

Cut last_cut(Bytes buffer, Bytes separator, simd::Target target) noexcept {
    if (separator.size() == 1) {
        const void* last = find_last_byte(buffer.data(), buffer.size(), separator[0]);
        if (last == nullptr) {
            return {0, 0};
        }
        const auto* end = static_cast<const std::uint8_t*>(last) + 1;
        const std::size_t count =
            separator[0] == '\n'
                ? kernel_of(target).count_newlines(buffer.data(), end)
                : static_cast<std::size_t>(std::count(buffer.data(), end, separator[0]));
        return {static_cast<std::size_t>(end - buffer.data()), count};
    }
    Cut cut = {0, 0};
    for (;;) {
        const std::size_t next = find(buffer, separator, cut.end);
        if (next == buffer.size()) {
            return cut;
        }
        cut = {next + separator.size(), cut.count + 1};
    }
}

std::vector<Reason> check_texts(Bytes buffer, const Ranges& ranges, std::size_t max_document_bytes,
                                bool skip_blank, simd::Target target) {
    const ReadKernel& kernel = kernel_of(target);
    std::vector<Reason> reasons(ranges.begins.size(), Reason::None);
    for (std::size_t i = 0; i < reasons.size(); ++i) {
        const Bytes text = text_of(buffer, ranges, i);
        if (skip_blank && is_blank(text)) {
            reasons[i] = Reason::Blank;
        } else if (text.empty()) {
            reasons[i] = Reason::EmptyText;
        } else if (text.size() > max_document_bytes) {
            reasons[i] = Reason::TooLong;
        } else if (!kernel.is_utf8(text.data(), text.data() + text.size())) {
            reasons[i] = Reason::BadUtf8;
        }
    }
    return reasons;
}

JoinedTexts join_texts(Bytes buffer, const Ranges& ranges, simd::Target target) {
    const ReadKernel& kernel = kernel_of(target);
    JoinedTexts texts;
    std::vector<std::uint8_t> repaired;
    for (std::size_t i = 0; i < ranges.begins.size(); ++i) {
        Bytes text = text_of(buffer, ranges, i);
        if (!kernel.is_utf8(text.data(), text.data() + text.size())) {
            repaired.clear();
            unicode::append_repaired(text, repaired);
            text = repaired;
        }
        std::uint8_t* to = texts.reserve(text.size());
        if (!text.empty()) {
            std::memcpy(to, text.data(), text.size());
        }
        texts.add(text.size());
    }
    return texts;
}

}  // namespace tokenmill::read
