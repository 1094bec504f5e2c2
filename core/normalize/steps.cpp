#include "normalize/steps.h"

#include "normalize/charsmap.h"
#include "normalize/forms.h"
#include "normalize/pattern.h"
#include "normalize/rewrite.h"
#include "normalize/sentence.h"
#include "normalize/sink.h"
#include "normalize/squeeze.h"
#include "unicode/unicode.h"

namespace tokenmill::normalize {

namespace {

template <typename Sink>
void rewrite(const Step& step, Bytes text, Sink sink) {
    switch (step.kind) {
        case StepKind::Nfc:
        case StepKind::Nfd:
        case StepKind::Nfkc:
        case StepKind::Nfkd:
            return rewrite_form(step.kind, mask_of(step.kind), text, sink);
        case StepKind::Lowercase:
            return rewrite_lowercase(text, sink);
        case StepKind::StripAccents:
            return remove_flagged(unicode::kMark, text, sink);
        case StepKind::StripNonspacing:
            return remove_flagged(unicode::kNonspacing, text, sink);
        case StepKind::Clean:
            return clean(text, sink);
        case StepKind::SpaceIdeographs:
            return space_ideographs(text, sink);
        case StepKind::Nmt:
            return rewrite_nmt(text, sink);
        case StepKind::ByteLevel:
            return write_stand_ins(text, sink);
        case StepKind::CharsMap:
            return rewrite_clusters(*step.chars_map, text, sink);
        case StepKind::Strip:
            return strip_ends(step, text, sink);
        case StepKind::Replace:
            return replace_literal(step, text, sink);
        case StepKind::ReplacePattern:
            return replace_matches(step, text, sink);
        case StepKind::Prepend:
            return prepend(step, text, sink);
        case StepKind::Squeeze:
        case StepKind::Sentence:
            return;  // see run_step
    }
}

bool is_form(StepKind kind) noexcept {
    return kind == StepKind::Nfc || kind == StepKind::Nfd || kind == StepKind::Nfkc ||
           kind == StepKind::Nfkd;
}

}  // namespace

void run_step(const Step& step, Bytes text, Buffer& out, const Stop* stop) {
    if (step.kind == StepKind::Squeeze) {
        return squeeze(text, out, stop);
    }
    if (step.kind == StepKind::Sentence) {
        return step.sentence->rewrite(text, out, stop);
    }
    rewrite(step, text, TextSink{out, stop, StopPoints(stop)});
}

void run_step(const Step& step, Bytes text, const Span* spans, AlignedText& out, const Stop* stop) {
    if (step.kind == StepKind::Squeeze) {
        return squeeze(text, spans, out, stop);
    }
    if (step.kind == StepKind::Sentence) {
        return step.sentence->rewrite(text, out, stop);
    }
    rewrite(step, text, AlignedSink{text.data(), spans, out, stop, StopPoints(stop)});
}

std::uint16_t mask_of(StepKind kind) noexcept {
    using namespace unicode;
    switch (kind) {
        case StepKind::Nfc:
            return kNotNfc | kCombines | kMaybe;
        case StepKind::Nfd:
            return kNotNfd | kCombines;
        case StepKind::Nfkc:
            return kNotNfkc | kCombines | kMaybe;
        case StepKind::Nfkd:
            return kNotNfkd | kCombines;
        default:
            return 0;
    }
}

bool is_local(const Step& step) noexcept {
    switch (step.kind) {
        case StepKind::Strip:
        case StepKind::Prepend:
        case StepKind::ReplacePattern:
        case StepKind::Squeeze:
        case StepKind::Sentence:
            return false;
        case StepKind::Replace:
            return char_size(step.from[0]) == step.from.size();
        default:
            return true;
    }
}

bool is_contextual(const Step& step) noexcept {
    return is_form(step.kind) || step.kind == StepKind::CharsMap;
}

bool joins(const Step& step, char32_t point) noexcept {
    return step.kind == StepKind::CharsMap ? unicode::joins_clusters(point)
                                           : is_form(step.kind) && joins_forms(point);
}

}  // namespace tokenmill::normalize
