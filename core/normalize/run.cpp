#include <algorithm>
#include <utility>

#include "normalize/fused.h"
#include "normalize/normalize.h"
#include "normalize/scan.h"
#include "normalize/steps.h"
#include "unicode/unicode.h"

namespace tokenmill::normalize {

namespace {

// The origin of every byte is its whole character.
void align_with_itself(Bytes text, Spans& spans) {
    spans.resize(text.size());
    const auto span_of = [](std::size_t begin, std::size_t end) {
        return Span{static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
    };
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t wide = static_cast<std::size_t>(
            skip_ascii(text.data() + at, text.data() + text.size()) - text.data());
        for (; at < wide; ++at) {
            spans[at] = span_of(at, at + 1);
        }
        if (at == text.size()) {
            return;
        }
        const std::size_t end = at + char_size(text[at]);
        std::fill(spans.begin() + static_cast<std::ptrdiff_t>(at),
                  spans.begin() + static_cast<std::ptrdiff_t>(end), span_of(at, end));
        at = end;
    }
}

void run_group(const Program& program, const StepGroup& group, Bytes text, Buffer& out,
               const Stop* stop) {
    check_stop(stop);
    if (group.memo != nullptr) {
        return run_fused(*group.memo, text, out, stop);
    }
    out.clear();
    out.reserve(text.size() + text.size() / 8);
    run_step(program.steps[group.begin], text, out, stop);
}

}  // namespace

void run(const Program& program, Bytes text, Buffer& out, const Stop* stop) {
    if (program.groups.empty()) {
        out.assign(text.begin(), text.end());
        return;
    }
    run_group(program, program.groups.front(), text, out, stop);
    Buffer next;
    for (std::size_t index = 1; index < program.groups.size(); ++index) {
        run_group(program, program.groups[index], out, next, stop);
        std::swap(out, next);
    }
}

void run_aligned(const Program& program, Bytes text, AlignedText& out, const Stop* stop) {
    std::size_t index = 0;
    if (!program.groups.empty() && program.groups.front().memo != nullptr) {
        // It aligns the text on its way.
        run_fused(*program.groups.front().memo, text, nullptr, out, stop);
        index = 1;
    } else {
        out.text.assign(text.begin(), text.end());
        align_with_itself(text, out.spans);
    }
    AlignedText next;
    for (; index < program.groups.size(); ++index) {
        const StepGroup& group = program.groups[index];
        check_stop(stop);
        if (group.memo != nullptr) {
            run_fused(*group.memo, out.text, out.spans.data(), next, stop);
        } else {
            next.text.clear();
            next.spans.clear();
            run_step(program.steps[group.begin], out.text, out.spans.data(), next, stop);
        }
        std::swap(out, next);
    }
}

}  // namespace tokenmill::normalize
