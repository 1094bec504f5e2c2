#include "base/error.h"
#include "normalize/normalize.h"
#include "unicode/unicode.h"

#include <string>

namespace tokenmill::normalize {

namespace {

[[noreturn]] void fail(const std::string& problem, std::size_t offset) {
    throw Error(ErrorCode::CorruptModel, "normalizer: " + problem, offset);
}

// A cursor over the serialized program; every read says what it wanted when there is too little.
class Reader {
public:
    explicit Reader(Bytes bytes) : bytes_(bytes) {}

    [[nodiscard]] bool at_end() const { return at_ == bytes_.size(); }
    [[nodiscard]] std::size_t offset() const { return at_; }

    std::uint8_t byte() { return take(1)[0]; }

    std::vector<std::uint8_t> text() {
        const Bytes size = take(4);
        const Bytes content = take(size[0] | size[1] << 8U | size[2] << 16U |
                                   static_cast<std::size_t>(size[3]) << 24U);
        const std::size_t valid = unicode::valid_prefix(content);
        if (valid != content.size()) {
            fail("a literal is not UTF-8", at_ - content.size() + valid);
        }
        return {content.begin(), content.end()};
    }

private:
    Bytes take(std::size_t size) {
        if (bytes_.size() - at_ < size) {
            fail("cut short, " + std::to_string(size) + " bytes wanted, got " +
                     std::to_string(bytes_.size() - at_),
                 at_);
        }
        at_ += size;
        return bytes_.subspan(at_ - size, size);
    }

    Bytes bytes_;
    std::size_t at_ = 0;
};

void read_sides(Reader& reader, Step& step) {
    const std::uint8_t sides = reader.byte();
    if (sides > 3) {
        fail("sides to strip are 0 to 3, got " + std::to_string(sides), reader.offset() - 1);
    }
    step.left = (sides & 1) != 0;
    step.right = (sides & 2) != 0;
}

void read_replacement(Reader& reader, Step& step) {
    const std::size_t begin = reader.offset();
    step.from = reader.text();
    step.to = reader.text();
    if (step.from.empty()) {
        fail("nothing to replace, got an empty literal", begin);
    }
}

Step read_step(Reader& reader) {
    const std::uint8_t kind = reader.byte();
    if (kind < static_cast<std::uint8_t>(Kind::Nfc) ||
        kind > static_cast<std::uint8_t>(Kind::Prepend)) {
        fail("no such kind of step, got " + std::to_string(kind), reader.offset() - 1);
    }
    Step step;
    step.kind = static_cast<Kind>(kind);
    if (step.kind == Kind::Strip) {
        read_sides(reader, step);
    } else if (step.kind == Kind::Replace) {
        read_replacement(reader, step);
    } else if (step.kind == Kind::Prepend) {
        step.to = reader.text();
    }
    return step;
}

}  // namespace

Program parse_program(Bytes serialized) {
    Program program;
    Reader reader(serialized);
    while (!reader.at_end()) {
        program.steps.push_back(read_step(reader));
        program.char_mask |= mask_of(program.steps.back().kind);
    }
    return program;
}

std::uint16_t mask_of(Kind kind) noexcept {
    using namespace unicode;
    switch (kind) {
        case Kind::Nfc:
            return kNotNfc | kCombines | kMaybe;
        case Kind::Nfd:
            return kNotNfd | kCombines;
        case Kind::Nfkc:
            return kNotNfkc | kCombines | kMaybe;
        case Kind::Nfkd:
            return kNotNfkd | kCombines;
        case Kind::Lowercase:
            return kLowers;
        case Kind::StripAccents:
            return kMark;
        case Kind::Strip:
        case Kind::Replace:
        case Kind::Prepend:
            return 0;
    }
    return 0;
}

}  // namespace tokenmill::normalize
