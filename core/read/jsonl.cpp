#include <algorithm>
#include <cstring>

#include "read/kernel.h"
#include "unicode/unicode.h"

namespace tokenmill::read {

namespace {

constexpr std::size_t kGroup = std::size_t{1}
                               << 16;  // still in the cache when its lines are parsed

// The result of one line: a reason and its place, or none and a text that was added.
struct LineResult {
    Reason reason = Reason::None;
    const std::uint8_t* fault = nullptr;
};

class LineReader {
public:
    LineReader(Bytes buffer, const Rules& rules, const ReadKernel& kernel)
        : buffer_(buffer), rules_(rules), kernel_(kernel), path_(rules.field) {}

    JsonlDocuments run() && {
        const std::uint8_t* const end = buffer_.data() + buffer_.size();
        static_cast<void>(out_.texts.reserve(buffer_.size()));  // only repaired lines need more
        for (const std::uint8_t* at = buffer_.data(); at != end;) {
            const std::uint8_t* stop = group_end(at, end);
            const bool is_utf8 = kernel_.is_utf8(at, stop);
            while (at != stop) {
                const std::uint8_t* line_end = find_newline(at, stop);
                read_line(at, line_end, is_utf8 || kernel_.is_utf8(at, line_end));
                at = line_end == stop ? stop : line_end + 1;
            }
        }
        return std::move(out_);
    }

private:
    static const std::uint8_t* find_newline(const std::uint8_t* at, const std::uint8_t* end) {
        const void* found = std::memchr(at, '\n', static_cast<std::size_t>(end - at));
        return found != nullptr ? static_cast<const std::uint8_t*>(found) : end;
    }

    // Whole lines, about kGroup bytes of them.
    static const std::uint8_t* group_end(const std::uint8_t* at, const std::uint8_t* end) {
        if (static_cast<std::size_t>(end - at) <= kGroup) {
            return end;
        }
        const std::uint8_t* newline = find_newline(at + kGroup, end);
        return newline == end ? end : newline + 1;
    }

    void read_line(const std::uint8_t* begin, const std::uint8_t* end, bool is_utf8) {
        const std::int64_t line = out_.line_count++;
        const Bytes bytes(begin, end);
        if (is_blank(bytes)) {
            ++out_.blank_lines;
            return;
        }
        LineResult result;
        if (bytes.size() > rules_.max_line_bytes) {
            result = {Reason::TooLong, begin};
        } else if (is_utf8) {
            result = read_value(begin, end, buffer_.data() + buffer_.size());
        } else {
            result = read_repaired(bytes);
        }
        const std::int64_t offset = begin - buffer_.data();
        if (result.reason == Reason::None) {
            out_.lines.push_back(line);
            out_.begins.push_back(offset);
        } else {
            out_.bad.push_back({line, offset, end - begin, result.fault - begin, result.reason});
        }
    }

    LineResult read_repaired(Bytes line) {
        const std::uint8_t* fault = line.data() + unicode::find_fault(line).offset;
        if (!rules_.replace_bad_utf8) {
            return {Reason::BadUtf8, fault};
        }
        repaired_.clear();
        unicode::append_repaired(line, repaired_);
        const std::uint8_t* end = repaired_.data() + repaired_.size();
        const LineResult result = read_value(repaired_.data(), end, end);
        out_.repaired_utf8 += result.reason == Reason::None ? 1 : 0;
        return {result.reason, fault};  // places in the repaired line mean nothing to the caller
    }

    LineResult read_value(const std::uint8_t* begin, const std::uint8_t* end,
                          const std::uint8_t* readable) {
        std::uint8_t* out = out_.texts.reserve(static_cast<std::size_t>(end - begin));
        const Scan scan = kernel_.scan_line(begin, end, readable, path_, out);
        if (scan.fault != nullptr) {
            return {Reason::BadJson, scan.fault};
        }
        if (!scan.is_object) {
            return {Reason::WrongType, begin};
        }
        const auto found = std::find_if(path_.found.begin(), path_.found.end(),
                                        [](const Value& v) { return v.type != Value::Type::None; });
        if (found == path_.found.end()) {
            return {Reason::MissingField, begin};
        }
        if (found->type != Value::Type::String) {
            const bool is_null = found->type == Value::Type::Null;
            return {is_null ? Reason::NullField : Reason::WrongType, found->begin};
        }
        return take_text(*found);
    }

    // The text was written to the end of the others already, unless another field came later.
    LineResult take_text(const Value& value) {
        if (path_.written != &value) {
            const auto raw_size = static_cast<std::size_t>(value.end - value.begin);
            path_.text = kernel_.unescape(value.begin, value.end, out_.texts.reserve(raw_size));
        }
        const Unescaped& text = path_.text;
        if (text.lone_surrogate != nullptr && !rules_.replace_lone_surrogate) {
            return {Reason::LoneSurrogate, text.lone_surrogate};
        }
        if (text.size == 0 || text.size > rules_.max_document_bytes) {
            return {text.size == 0 ? Reason::EmptyText : Reason::TooLong, value.begin};
        }
        out_.texts.add(text.size);
        out_.repaired_surrogates += text.lone_surrogate != nullptr ? 1 : 0;
        return {};
    }

    const Bytes buffer_;
    const Rules& rules_;
    const ReadKernel& kernel_;
    FieldPath path_;
    std::vector<std::uint8_t> repaired_;
    JsonlDocuments out_;
};

}  // namespace

FieldPath::FieldPath(const std::string& field) {
    std::size_t begin = 0;
    for (;;) {
        rests.push_back(field.substr(begin));
        const std::size_t dot = field.find('.', begin);
        keys.push_back(field.substr(begin, dot == std::string::npos ? dot : dot - begin));
        if (dot == std::string::npos) {
            break;
        }
        begin = dot + 1;
    }
    found.resize(keys.size());
    key_text.resize(6 * field.size() + 64);  // \uXXXX has six bytes; 64: copies of whole blocks
}

JsonlDocuments read_jsonl(Bytes buffer, const Rules& rules, simd::Target target) {
    return LineReader(buffer, rules, kernel_of(target)).run();
}

}  // namespace tokenmill::read
