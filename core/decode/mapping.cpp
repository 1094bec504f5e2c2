#include "decode/mapping.h"

#include <algorithm>
#include <array>

#include "base/utf8.h"

namespace tokenmill::decode {

namespace {

constexpr TextPair kTokenPairs[] = {{" .", "."},     {" ?", "?"},           {" !", "!"},
                                    {" ,", ","},     {" ' ", "'"},          {" n't", "n't"},
                                    {" 'm", "'m"},   {" do not", " don't"}, {" 's", "'s"},
                                    {" 've", "'ve"}, {" 're", "'re"}};
constexpr TextPair kTextPairs[] = {{" .", "."},     {" ?", "?"},     {" !", "!"},   {" ,", ","},
                                   {" ' ", "'"},    {" n't", "n't"}, {" 'm", "'m"}, {" 's", "'s"},
                                   {" 've", "'ve"}, {" 're", "'re"}};

std::size_t size_at(std::string_view text, std::size_t at) noexcept {
    return std::min<std::size_t>(char_size(static_cast<std::uint8_t>(text[at])), text.size() - at);
}

std::string around_every_character(std::string_view text, std::string_view by) {
    std::string out(by);
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t size = size_at(text, at);
        out.append(text.substr(at, size)).append(by);
        at += size;
    }
    return out;
}

std::string stripped(const TokenChange& step, std::string_view text) {
    const std::string_view character = step.a;
    for (std::size_t i = 0; i < step.left && text.starts_with(character); ++i) {
        text.remove_prefix(character.size());
    }
    for (std::size_t i = 0; i < step.right && text.ends_with(character); ++i) {
        text.remove_suffix(character.size());
    }
    return std::string(text);
}

std::string cleaned(std::string text) {
    if (text.find(' ') == std::string::npos) {
        return text;
    }
    for (const auto& [old, by] : token_clean_up()) {
        text = replaced(text, old, by);
    }
    return text;
}

std::string changed(const TokenChange& step, std::string text) {
    switch (step.kind) {
        case ChangeKind::Strip:
            return stripped(step, text);
        case ChangeKind::Replace:
            return replaced(text, step.a, step.b);
        case ChangeKind::ReplaceIfAny:
            return text.empty() ? text : replaced(text, step.a, step.b);
        case ChangeKind::CutPrefix:
            return text.starts_with(step.a) ? text.substr(step.a.size()) : " " + text;
        case ChangeKind::Blank:
            return " " + text;
        case ChangeKind::CleanUp:
            return cleaned(std::move(text));
    }
    return text;
}

int hex_value(char digit) noexcept {
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    const char lower = static_cast<char>(digit | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// The alphabet: a byte that is printable in Latin-1 is spelled as itself; the others use the
// characters from U+0100 on, in order of their value.
constexpr bool is_printable(unsigned byte) noexcept {
    return (byte >= 0x21 && byte < 0x7F) || (byte >= 0xA1 && byte < 0xAD) || byte >= 0xAE;
}
constexpr unsigned kSpare = 0x100 + 68;  // the first character after the alphabet
constexpr std::array<std::int16_t, kSpare> kByteOf = [] {
    std::array<std::int16_t, kSpare> table{};
    unsigned spare = 0x100;
    for (std::int16_t& entry : table) {
        entry = -1;
    }
    for (unsigned byte = 0; byte < 256; ++byte) {
        table[is_printable(byte) ? byte : spare++] = static_cast<std::int16_t>(byte);
    }
    return table;
}();

}  // namespace

std::span<const TextPair> token_clean_up() noexcept {
    return kTokenPairs;
}
std::span<const TextPair> text_clean_up() noexcept {
    return kTextPairs;
}

std::string replaced(std::string_view text, std::string_view old, std::string_view by) {
    if (old.empty()) {
        return around_every_character(text, by);
    }
    std::string out;
    for (;;) {
        const std::size_t at = text.find(old);
        out.append(text.substr(0, at));
        if (at == std::string_view::npos) {
            return out;
        }
        out.append(by);
        text.remove_prefix(at + old.size());
    }
}

std::string mapped(const Mapping& mapping, std::string text) {
    for (const TokenChange& step : mapping) {
        text = changed(step, std::move(text));
    }
    return text;
}

int byte_of(std::string_view token) noexcept {
    if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') {
        return -1;
    }
    const int high = token[3] == '+' ? 0 : hex_value(token[3]);
    const int low = hex_value(token[4]);
    return high < 0 || low < 0 ? -1 : 16 * high + low;
}

std::string bytes_spelled(std::string_view token) {
    std::string bytes;
    return read_alphabet(token, bytes) ? bytes : std::string(token);
}

bool read_alphabet(std::string_view token, std::string& bytes) {
    const auto* const text = reinterpret_cast<const std::uint8_t*>(token.data());
    for (std::size_t at = 0; at < token.size();) {
        const auto size = static_cast<std::uint32_t>(size_at(token, at));
        const std::uint32_t code = decode_char(text + at, size);
        if (code >= kSpare || kByteOf[code] < 0) {
            return false;
        }
        bytes.push_back(static_cast<char>(kByteOf[code]));
        at += size;
    }
    return true;
}

std::string spelled_in_alphabet(std::string_view bytes) {
    std::string out;
    for (const char byte : bytes) {
        const auto value = static_cast<std::uint8_t>(byte);
        const auto at = std::ranges::find(kByteOf, static_cast<std::int16_t>(value));
        std::uint8_t text[4];
        const std::uint32_t size =
            encode_char(static_cast<std::uint32_t>(at - kByteOf.begin()), text);
        out.append(reinterpret_cast<const char*>(text), size);
    }
    return out;
}

}  // namespace tokenmill::decode
