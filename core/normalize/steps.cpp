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
        case Kind::Nfc:
        case Kind::Nfd:
        case Kind::Nfkc:
        case Kind::Nfkd:
            return rewrite_form(step.kind, mask_of(step.kind), text, sink);
        case Kind::Lowercase:
            return rewrite_lowercase(text, sink);
        case Kind::StripAccents:
            return remove_flagged(unicode::kMark, text, sink);
        case Kind::StripNonspacing:
            return remove_flagged(unicode::kNonspacing, text, sink);
        case Kind::Clean:
            return clean(text, sink);
        case Kind::SpaceIdeographs:
            return space_ideographs(text, sink);
        case Kind::Nmt:
            return rewrite_nmt(text, sink);
        case Kind::ByteLevel:
            return write_stand_ins(text, sink);
        case Kind::CharsMap:
            return rewrite_clusters(*step.chars_map, text, sink);
        case Kind::Strip:
            return strip_ends(step, text, sink);
        case Kind::Replace:
            return replace_literal(step, text, sink);
        case Kind::ReplacePattern:
            return replace_matches(step, text, sink);
        case Kind::Prepend:
            return prepend(step, text, sink);
        case Kind::Squeeze:
        case Kind::Sentence:
            return;  // see run_step
    }
}

bool is_form(Kind kind) noexcept {
    return kind == Kind::Nfc || kind == Kind::Nfd || kind == Kind::Nfkc || kind == Kind::Nfkd;
}

}  // namespace

void run_step(const Step& step, Bytes text, std::vector<std::uint8_t>& out) {
    if (step.kind == Kind::Squeeze) {
        return squeeze(text, out);
    }
    if (step.kind == Kind::Sentence) {
        return step.sentence->rewrite(text, out);
    }
    rewrite(step, text, TextSink{out});
}

void run_step(const Step& step, Bytes text, const Span* spans, AlignedText& out) {
    if (step.kind == Kind::Squeeze) {
        return squeeze(text, spans, out);
    }
    if (step.kind == Kind::Sentence) {
        return step.sentence->rewrite(text, out);
    }
    rewrite(step, text, AlignedSink{text.data(), spans, out});
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
        default:
            return 0;
    }
}

bool is_local(const Step& step) noexcept {
    switch (step.kind) {
        case Kind::Strip:
        case Kind::Prepend:
        case Kind::ReplacePattern:
        case Kind::Squeeze:
        case Kind::Sentence:
            return false;
        case Kind::Replace:
            return char_size(step.from[0]) == step.from.size();
        default:
            return true;
    }
}

bool is_contextual(const Step& step) noexcept {
    return is_form(step.kind) || step.kind == Kind::CharsMap;
}

bool joins(const Step& step, char32_t point) noexcept {
    return step.kind == Kind::CharsMap ? unicode::joins_clusters(point)
                                       : is_form(step.kind) && joins_forms(point);
}

}  // namespace tokenmill::normalize
