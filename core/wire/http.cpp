#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "wire/wire.h"

namespace tokenmill::wire {

namespace {

constexpr std::size_t kMaxHead = 4096;

constexpr bool is_visible(std::uint8_t c) noexcept {
    return c > 0x20 && c < 0x7F;
}

// The characters of a header's name.
constexpr std::array<bool, 256> make_name_bytes() noexcept {
    std::array<bool, 256> is_name = {};
    for (const char c : std::string_view("!#$%&'*+-.^_`|~")) {
        is_name[static_cast<std::uint8_t>(c)] = true;
    }
    for (unsigned c = 0; c < 256; ++c) {
        const unsigned folded = c | 0x20;
        is_name[c] = is_name[c] || read::is_digit(c) || (folded >= 'a' && folded <= 'z' && c < 128);
    }
    return is_name;
}
constexpr std::array<bool, 256> kNameBytes = make_name_bytes();

// Whether two texts are the same but for capital letters; `lower` has none.
bool is_same(Bytes text, std::string_view lower) noexcept {
    if (text.size() != lower.size()) {
        return false;
    }
    for (std::size_t i = 0; i < lower.size(); ++i) {
        const std::uint8_t c = text[i];
        const std::uint8_t folded = c >= 'A' && c <= 'Z' ? c | 0x20 : c;
        if (folded != static_cast<std::uint8_t>(lower[i])) {
            return false;
        }
    }
    return true;
}

bool is_any(Bytes text, std::initializer_list<std::string_view> words) noexcept {
    return std::any_of(words.begin(), words.end(),
                       [&](std::string_view word) { return is_same(text, word); });
}

// Reads a head from its first byte on; false at anything that is not quite usual.
class HeadReader {
public:
    HeadReader(Bytes data, WholeRequest& out) noexcept
        : at_(data.data()), end_(data.data() + std::min(data.size(), kMaxHead)), out_(out) {}

    bool run() noexcept {
        if (!first_line()) {
            return false;
        }
        while (!take("\r\n")) {
            if (!header()) {
                return false;
            }
        }
        return true;
    }
    [[nodiscard]] const std::uint8_t* place() const noexcept { return at_; }
    [[nodiscard]] std::size_t body_size() const noexcept { return body_size_; }

private:
    bool take(std::string_view text) noexcept {
        if (static_cast<std::size_t>(end_ - at_) < text.size() ||
            std::memcmp(at_, text.data(), text.size()) != 0) {
            return false;
        }
        at_ += text.size();
        return true;
    }

    template <typename Is>
    Bytes run_of(Is is) noexcept {
        const std::uint8_t* const begin = at_;
        while (at_ != end_ && is(*at_)) {
            ++at_;
        }
        return {begin, static_cast<std::size_t>(at_ - begin)};
    }

    bool first_line() noexcept {
        const std::uint8_t* const begin = at_;
        if (!take("POST ") && !take("GET ")) {
            return false;
        }
        out_.method = {begin, static_cast<std::size_t>(at_ - begin - 1)};
        out_.path = run_of(is_visible);
        return !out_.path.empty() && out_.path[0] == '/' && take(" HTTP/1.1\r\n");
    }

    bool header() noexcept {
        const Bytes name = run_of([](std::uint8_t c) { return kNameBytes[c]; });
        if (name.empty() || !take(":")) {
            return false;
        }
        run_of([](std::uint8_t c) { return c == ' '; });
        Bytes value = run_of([](std::uint8_t c) { return c == ' ' || is_visible(c); });
        while (!value.empty() && value.back() == ' ') {
            value = value.first(value.size() - 1);
        }
        return take("\r\n") && note(name, value);
    }

    bool note(Bytes name, Bytes value) noexcept {
        if (is_same(name, "content-type")) {
            out_.content_type = value;
        } else if (is_same(name, "accept")) {
            out_.accept = value;
        } else if (is_same(name, "authorization")) {
            out_.authorization = value;
        } else if (is_same(name, "content-length")) {
            return length(value);
        } else if (is_same(name, "connection")) {
            return is_same(value, "keep-alive");
        } else {
            return !is_any(name, {"transfer-encoding", "expect", "upgrade", "proxy-connection",
                                  "te", "trailer"});
        }
        return true;
    }

    bool length(Bytes value) noexcept {
        if (has_length_ || value.empty() || value.size() > 15) {
            return false;
        }
        has_length_ = true;
        for (const std::uint8_t c : value) {
            if (!read::is_digit(c)) {
                return false;
            }
            body_size_ = 10 * body_size_ + (c - '0');
        }
        return true;
    }

    const std::uint8_t* at_;
    const std::uint8_t* end_;
    WholeRequest& out_;
    bool has_length_ = false;
    std::size_t body_size_ = 0;
};

}  // namespace

std::optional<WholeRequest> read_whole_request(Bytes data, std::size_t most_body) noexcept {
    WholeRequest out;
    HeadReader head(data, out);
    if (!head.run() || head.body_size() > most_body) {
        return std::nullopt;
    }
    const auto left = static_cast<std::size_t>(data.data() + data.size() - head.place());
    if (left != head.body_size()) {
        return std::nullopt;
    }
    out.body = {head.place(), left};
    return out;
}

}  // namespace tokenmill::wire
