#include <array>
#include <limits>
#include <string_view>

#include "unicode/unicode.h"
#include "wire/body.h"
#include "wire/wire.h"

namespace tokenmill::wire {

namespace {

using read::Value;

constexpr std::string_view kNotAnObject = "expected a JSON object";
constexpr std::string_view kNotJson = "not valid JSON, or more than 1024 levels deep";

// The values of the wanted members, and the first thing that is wrong with the body.
template <std::size_t kCount>
class BodyReader {
public:
    BodyReader(Bytes body, const std::array<std::string_view, kCount>& names, BodyFault& fault,
               simd::Target target)
        : body_(body), names_(names), fault_(fault) {
        fault = check_body(body, names, found_, target);
    }

    [[nodiscard]] bool is_good() const noexcept { return fault_.what.empty(); }
    [[nodiscard]] const Value& value(std::size_t member) const noexcept { return found_[member]; }
    [[nodiscard]] bool has(std::size_t member) const noexcept {
        return found_[member].type != Value::Type::None;
    }
    [[nodiscard]] bool is_null(std::size_t member) const noexcept {
        return found_[member].type == Value::Type::Null;
    }
    // The first byte of a value that is neither a string nor null.
    [[nodiscard]] bool starts_with(std::size_t member, char c) const noexcept {
        const Value& found = found_[member];
        return found.type == Value::Type::Other && *found.begin == static_cast<std::uint8_t>(c);
    }

    void refuse(const std::uint8_t* place, std::string_view member, std::string_view what) {
        if (is_good()) {
            fault_ = {static_cast<std::size_t>(place - body_.data()), std::string(member),
                      std::string(what)};
        }
    }
    void refuse(std::size_t member, std::string_view what) {
        const Value& found = found_[member];
        const bool is_string = found.type == Value::Type::String;
        const std::uint8_t* place = has(member) ? found.begin - (is_string ? 1 : 0) : body_.data();
        refuse(place, names_[member], what);
    }

    // Text or null.
    [[nodiscard]] std::optional<Value> text(std::size_t member) {
        if (!has(member) || is_null(member)) {
            return std::nullopt;
        }
        if (found_[member].type != Value::Type::String) {
            refuse(member, "expected a string");
        }
        return found_[member];
    }

    [[nodiscard]] std::optional<bool> flag(std::size_t member) {
        if (!has(member)) {
            return std::nullopt;
        }
        const bool is_true = starts_with(member, 't');
        if (!is_true && !starts_with(member, 'f')) {
            refuse(member, "expected true or false");
        }
        return is_true;
    }

private:
    Bytes body_;
    const std::array<std::string_view, kCount>& names_;
    BodyFault& fault_;
    std::array<Value, kCount> found_ = {};
};

// Walks over an array of a body that is known to be JSON.
class ArrayWalk {
public:
    explicit ArrayWalk(const std::uint8_t* bracket) noexcept : at_(bracket + 1) {}

    // Moves to the next element; false after the last one.
    bool next() noexcept {
        while (read::is_white(*at_) || *at_ == ',') {
            ++at_;
        }
        if (*at_ != ']') {
            return true;
        }
        ++at_;
        return false;
    }
    [[nodiscard]] const std::uint8_t* place() const noexcept { return at_; }
    void set_place(const std::uint8_t* at) noexcept { at_ = at; }

