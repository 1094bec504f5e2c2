#include <span>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "normalize/charsmap.h"
#include "normalize/memo.h"
#include "normalize/normalize.h"
#include "normalize/pattern.h"
#include "normalize/sentence.h"
#include "normalize/steps.h"
#include "unicode/unicode.h"

namespace tokenmill::normalize {

namespace {

[[noreturn]] void fail(const std::string& problem, std::size_t offset) {
    throw Error(ErrorCode::CorruptModel, "normalizer: " + problem, offset);
}

// A cursor over the serialized program; a read that finds too little reports what it wanted.
class ProgramReader {
public:
    explicit ProgramReader(Bytes bytes) : bytes_(bytes) {}

    [[nodiscard]] bool at_end() const { return at_ == bytes_.size(); }
    [[nodiscard]] std::size_t offset() const { return at_; }

    std::uint8_t byte() { return take(1)[0]; }

    Bytes table() {
        const Bytes size = take(4);
        return take(load<std::uint32_t>(size.data()));
    }

    std::vector<std::uint8_t> text() {
        const Bytes content = table();
        const unicode::Fault fault = unicode::find_fault(content);
        if (fault.size != 0) {
            fail("a literal is not UTF-8", at_ - content.size() + fault.offset);
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

void read_sides(ProgramReader& reader, Step& step) {
    const std::uint8_t sides = reader.byte();
    if (sides > 3) {
        fail("sides to strip are 0 to 3, got " + std::to_string(sides), reader.offset() - 1);
    }
    step.left = (sides & 1) != 0;
    step.right = (sides & 2) != 0;
}

void read_replacement(ProgramReader& reader, Step& step) {
    const std::size_t begin = reader.offset();
    step.from = reader.text();
    step.to = reader.text();
    if (step.from.empty()) {
        fail("nothing to replace, got an empty literal", begin);
    }
}

void read_sentence(ProgramReader& reader, Step& step) {
    const std::uint8_t flags = reader.byte();
    const std::size_t begin = reader.offset();
    const Bytes map = reader.table();
    std::vector<std::vector<std::uint8_t>> kept;
    for (ProgramReader texts(reader.table()); !texts.at_end();) {
        kept.push_back(texts.text());
        if (kept.back().empty()) {
            fail("a text to keep is empty", reader.offset());
        }
    }
    step.sentence = std::make_shared<const Sentence>(flags, map, std::move(kept), begin);
}

Step read_step(ProgramReader& reader) {
    const std::uint8_t kind = reader.byte();
    if (kind < static_cast<std::uint8_t>(StepKind::Nfc) ||
        kind > static_cast<std::uint8_t>(StepKind::Sentence)) {
        fail("unknown kind of step, got " + std::to_string(kind), reader.offset() - 1);
    }
    Step step;
    step.kind = static_cast<StepKind>(kind);
    if (step.kind == StepKind::Strip) {
        read_sides(reader, step);
    } else if (step.kind == StepKind::Replace) {
        read_replacement(reader, step);
    } else if (step.kind == StepKind::Prepend) {
        step.to = reader.text();
    } else if (step.kind == StepKind::CharsMap) {
        const std::size_t begin = reader.offset();
        step.chars_map = std::make_shared<const CharsMap>(reader.table(), begin);
    } else if (step.kind == StepKind::ReplacePattern) {
        step.to = reader.text();
        const std::size_t begin = reader.offset();
        step.pattern = std::make_shared<const Pattern>(reader.table(), begin);
    } else if (step.kind == StepKind::Sentence) {
        read_sentence(reader, step);
    }
    return step;
}

// A single form recognizes the texts that it leaves alone faster than a memo does.
bool is_lone_form(const std::vector<Step>& steps, const StepGroup& group) {
    return group.end - group.begin == 1 && mask_of(steps[group.begin].kind) != 0;
}

std::vector<StepGroup> join_steps(const std::vector<Step>& steps) {
    std::vector<StepGroup> groups;
    for (std::size_t begin = 0; begin < steps.size();) {
        StepGroup group{begin, begin, nullptr};
        while (group.end < steps.size() && is_local(steps[group.end])) {
            ++group.end;
        }
        if (group.end == begin) {
            ++group.end;
        } else if (!is_lone_form(steps, group)) {
            const std::span<const Step> all(steps);
            group.memo = std::make_shared<const Memo>(all.subspan(begin, group.end - begin));
        }
        begin = group.end;
        groups.push_back(std::move(group));
    }
    return groups;
}

}  // namespace

Program parse_program(Bytes serialized) {
    std::vector<Step> steps;
    ProgramReader reader(serialized);
    while (!reader.at_end()) {
        steps.push_back(read_step(reader));
    }
    return make_program(std::move(steps));
}

Program make_program(std::vector<Step> steps) {
    std::vector<StepGroup> groups = join_steps(steps);
    return {std::move(steps), std::move(groups)};
}

}  // namespace tokenmill::normalize
