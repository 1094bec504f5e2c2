#include "json.h"

#include <charconv>
#include <cstdlib>

#include "base/error.h"
#include "base/utf8.h"

namespace tokenmill::capi {

namespace {
constexpr int kDeepest = 64;  // values inside of each other; meta data has five

[[noreturn]] void refuse(const char* expected, std::size_t at) {
    throw Error(ErrorCode::CorruptModel, std::string("meta data: expected ") + expected, at);
}
}  // namespace

class JsonReader {
public:
    explicit JsonReader(std::string_view text) : text_(text) {}

    Json read_all() {
        Json value = read(0);
        skip_white();
        if (at_ != text_.size()) {
            refuse("the end", at_);
        }
        return value;
    }

private:
    Json read(int depth) {
        if (depth > kDeepest) {
            refuse("fewer levels", at_);
        }
        skip_white();
        switch (peek()) {
            case '{':
                return read_object(depth);
            case '[':
                return read_array(depth);
            case '"': {
                Json value;
                value.type_ = Json::Type::String;
                value.text_ = read_string();
                return value;
            }
            default:
                return read_plain();
        }
    }

    Json read_object(int depth) {
        Json value;
        value.type_ = Json::Type::Object;
        ++at_;
        skip_white();
        while (peek() != '}') {
            std::string name = read_string();
            skip_white();
            take(':');
            value.members_.emplace_back(std::move(name), read(depth + 1));
            next_item('}');
        }
        ++at_;
        return value;
    }

    Json read_array(int depth) {
        Json value;
        value.type_ = Json::Type::Array;
        ++at_;
        skip_white();
        while (peek() != ']') {
            value.items_.push_back(read(depth + 1));
            next_item(']');
        }
        ++at_;
        return value;
    }

    // Past a comma, which another item must follow, or up to the end.
    void next_item(char end) {
        skip_white();
        if (peek() == end) {
            return;
        }
        take(',');
        skip_white();
        if (peek() == end) {
            refuse("a value", at_);
        }
    }

    Json read_plain() {
        Json value;
        if (takes("null")) {
            return value;
        }
        const bool is_true = takes("true");
        if (is_true || takes("false")) {
            value.type_ = Json::Type::Bool;
            value.truth_ = is_true;
            return value;
        }
        std::size_t end = at_;
        while (end < text_.size() &&
               std::string_view("+-.0123456789Ee").find(text_[end]) != std::string_view::npos) {
            ++end;
        }
        // Through strtod: not every library reads doubles by from_chars.
        const std::string digits(text_.substr(at_, end - at_));
        char* read_to = nullptr;
        value.type_ = Json::Type::Number;
        value.number_ = std::strtod(digits.c_str(), &read_to);
        if (digits.empty() || read_to != digits.c_str() + digits.size()) {
            refuse("a value", at_);
        }
        at_ = end;
        return value;
    }

    std::string read_string() {
        skip_white();
        take('"');
        std::string out;
        for (;;) {
            const std::size_t end = text_.find_first_of("\"\\", at_);
            if (end == std::string_view::npos) {
                refuse("the end of a string", at_);
            }
            out.append(text_.substr(at_, end - at_));
            at_ = end + 1;
            if (text_[end] == '"') {
                return out;
            }
            append_escape(out);
        }
    }

    void append_escape(std::string& out) {
        const char name = peek();
        ++at_;
        static constexpr std::string_view kNames = "\"\\/bfnrt";
        static constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
        const std::size_t place = kNames.find(name);
        if (place != std::string_view::npos) {
            out.push_back(kMeanings[place]);
            return;
        }
        if (name != 'u') {
            refuse("an escape", at_ - 1);
        }
        std::uint32_t code = read_hex();
        if (code >= 0xD800 && code < 0xDC00 && takes("\\u")) {
            const std::uint32_t low = read_hex();
            if (low < 0xDC00 || low >= 0xE000) {
                refuse("the other half of a pair", at_);
            }
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        }
        std::uint8_t bytes[4];
        const std::uint32_t size = encode_char(code, bytes);
        out.append(reinterpret_cast<const char*>(bytes), size);
    }

    std::uint32_t read_hex() {
        std::uint32_t code = 0;
        const std::string_view digits = text_.substr(std::min(at_, text_.size()), 4);
        const auto [end, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
        if (error != std::errc() || digits.size() != 4 || end != digits.data() + 4) {
            refuse("four hexadecimal digits", at_);
        }
        at_ += 4;
        return code;
    }

    void skip_white() noexcept {
        while (at_ < text_.size() &&
               std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) {
            ++at_;
        }
    }
    [[nodiscard]] char peek() const {
        if (at_ >= text_.size()) {
            refuse("more", at_);
        }
        return text_[at_];
    }
    void take(char wanted) {
        if (peek() != wanted) {
            const char expected[] = {wanted, 0};
            refuse(expected, at_);
        }
        ++at_;
    }
    bool takes(std::string_view word) noexcept {
        const bool is_there = text_.substr(std::min(at_, text_.size())).starts_with(word);
        at_ += is_there ? word.size() : 0;
        return is_there;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

Json Json::parse(std::string_view text) {
    return JsonReader(text).read_all();
}

void Json::expect(Type type) const {
    if (type_ != type) {
        throw Error(ErrorCode::CorruptModel, "meta data: a value of another type");
    }
}

bool Json::truth() const {
    expect(Type::Bool);
    return truth_;
}

std::uint32_t Json::number() const {
    expect(Type::Number);
    const auto whole =
        number_ >= 0 && number_ <= 4294967295.0 ? static_cast<std::uint32_t>(number_) : 0;
    if (static_cast<double>(whole) != number_) {
        throw Error(ErrorCode::CorruptModel, "meta data: expected a whole number of 32 bits");
    }
    return whole;
}

const std::string& Json::text() const {
    expect(Type::String);
    return text_;
}

const std::vector<Json>& Json::items() const {
    expect(Type::Array);
    return items_;
}

const std::vector<std::pair<std::string, Json>>& Json::members() const {
    expect(Type::Object);
    return members_;
}

const Json& Json::operator[](std::string_view name) const {
    for (const auto& [key, value] : members()) {
        if (key == name) {
            return value;
        }
    }
    throw Error(ErrorCode::CorruptModel, "meta data: no member \"" + std::string(name) + "\"");
}

}  // namespace tokenmill::capi
