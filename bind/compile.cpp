// compile_model: a Definition of tokenmill._compile.definition -> compiled model bytes.
#include <nanobind/stl/vector.h>

#include "fields.h"

namespace tokenmill::bind {

namespace {

split::StageInput stage_of(const Fields& stage) {
    split::StageInput input;
    input.ranges = stage.array<ConstMatrix<std::uint32_t>>("ranges");
    input.n_classes = stage.get<std::uint32_t>("n_classes");
    input.next = stage.array<ConstMatrix<std::uint16_t>>("next");
    input.sync = stage.array<ConstMatrix<std::uint8_t>>("sync");
    input.separates = stage.array<ConstMatrix<std::uint8_t>>("separates");
    input.keep_match = stage.get<bool>("keep_match");
    input.keep_gap = stage.get<bool>("keep_gap");
    input.on_bytes = stage.get<bool>("on_bytes");
    return input;
}

// The flags of an added token as bits.
split::AddedText added_of(const Fields& token) {
    const auto flag = [&](const char* name, std::uint32_t bit) {
        return token.get<bool>(name) ? bit : 0U;
    };
    const std::uint32_t flags =
        flag("special", split::kSpecial) | flag("normalized", split::kNormalized) |
        flag("lstrip", split::kStripLeft) | flag("rstrip", split::kStripRight) |
        flag("single_word", split::kSingleWord);
    const auto content = token.get<std::string>("content");
    return {{content.begin(), content.end()}, {token.get<std::uint32_t>("id"), flags}};
}

// The words of the parameters are in the order of the enums.
split::Rule rule_of(const Fields& rule) {
    split::Rule out;
    const auto family =
        rule.choice<std::uint32_t>("family", {"gpt2", "cl100k", "o200k", "adjacent"});
    out.family = static_cast<split::Family>(family + 1);  // 0 means none
    if (out.family == split::Family::Adjacent) {
        out.wide_classes = rule.get<bool>("wide_classes") ? 1 : 0;
        return out;
    }
    out.contraction =
        rule.choice<split::Contraction>("contraction", {"none", "exact", "ignore_case"});
    out.digits = rule.get<std::uint32_t>("digits");
    out.tail = rule.choice<split::NewlineTail>("tail", {"", "crlf", "crlf_slash"});
    out.end_run = rule.get<bool>("end_run") ? 1 : 0;
    out.isolate_digits = rule.choice<std::uint32_t>("isolate_digits", {"none", "each"});
    out.isolate_han = rule.get<bool>("isolate_han") ? 1 : 0;
    out.fold_long_s = 1;  // both engines fold U+017F to s; tests/split compares with the DFA
    return out;
}

// Which classes of bytes a word joins: [right] has bit `left`.
Adjacency adjacency_of(const Fields& rule) {
    Adjacency out;
    const auto joins = rule.get<std::vector<std::uint32_t>>("joins");
    for (std::size_t i = 0; i < joins.size() && i < kByteClasses; ++i) {
        out.joins[i] = static_cast<std::uint8_t>(joins[i]);
    }
    return out;
}

void read_split(const Fields& definition, split::SplitInput& out) {
    definition.for_each("stages",
                        [&](const Fields& stage) { out.stages.push_back(stage_of(stage)); });
    if (definition.has("rule")) {
        const Fields rule = definition.inside("rule");
        out.rule = rule_of(rule);
        out.rule_ranges = rule.array<ConstMatrix<std::uint32_t>>("classes");
        if (out.rule.family == split::Family::Adjacent) {
            out.adjacency = adjacency_of(rule);
        }
    }
}

// Field by field, and the checks that need more than one of them.
void read_vocab(const Fields& vocab, vocab::VocabInput& out) {
    out.kind = vocab.choice<vocab::ModelKind>(
        "kind", {"bytes", "characters", "wordpiece", "unigram", "wordlevel"});
    out.token_bytes = vocab.bytes("token_bytes");
    out.token_offsets = vocab.array<ConstArray<std::uint64_t>>("token_offsets");
    out.matchable = vocab.array<ConstArray<std::uint8_t>>("matchable");
    out.decode_bytes = vocab.bytes("decode_bytes");
    out.decode_offsets = vocab.array<ConstArray<std::uint64_t>>("decode_offsets");
    out.merges = vocab.optional_array<ConstMatrix<std::uint32_t>>("merges");
    out.ranks = vocab.optional_array<ConstArray<std::uint32_t>>("ranks");
    out.ignore_merges = vocab.get<bool>("ignore_merges");
    out.byte_ids = vocab.optional_array<ConstArray<std::uint32_t>>("byte_ids");
    out.scores = vocab.optional_array<ConstArray<double>>("scores");
    if (vocab.has("unk_id")) {
        out.unk_id = vocab.get<std::uint32_t>("unk_id");
    }
    out.fuse_unk = vocab.get<bool>("fuse_unk");
    out.drop_white = vocab.get<bool>("drop_white");
    out.whole_text = vocab.get<bool>("whole_text");
    out.has_ends = vocab.get<bool>("has_ends");
    out.prefix = vocab.bytes("prefix");
    out.max_characters = vocab.get<std::uint32_t>("max_characters");
    const std::size_t count = out.token_offsets.size() - 1;
    if ((!out.byte_ids.empty() && out.byte_ids.size() != 256) ||
        (!out.scores.empty() && out.scores.size() != count)) {
        throw Error(ErrorCode::BadSpec, "vocabulary: arrays of different lengths");
    }
}

// The result borrows its arrays from `kept`.
pipeline::ModelInput read_definition(const Fields& definition) {
    pipeline::ModelInput input;
    read_vocab(definition.inside("vocab"), input.vocab);
    read_split(definition, input.split);
    input.cut_by_tokens = definition.get<bool>("cut_by_tokens");
    definition.for_each("added_tokens",
                        [&](const Fields& token) { input.added.push_back(added_of(token)); });
    input.normalizer = definition.bytes("normalizer");
    input.respelling = definition.bytes("respelling");
    input.prefix_space =
        definition.choice<pipeline::PrefixSpace>("prefix_space", {"never", "always", "first"});
    input.trim = definition.choice<pipeline::Trim>("trim", {"never", "all", "keep_added"});
    input.prefix_ids = definition.array<ConstArray<std::uint32_t>>("prefix_ids");
    input.suffix_ids = definition.array<ConstArray<std::uint32_t>>("suffix_ids");
    input.white_ranges = definition.array<ConstMatrix<std::uint32_t>>("whitespace_ranges");
    input.word_ranges = definition.array<ConstMatrix<std::uint32_t>>("word_ranges");
    input.meta = definition.bytes("meta");
    return input;
}

nb::bytes compile_model(nb::object definition) {
    Kept kept;  // goes last, with the GIL
    const pipeline::ModelInput input =
        read_definition(Fields(std::move(definition), "definition", kept));
    std::vector<std::uint8_t> out;
    {
        const nb::gil_scoped_release unlocked;
        out = pipeline::compile_model(input);
    }
    return bytes_of(out);
}

}  // namespace

void register_compile(nb::module_& m) {
    m.def("compile_model", &compile_model, nb::arg("definition"),
          "Compile a tokenmill._compile.definition.Definition.");
}

}  // namespace tokenmill::bind
