#include "normalize/sentence.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "unicode/unicode.h"

namespace tokenmill::normalize {

namespace {

constexpr std::uint8_t kBlank[] = {' '};
constexpr std::uint8_t kMarker[] = {0xE2, 0x96, 0x81};
constexpr std::uint32_t kMarkerCode = 0x2581;

// Text alone.
class PlainOutput {
public:
    explicit PlainOutput(Buffer& out) : out_(out) {}

    [[nodiscard]] const Buffer& text() const noexcept { return out_; }
    void write(Bytes content, const std::uint8_t* /*origin*/) {
        out_.insert(out_.end(), content.begin(), content.end());
    }
    void copy(const std::uint8_t* begin, const std::uint8_t* end) {
        out_.insert(out_.end(), begin, end);
    }
    void cut(std::size_t size) { out_.resize(size); }
    [[nodiscard]] const std::uint8_t* origin_of(std::size_t /*place*/) const noexcept {
        return nullptr;
    }
    void finish(const std::uint8_t* /*end*/) {}

private:
    Buffer& out_;
};

// Text with spans: the span of a byte reaches from the start of its origin to the start of the next
// byte's origin. So of the bytes of a replacement only the last one has a width.
class SpannedOutput {
public:
    SpannedOutput(AlignedText& out, const std::uint8_t* text) : out_(out), text_(text) {}

    [[nodiscard]] const Buffer& text() const noexcept { return out_.text; }
    void write(Bytes content, const std::uint8_t* origin) {
        out_.text.insert(out_.text.end(), content.begin(), content.end());
        out_.spans.resize(out_.text.size(), span_of(origin));
    }
    void copy(const std::uint8_t* begin, const std::uint8_t* end) {
        while (begin != end) {
            const std::uint32_t size = char_size(*begin);
            write({begin, size}, begin);
            begin += size;
        }
    }
    void cut(std::size_t size) {
        out_.text.resize(size);
        out_.spans.resize(size);
    }
    [[nodiscard]] const std::uint8_t* origin_of(std::size_t place) const noexcept {
        return text_ + out_.spans[place].begin;
    }
    void finish(const std::uint8_t* end) {
        std::uint32_t next = span_of(end).begin;
        for (auto span = out_.spans.rbegin(); span != out_.spans.rend(); ++span) {
            span->end = next;
            next = span->begin;
        }
    }

private:
    [[nodiscard]] Span span_of(const std::uint8_t* origin) const noexcept {
        const auto begin = static_cast<std::uint32_t>(origin - text_);
        return {begin, begin};
    }

    AlignedText& out_;
    const std::uint8_t* text_;
};

std::size_t find(Bytes text, Bytes wanted) {
    const auto view = [](Bytes bytes) {
        return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    };
    return std::min(view(text).find(view(wanted)), text.size());
}

}  // namespace

Sentence::Sentence(std::uint8_t flags, Bytes map, std::vector<std::vector<std::uint8_t>> kept,
                   std::size_t offset)
    : flags_(flags), kept_(std::move(kept)) {
    if (flags > kAllFlags || (has(kMarks) && has(kSpells))) {
        throw Error(ErrorCode::CorruptModel, "normalizer: unknown rules for blanks", offset);
    }
    if (!map.empty()) {
        map_.emplace(map, offset);
    }
    // Not by operator<: GCC 12 warns of its memcmp, wrongly.
    const auto is_less = [](std::uint8_t left, std::uint8_t right) { return left < right; };
    std::sort(kept_.begin(), kept_.end(), [&](const auto& left, const auto& right) {
        return std::lexicographical_compare(left.begin(), left.end(), right.begin(), right.end(),
                                            is_less);
    });
    for (const auto& text : kept_) {
        begins_kept_[text[0]] = true;
    }
    plain_.resize(0x10000);
    for (std::uint32_t code = 0; code < 0x10000; ++code) {
        plain_[code] = plain_of(code);
        if (code < 0x80 && code != ' ') {
            is_plain_ascii_[code] = plain_[code] != Plain::Never;
        }
    }
}

Sentence::Plain Sentence::plain_of(std::uint32_t code) const noexcept {
    if (is_surrogate(code) || (code == kMarkerCode && has(kSpells))) {
        return Plain::Never;
    }
    std::uint8_t bytes[5] = {};
    const std::uint32_t size = encode_char(code, bytes);
    if (begins_kept_[bytes[0]]) {
        return Plain::Never;
    }
    if (!map_ || !map_->begins_key({bytes, size})) {
        return Plain::Always;
    }
    if (size > 1 || map_->longest({bytes, size}).size != 0) {
        return Plain::Never;
    }
    for (bytes[1] = 0; bytes[1] < 0x80; ++bytes[1]) {
        if (map_->begins_key({bytes, 2})) {
            return Plain::Never;
        }
    }
    return Plain::BeforeAscii;
}

std::size_t Sentence::longest_kept(Bytes text) const noexcept {
    std::size_t found = 0;
    auto first = kept_.begin();
    auto last = kept_.end();
    for (std::size_t at = 0; at < text.size() && first != last; ++at) {
        // Of those that are equal up to here, the ones with the next byte.
        first = std::lower_bound(first, last, text[at], [at](const auto& kept, std::uint8_t byte) {
            return kept.size() <= at || kept[at] < byte;
        });
        last = std::upper_bound(first, last, text[at], [at](std::uint8_t byte, const auto& kept) {
            return byte < kept[at];
        });
        if (first != last && first->size() == at + 1) {
            found = at + 1;
        }
    }
    return found;
}

Sentence::Replacement Sentence::replacement_for(const std::uint8_t* at,
                                                const std::uint8_t* end) const {
    const auto rest = static_cast<std::size_t>(end - at);
    if (begins_kept_[*at]) {
        const std::size_t size = longest_kept({at, rest});
        if (size != 0) {
            return {size, {at, size}};
        }
    }
    if (map_) {
        const CharsMap::Found found = map_->longest({at, rest});
        if (found.size != 0) {
            return {found.size, found.value};
        }
    }
    const std::size_t size = std::min<std::size_t>(char_size(*at), rest);
    return {size, {at, size}};
}

// One rewrite of one text.
template <typename Output>
class Sentence::Run {
public:
    Run(const Sentence& rules, Bytes text, Output& output, const Stop* stop)
        : rules_(rules),
          squeezes_(rules.has(kSqueezes)),
          begin_(text.data()),
          at_(text.data()),
          end_(text.data() + text.size()),
          output_(output),
          blank_(rules.has(kMarks) ? Bytes(kMarker) : Bytes(kBlank)),
          points_(stop) {}

