#include "normalize/fused.h"
#include "normalize/normalize.h"
#include "normalize/scan.h"
#include "normalize/steps.h"
#include "unicode/unicode.h"

#include <algorithm>
#include <utility>

namespace tokenmill::normalize {

namespace {

// Every byte of a character stands for all of it.
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

void run_stage(const Program& program, const Stage& stage, Bytes text,
               std::vector<std::uint8_t>& out) {
    if (stage.memo != nullptr) {
        return run_fused(*stage.memo, text, out);
    }
    out.clear();
    out.reserve(text.size() + text.size() / 8);
    run_step(program.steps[stage.begin], text, out);
}

}  // namespace

void run(const Program& program, Bytes text, std::vector<std::uint8_t>& out) {
    if (program.stages.empty()) {
        out.assign(text.begin(), text.end());
        return;
    }
    run_stage(program, program.stages.front(), text, out);
    std::vector<std::uint8_t> next;
    for (std::size_t index = 1; index < program.stages.size(); ++index) {
        run_stage(program, program.stages[index], out, next);
        std::swap(out, next);
    }
}

void run_aligned(const Program& program, Bytes text, AlignedText& out) {
    std::size_t index = 0;
    if (!program.stages.empty() && program.stages.front().memo != nullptr) {
        run_fused(*program.stages.front().memo, text, nullptr, out);  // aligns it on its way
        index = 1;
    } else {
        out.text.assign(text.begin(), text.end());
        align_with_itself(text, out.spans);
    }
    AlignedText next;
    for (; index < program.stages.size(); ++index) {
        const Stage& stage = program.stages[index];
        if (stage.memo != nullptr) {
            run_fused(*stage.memo, out.text, out.spans.data(), next);
        } else {
            next.text.clear();
            next.spans.clear();
            run_step(program.steps[stage.begin], out.text, out.spans.data(), next);
        }
        std::swap(out, next);
    }
}

}  // namespace tokenmill::normalize