    // The string at this place.
    Value string() noexcept {
        Value found;
        found.type = Value::Type::String;
        found.begin = ++at_;
        for (; *at_ != '"'; ++at_) {
            if (*at_ == '\\') {
                found.has_escapes = true;
                ++at_;  // a quote may follow
            }
        }
        found.end = at_++;
        return found;
    }

private:
    const std::uint8_t* at_;
};

enum TokenizeMember : std::uint8_t {
    kModel,
    kPrompt,
    kMessages,
    kAddSpecialTokens,
    kReturnTokenStrs
};
constexpr std::array<std::string_view, 5> kTokenizeMembers = {
    "model", "prompt", "messages", "add_special_tokens", "return_token_strs"};

enum DetokenizeMember : std::uint8_t { kOfModel, kTokens, kSkipSpecialTokens };
constexpr std::array<std::string_view, 3> kDetokenizeMembers = {"model", "tokens",
                                                                "skip_special_tokens"};

constexpr std::string_view kWantPrompt = "expected a string, or an array of strings";
constexpr std::string_view kWantIds =
    "expected an array of ids, or an array of arrays of ids: whole numbers from 0 to 4294967295";

void read_prompts(BodyReader<5>& reader, TokenizeBody& out) {
    out.has_prompt = reader.has(kPrompt);
    if (!out.has_prompt) {
        return;
    }
    const Value& value = reader.value(kPrompt);
    if (value.type == Value::Type::String) {
        out.prompts.push_back(value);
        return;
    }
    if (!reader.starts_with(kPrompt, '[')) {
        reader.refuse(kPrompt, kWantPrompt);
        return;
    }
    out.is_list = true;
    ArrayWalk walk(value.begin);
    while (walk.next()) {
        if (*walk.place() != '"') {
            reader.refuse(walk.place(), kTokenizeMembers[kPrompt], kWantPrompt);
            return;
        }
        out.prompts.push_back(walk.string());
    }
}

// One id and the place after it; nullptr if it is not one.
const std::uint8_t* read_id(const std::uint8_t* at, TokenId& id) noexcept {
    const std::uint8_t* const begin = at;
    std::uint64_t number = 0;
    while (read::is_digit(*at)) {
        number = 10 * number + (*at++ - '0');
        if (number > std::numeric_limits<TokenId>::max()) {
            return nullptr;
        }
    }
    id = static_cast<TokenId>(number);
    const bool is_whole = at != begin && *at != '.' && (*at | 0x20) != 'e';
    return is_whole ? at : nullptr;
}

// Ids up to the end of the array that the walk is in; false at something else.
bool read_row(ArrayWalk& walk, std::vector<TokenId>& ids) {
    while (walk.next()) {
        TokenId id = 0;
        const std::uint8_t* after = read_id(walk.place(), id);
        if (after == nullptr) {
            return false;
        }
        ids.push_back(id);
        walk.set_place(after);
    }
    return true;
}

void read_rows(BodyReader<3>& reader, DetokenizeBody& out) {
    if (!reader.starts_with(kTokens, '[')) {
        reader.refuse(kTokens, reader.has(kTokens) ? kWantIds : "missing");
        return;
    }
    const std::uint8_t* const bracket = reader.value(kTokens).begin;
    ArrayWalk walk(bracket);
    if (walk.next() && *walk.place() != '[') {
        ArrayWalk row(bracket);
        if (!read_row(row, out.ids)) {
            reader.refuse(row.place(), kDetokenizeMembers[kTokens], kWantIds);
        }
        out.ends.push_back(static_cast<std::int64_t>(out.ids.size()));
        return;
    }
    walk = ArrayWalk(bracket);
    while (walk.next()) {
        if (*walk.place() != '[') {
            reader.refuse(walk.place(), kDetokenizeMembers[kTokens], kWantIds);
            return;
        }
        out.is_nested = true;
        ArrayWalk row(walk.place());
        if (!read_row(row, out.ids)) {
            reader.refuse(row.place(), kDetokenizeMembers[kTokens], kWantIds);
            return;
        }
        out.ends.push_back(static_cast<std::int64_t>(out.ids.size()));
        walk.set_place(row.place());
    }
    if (!out.is_nested) {  // no ids at all are one row of none
        out.ends.push_back(0);
    }
}

}  // namespace

BodyFault check_body(Bytes body, std::span<const std::string_view> names,
                     std::span<read::Value> found, simd::Target target) {
    if (!read::is_utf8(body, target)) {
        return {unicode::find_fault(body).offset, "", "expected UTF-8"};
    }
    const read::ObjectCheck check = read::read_object(body, names, found, target);
    if (check.fault != nullptr) {
        const auto place = static_cast<std::size_t>(check.fault - body.data());
        return {place, "", std::string(body.empty() ? kNotAnObject : kNotJson)};
    }
    return check.is_object ? BodyFault() : BodyFault{0, "", std::string(kNotAnObject)};
}

TokenizeBody read_tokenize(Bytes body, simd::Target target) {
    TokenizeBody out;
    BodyReader<5> reader(body, kTokenizeMembers, out.fault, target);
    if (!reader.is_good()) {
        return out;
    }
    out.model = reader.text(kModel);
    out.has_messages = reader.has(kMessages);
    out.add_special_tokens = reader.flag(kAddSpecialTokens);
    out.return_token_strs = !reader.is_null(kReturnTokenStrs) &&  // null is false
                            reader.flag(kReturnTokenStrs).value_or(false);
    read_prompts(reader, out);
    return out;
}

DetokenizeBody read_detokenize(Bytes body, simd::Target target) {
    DetokenizeBody out;
    BodyReader<3> reader(body, kDetokenizeMembers, out.fault, target);
    if (!reader.is_good()) {
        return out;
    }
    out.model = reader.text(kOfModel);
    out.skip_special_tokens = reader.flag(kSkipSpecialTokens);
    read_rows(reader, out);
    return out;
}

}  // namespace tokenmill::wire
