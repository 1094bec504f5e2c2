#include <array>
#include <cstring>
#include <limits>

#include "wire/body.h"
#include "wire/wire.h"

namespace tokenmill::wire {

namespace {

// Walks over a body that is known to be a JSON object, and lists its values.
class DocumentWalk {
public:
    DocumentWalk(Bytes body, std::vector<JsonNode>& nodes) noexcept
        : body_(body), at_(body.data()), nodes_(nodes) {}

    // False if there are more values than a document may have.
    bool run() {
        do {
            step();
        } while (depth_ != 0 && nodes_.size() <= kMaxNodes);
        return nodes_.size() <= kMaxNodes;
    }
    [[nodiscard]] std::size_t place() const noexcept {
        return static_cast<std::size_t>(at_ - body_.data());
    }

private:
    // One value, or the end of a container.
    void step() {
        while (read::is_white(*at_) || *at_ == ',' || *at_ == ':') {
            ++at_;
        }
        switch (*at_) {
            case '{':
            case '[':
                open(*at_ == '{' ? JsonType::Object : JsonType::Array);
                break;
            case '}':
            case ']':
                close();
                break;
            case '"':
                string();
                break;
            case 'n':
                literal(JsonType::Null, 4);
                break;
            case 't':
                literal(JsonType::True, 4);
                break;
            case 'f':
                literal(JsonType::False, 5);
                break;
            default:
                number();
        }
    }

    JsonNode& add(JsonType type) {
        if (depth_ != 0) {
            ++nodes_[open_[depth_ - 1]].size;
        }
        JsonNode node;
        node.type = type;
        node.begin = static_cast<std::uint32_t>(place());
        return nodes_.emplace_back(node);
    }

    void open(JsonType type) {
        add(type);
        open_[depth_++] = static_cast<std::uint32_t>(nodes_.size() - 1);
        ++at_;
    }

    void close() noexcept {
        JsonNode& closed = nodes_[open_[--depth_]];
        closed.size /= closed.type == JsonType::Object ? 2 : 1;  // a name and a value each
        ++at_;
    }

    void literal(JsonType type, std::size_t size) {
        add(type);
        at_ += size;
    }

    void string() {
        JsonNode& node = add(JsonType::String);
        const std::uint8_t* const begin = ++at_;
        for (;;) {
            at_ = find('"', at_);
            const std::uint8_t* slash = at_;
            while (slash != begin && slash[-1] == '\\') {
                --slash;
            }
            if ((at_ - slash) % 2 == 0) {
                break;
            }
            ++at_;  // a quote inside the string
        }
        node.begin += 1;
        node.size = static_cast<std::uint32_t>(at_ - begin);
        node.has_escapes = std::memchr(begin, '\\', node.size) != nullptr;
        ++at_;
    }

    void number() {
        JsonNode& node = add(JsonType::Whole);
        const std::uint8_t* const begin = at_;
        for (; *at_ != ',' && *at_ != ']' && *at_ != '}' && !read::is_white(*at_); ++at_) {
            if (!read::is_digit(*at_) && (*at_ != '-' || at_ != begin)) {
                node.type = JsonType::Fraction;
            }
        }
        node.size = static_cast<std::uint32_t>(at_ - begin);
    }

    [[nodiscard]] const std::uint8_t* find(char c, const std::uint8_t* from) const noexcept {
        const auto left = static_cast<std::size_t>(body_.data() + body_.size() - from);
        return static_cast<const std::uint8_t*>(std::memchr(from, c, left));
    }

    Bytes body_;
    const std::uint8_t* at_;
    std::vector<JsonNode>& nodes_;
    std::array<std::uint32_t, read::kMaxDepth> open_ = {};
    std::size_t depth_ = 0;
};

}  // namespace

JsonDocument read_document(Bytes body, simd::Target target) {
    JsonDocument out;
    if (body.size() > std::numeric_limits<std::uint32_t>::max()) {
        out.fault = {0, "", "expected less than 4 GiB"};
        return out;
    }
    out.fault = check_body(body, {}, {}, target);
    if (!out.fault.what.empty()) {
        return out;
    }
    DocumentWalk walk(body, out.nodes);
    if (!walk.run()) {
        out.fault = {walk.place(), "",
                     "more than " + std::to_string(kMaxNodes) + " values in one body"};
    }
    return out;
}

}  // namespace tokenmill::wire