    void run() {
        skip_blanks();
        if (at_ == end_) {
            return;
        }
        if (rules_.has(kFront)) {
            output_.write(blank_, at_);
        }
        after_blank_ = squeezes_;
        while (at_ != end_) {
            points_.pass(static_cast<std::size_t>(at_ - begin_));
            copy_plain();
            if (at_ != end_) {
                const Replacement found = rules_.replacement_for(at_, end_);
                write(found.text);
                at_ += found.taken;
            }
        }
        finish();
    }

private:
    void skip_blanks() {
        while (squeezes_ && at_ != end_) {
            points_.pass(static_cast<std::size_t>(at_ - begin_));
            const Replacement found = rules_.replacement_for(at_, end_);
            if (found.text.size() != 1 || found.text[0] != ' ') {
                return;
            }
            at_ += found.taken;
        }
    }

    void finish() {
        const Buffer& text = output_.text();
        std::size_t size = text.size();
        while (squeezes_ && size >= blank_.size() &&
               std::equal(blank_.begin(), blank_.end(),
                          text.begin() + static_cast<std::ptrdiff_t>(size - blank_.size()))) {
            size -= blank_.size();
        }
        const std::uint8_t* end = end_;
        if (size < text.size()) {
            end = output_.origin_of(size);
            output_.cut(size);
        }
        if (rules_.has(kBack)) {
            output_.write(blank_, end);
        }
        output_.finish(end);
    }

    // Characters that stay as they are, with the blanks that stay between them.
    void copy_plain() {
        const std::uint8_t* const begin = at_;
        do {
            skip_ascii();
        } while (skip_character(begin));
        if (at_ != begin) {
            output_.copy(begin, at_);
            after_blank_ = squeezes_ && at_[-1] == ' ';
        }
    }

    // A run of letters and the like. The last one stays out if a wide character follows, which may
    // change it.
    void skip_ascii() noexcept {
        const std::uint8_t* at = at_;
        while (at != end_ && rules_.is_plain_ascii_[*at]) {
            ++at;
        }
        at_ = at != at_ && at != end_ && *at >= 0x80 ? at - 1 : at;
    }

    [[nodiscard]] bool skip_character(const std::uint8_t* begin) noexcept {
        if (at_ == end_) {
            return false;
        }
        const unicode::Character character = unicode::read_character(at_);
        if (character.point > 0xFFFF) {
            return false;
        }
        const Plain plain = rules_.plain_[character.point];
        const bool is_plain = plain == Plain::Always ||
                              (plain == Plain::BeforeAscii && end_ - at_ > 1 && at_[1] < 0x80);
        if (!is_plain || (*at_ == ' ' && (rules_.has(kMarks) || !stays(begin)))) {
            return false;
        }
        at_ += character.size;
        return true;
    }

    // Whether the blank at the cursor stays: with kSqueezes only the first one of a run does.
    [[nodiscard]] bool stays(const std::uint8_t* begin) const noexcept {
        return !squeezes_ || !(at_ == begin ? after_blank_ : at_[-1] == ' ');
    }

    void write(Bytes text) {
        if (after_blank_) {
            while (!text.empty() && text[0] == ' ') {
                text = text.subspan(1);
            }
        }
        if (text.empty()) {
            return;
        }
        after_blank_ = squeezes_ && text.back() == ' ';
        if (!rules_.has(kMarks) && !rules_.has(kSpells)) {
            output_.write(text, at_);
            return;
        }
        const Bytes from = rules_.has(kMarks) ? Bytes(kBlank) : Bytes(kMarker);
        while (!text.empty()) {
            const std::size_t place = find(text, from);
            output_.write(text.first(place), at_);
            text = text.subspan(place);
            if (!text.empty()) {
                output_.write(blank_, at_);
                text = text.subspan(from.size());
            }
        }
    }

    const Sentence& rules_;
    const bool squeezes_;
    const std::uint8_t* const begin_;
    const std::uint8_t* at_;
    const std::uint8_t* const end_;
    Output& output_;
    const Bytes blank_;
    StopPoints points_;
    bool after_blank_ = false;  // then blanks at the start of a replacement are dropped
};

void Sentence::rewrite(Bytes text, Buffer& out, const Stop* stop) const {
    PlainOutput output(out);
    Run<PlainOutput>(*this, text, output, stop).run();
}

void Sentence::rewrite(Bytes text, AlignedText& out, const Stop* stop) const {
    SpannedOutput output(out, text.data());
    Run<SpannedOutput>(*this, text, output, stop).run();
}

}  // namespace tokenmill::normalize
