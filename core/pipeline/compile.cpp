// pipeline: a ModelInput -> the bytes of a compiled model.
#include "pipeline/pipeline.h"

namespace tokenmill::pipeline {

// Each room writes its own sections. The order matters twice: what the vocabulary learns about cuts
// goes into the split, and added tokens are normalized as the texts they are looked for in.
std::vector<std::uint8_t> compile_model(const ModelInput& input) {
    BlobWriter out;
    out.add_bytes(kMeta, input.meta.data(), input.meta.size());
    const LearntCuts learnt = vocab::compile_vocab(input.vocab, out);
    split::SplitInput split = input.split;
    if (input.cut_by_tokens) {
        split.adjacency = learnt.adjacency;
    } else if (input.vocab.kind == vocab::ModelKind::Unigram && !input.vocab.whole_text) {
        split.inside = learnt.inside;
        split.cuts_inside = true;
    }
    split::compile_split(split, out);
    const normalize::Program program = normalize::parse_program(input.normalizer);
    std::vector<split::AddedText> added = input.added;
    // This step rewrites whole texts; its result is searched for added tokens as they are written.
    const bool as_they_are =
        !program.steps.empty() && program.steps[0].kind == normalize::StepKind::Sentence;
    for (split::AddedText& text : added) {
        if ((text.token.flags & split::kNormalized) != 0 && !as_they_are) {
            normalize::Buffer content;
            normalize::run(program, text.content, content);
            text.content.assign(content.begin(), content.end());
        }
        if (text.token.id > vocab::kIdMask) {
            throw Error(ErrorCode::BadSpec, "added tokens: an id beyond 2^20");
        }
    }
    split::compile_added(added, input.white_ranges, input.word_ranges, out);
    out.add_bytes(kNormalizer, input.normalizer.data(), input.normalizer.size());
    out.add_bytes(kRespelling, input.respelling.data(), input.respelling.size());
    out.add_bytes(kPrefixIds, input.prefix_ids.data(), input.prefix_ids.size_bytes(), 4);
    out.add_bytes(kSuffixIds, input.suffix_ids.data(), input.suffix_ids.size_bytes(), 4);
    out.add_value(kFlags, input.prefix_space);
    out.add_value(kTrim, input.trim);
    if (input.cut_by_tokens) {
        out.add_value(kWholeRanges, std::uint32_t{1});
    }
    return out.finish();
}

}  // namespace tokenmill::pipeline
