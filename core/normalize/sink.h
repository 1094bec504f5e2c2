// normalize/sink: where a step writes to. A step passes the origin of every character, a byte of
// its input. A sink of plain text ignores it, one of aligned text looks up the span of that byte.
#pragma once

#include <cstdint>
#include <vector>

#include "base/stop.h"
#include "base/types.h"
#include "normalize/normalize.h"
#include "unicode/unicode.h"

namespace tokenmill::normalize {

struct TextSink {
    static constexpr bool kAligned = false;

    Buffer& out;
    const Stop* stop;
    StopPoints points;  // by what was written

    void write(Bytes content, const std::uint8_t* /*origin*/) {
        points.pass(out.size());
        out.insert(out.end(), content.begin(), content.end());
    }

    void copy(const std::uint8_t* begin, const std::uint8_t* end) {
        out.insert(out.end(), begin, end);
    }

    void put(char32_t point, const std::uint8_t* /*origin*/) {
        points.pass(out.size());
        std::uint8_t bytes[4];
        const std::uint32_t size = encode_char(point, bytes);
        out.insert(out.end(), bytes, bytes + size);
    }
};

struct AlignedSink {
    static constexpr bool kAligned = true;

    const std::uint8_t* text;  // the input of the step
    const Span* spans;         // the origins of its bytes
    AlignedText& out;
    const Stop* stop;
    StopPoints points;  // by what was written

    // Null: inserted before all text.
    void write(Bytes content, const std::uint8_t* origin) {
        points.pass(out.text.size());
        out.text.insert(out.text.end(), content.begin(), content.end());
        out.spans.resize(out.text.size(), origin == nullptr ? Span{} : spans[origin - text]);
    }

    void copy(const std::uint8_t* begin, const std::uint8_t* end) {
        out.text.insert(out.text.end(), begin, end);
        out.spans.insert(out.spans.end(), spans + (begin - text), spans + (end - text));
    }

    void put(char32_t point, const std::uint8_t* origin) {
        std::uint8_t bytes[4];
        const std::uint32_t size = encode_char(point, bytes);
        write({bytes, size}, origin);
    }
};

// A row of changes as the reference counts them: 0 replaces a character, 1 inserts one, and -n also
// removes n more. Returns the origin of each written character.
class Cursor {
public:
    Cursor(const std::uint8_t* begin, const std::uint8_t* end)
        : begin_(begin), at_(begin), end_(end) {}

    [[nodiscard]] const std::uint8_t* take(int change) noexcept {
        if (change > 0) {
            return at_ == begin_ ? nullptr : at_ - 1;
        }
        const std::uint8_t* const origin = at_ == end_ && at_ != begin_ ? at_ - 1 : at_;
        for (int count = change; count <= 0 && at_ != end_; ++count) {
            at_ += char_size(*at_);
        }
        return origin;
    }

private:
    const std::uint8_t* begin_;
    const std::uint8_t* at_;
    const std::uint8_t* end_;
};

}  // namespace tokenmill::normalize
