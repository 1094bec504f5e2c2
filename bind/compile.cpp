// compile_model: the arrays of a tokenizer definition -> compiled model bytes.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>

#include "bind.h"

namespace tokenmill::bind {

namespace {

template <typename T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

using StageArgument = std::tuple<Matrix<std::uint32_t>, std::uint32_t, Matrix<std::uint16_t>,
                                 Matrix<std::uint8_t>, Matrix<std::uint8_t>, bool, bool, bool>;
using AddedArgument = std::tuple<nb::bytes, std::uint32_t, bool, bool, bool, bool, bool>;

template <typename A>
auto span_of(const A& array) {
    return std::span(array.data(), array.size());
}

Bytes view_of(const nb::bytes& bytes) {
    return {reinterpret_cast<const std::uint8_t*>(bytes.c_str()), bytes.size()};
}

split::StageInput stage_of(const StageArgument& stage) {
    split::StageInput input;
    input.ranges = span_of(std::get<0>(stage));
    input.n_classes = std::get<1>(stage);
    input.next = span_of(std::get<2>(stage));
    input.sync = span_of(std::get<3>(stage));
    input.separates = span_of(std::get<4>(stage));
    input.keep_match = std::get<5>(stage);
    input.keep_gap = std::get<6>(stage);
    input.on_bytes = std::get<7>(stage);
    return input;
}

split::AddedText added_of(const AddedArgument& token) {
    const auto& [content, id, special, normalized, lstrip, rstrip, single_word] = token;
    const std::uint32_t flags =
        (special ? split::kSpecial : 0U) | (normalized ? split::kNormalized : 0U) |
        (lstrip ? split::kStripLeft : 0U) | (rstrip ? split::kStripRight : 0U) |
        (single_word ? split::kSingleWord : 0U);
    const Bytes bytes = view_of(content);
    return {{bytes.begin(), bytes.end()}, {id, flags}};
}

// A word of a rule -> its number, by the order of `words`.
std::uint32_t choice(const nb::dict& rule, const char* field,
                     std::initializer_list<const char*> words) {
    const auto value = nb::cast<std::string>(rule[field]);
    std::uint32_t number = 0;
    for (const char* word : words) {
        if (value == word) {
            return number;
        }
        ++number;
    }
    throw Error(ErrorCode::BadSpec, std::string("rule: unknown ") + field + " " + value);
}

split::Rule rule_of(const nb::dict& rule) {
    split::Rule out;
    out.family = static_cast<split::Family>(
        choice(rule, "family", {"gpt2", "cl100k", "o200k", "adjacent"}) + 1);
    if (out.family == split::Family::Adjacent) {
        out.wide_classes = nb::cast<bool>(rule["wide_classes"]) ? 1 : 0;
        return out;
    }
    out.contraction = static_cast<split::Contraction>(
        choice(rule, "contraction", {"none", "exact", "ignore_case"}));
    out.digits = nb::cast<std::uint32_t>(rule["digits"]);
    out.tail = static_cast<split::NewlineTail>(choice(rule, "tail", {"", "crlf", "crlf_slash"}));
    out.end_run = nb::cast<bool>(rule["end_run"]) ? 1 : 0;
    out.isolate_digits = choice(rule, "isolate_digits", {"none", "each"});
    out.isolate_han = nb::cast<bool>(rule["isolate_han"]) ? 1 : 0;
    out.fold_long_s = 1;  // both engines fold U+017F to s; tests/split compares with the DFA
    return out;
}

// Which classes of bytes a word joins: [right] has bit `left`.
Adjacency adjacency_of(const nb::dict& rule) {
    Adjacency out;
    const auto joins = nb::cast<std::vector<std::uint32_t>>(rule["joins"]);
    for (std::size_t i = 0; i < joins.size() && i < kByteClasses; ++i) {
        out.joins[i] = static_cast<std::uint8_t>(joins[i]);
    }
    return out;
}

template <typename T>
void set_array(const nb::dict& model, const char* name, Array<T>& keep, std::span<const T>& out) {
    if (!model[name].is_none()) {
        keep = nb::cast<Array<T>>(model[name]);
        out = span_of(keep);
    }
}

// What a model needs besides its tokens; arrays live as long as this does.
struct ModelArgument {
    Array<std::uint32_t> byte_ids;
    Array<double> scores;
    nb::bytes prefix;

    void put(const nb::dict& model, vocab::VocabInput& out) {
        out.kind = static_cast<vocab::Kind>(
            choice(model, "kind", {"bytes", "characters", "wordpiece", "unigram", "wordlevel"}));
        set_array(model, "byte_ids", byte_ids, out.byte_ids);
        set_array(model, "scores", scores, out.scores);
        if (!model["unk_id"].is_none()) {
            out.unk_id = nb::cast<std::uint32_t>(model["unk_id"]);
        }
        out.fuse_unk = nb::cast<bool>(model["fuse_unk"]);
        out.drop_white = nb::cast<bool>(model["drop_white"]);
        out.whole_text = nb::cast<bool>(model["whole_text"]);
        out.has_ends = nb::cast<bool>(model["has_ends"]);
        prefix = nb::cast<nb::bytes>(model["prefix"]);
        out.prefix = view_of(prefix);
        out.max_characters = nb::cast<std::uint32_t>(model["max_characters"]);
        const std::size_t count = out.token_offsets.size() - 1;
        if ((!out.byte_ids.empty() && out.byte_ids.size() != 256) ||
            (!out.scores.empty() && out.scores.size() != count)) {
            throw Error(ErrorCode::BadSpec, "vocabulary: arrays of different lengths");
        }
    }
};

nb::bytes compile_model(
    const nb::bytes& token_bytes, const Array<std::uint64_t>& token_offsets,
    const Array<std::uint8_t>& matchable, const nb::bytes& decode_bytes,
    const Array<std::uint64_t>& decode_offsets, const std::optional<Matrix<std::uint32_t>>& merges,
    const std::optional<Array<std::uint32_t>>& ranks, bool ignore_merges, const nb::dict& model,
    bool cut_by_tokens, const std::vector<StageArgument>& stages,
    const std::optional<nb::dict>& native_rule, const std::vector<AddedArgument>& added_tokens,
    const nb::bytes& normalizer, const nb::bytes& respelling, std::uint32_t prefix_space,
    std::uint32_t trim, const Array<std::uint32_t>& prefix_ids,
    const Array<std::uint32_t>& suffix_ids, const Matrix<std::uint32_t>& whitespace_ranges,
    const Matrix<std::uint32_t>& word_ranges, const nb::bytes& meta) {
    pipeline::ModelInput input;
    input.vocab.token_bytes = view_of(token_bytes);
    input.vocab.token_offsets = span_of(token_offsets);
    input.vocab.matchable = span_of(matchable);
    input.vocab.decode_bytes = view_of(decode_bytes);
    input.vocab.decode_offsets = span_of(decode_offsets);
    if (merges) {
        input.vocab.merges = span_of(*merges);
    }
    if (ranks) {
        input.vocab.ranks = span_of(*ranks);
    }
    input.vocab.ignore_merges = ignore_merges;
    ModelArgument rest;
    rest.put(model, input.vocab);
    input.cut_by_tokens = cut_by_tokens;
    for (const StageArgument& stage : stages) {
        input.split.stages.push_back(stage_of(stage));
    }
    std::optional<Matrix<std::uint32_t>> classes;
    if (native_rule) {
        input.split.rule = rule_of(*native_rule);
        classes = nb::cast<Matrix<std::uint32_t>>((*native_rule)["classes"]);
        input.split.rule_ranges = span_of(*classes);
        if (input.split.rule.family == split::Family::Adjacent) {
            input.split.adjacency = adjacency_of(*native_rule);
        }
    }
    for (const AddedArgument& token : added_tokens) {
        input.added.push_back(added_of(token));
    }
    input.normalizer = view_of(normalizer);
    input.respelling = view_of(respelling);
    input.prefix_space = static_cast<pipeline::PrefixSpace>(prefix_space);
    input.trim = static_cast<pipeline::Trim>(trim);
    input.prefix_ids = span_of(prefix_ids);
    input.suffix_ids = span_of(suffix_ids);
    input.white_ranges = span_of(whitespace_ranges);
    input.word_ranges = span_of(word_ranges);
    input.meta = view_of(meta);
    std::vector<std::uint8_t> out;
    {
        const nb::gil_scoped_release unlocked;
        out = pipeline::compile_model(input);
    }
    return nb::bytes(reinterpret_cast<const char*>(out.data()), out.size());
}

}  // namespace

void register_compile(nb::module_& m) {
    m.def("compile_model", &compile_model, nb::kw_only(), nb::arg("token_bytes"),
          nb::arg("token_offsets"), nb::arg("matchable"), nb::arg("decode_bytes"),
          nb::arg("decode_offsets"), nb::arg("merges").none(), nb::arg("ranks").none(),
          nb::arg("ignore_merges"), nb::arg("model"), nb::arg("cut_by_tokens"), nb::arg("stages"),
          nb::arg("native_rule").none(), nb::arg("added_tokens"), nb::arg("normalizer"),
          nb::arg("respelling"), nb::arg("prefix_space"), nb::arg("trim"), nb::arg("prefix_ids"),
          nb::arg("suffix_ids"), nb::arg("whitespace_ranges"), nb::arg("word_ranges"),
          nb::arg("meta"), "Compile a tokenizer definition.");
}

}  // namespace tokenmill::bind
