// compile: a definition as compile/native.ts writes it -> the bytes of a `.mill` file. The twin of
// bind/compile.cpp, from memory instead of objects of Python.
//
// All numbers are little-endian and begin at a multiple of 8:
//
//   number, choice, truth   8 bytes
//   array, bytes            8 bytes for the size in bytes, then the elements, then zeros
//   optional                a truth, and the value if it is one
//   list                    a number, and so many values
//
// The fields come in the order of the functions below.
#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "base/error.h"
#include "errors.h"
#include "handle.h"
#include "model_file.h"
#include "module.h"
#include "pipeline/pipeline.h"

using namespace tokenmill;

namespace {

constexpr std::uint64_t kFormat = 0x31'3030'4544'4D54;  // "TMDE001"

// Reads field by field; Error(BadSpec) for what does not fit.
class Fields {
public:
    explicit Fields(Bytes data) : data_(data) {}

    std::uint64_t number(std::uint64_t most, const char* name) {
        std::uint64_t value = 0;
        std::memcpy(&value, take(sizeof(value), name).data(), sizeof(value));
        if (value > most) {
            refuse(name);
        }
        return value;
    }
    std::uint32_t number(const char* name) {
        return static_cast<std::uint32_t>(number(0xFFFFFFFF, name));
    }
    bool truth(const char* name) { return number(1, name) == 1; }
    template <typename Enum>
    Enum choice(Enum last, const char* name) {
        return static_cast<Enum>(number(static_cast<std::uint64_t>(last), name));
    }
    // Borrowed from the definition.
    Bytes bytes(const char* name) { return array<std::uint8_t>(name); }
    template <typename T>
    std::span<const T> array(const char* name) {
        const auto size = static_cast<std::size_t>(number(data_.size(), name));
        if (size % sizeof(T) != 0) {
            refuse(name);
        }
        const Bytes found = take((size + 7) / 8 * 8, name);
        return {reinterpret_cast<const T*>(found.data()), size / sizeof(T)};
    }
    template <typename T>
    std::span<const T> optional_array(const char* name) {
        return truth(name) ? array<T>(name) : std::span<const T>{};
    }
    // Places in bytes, which JavaScript has in 32 bits.
    std::vector<std::uint64_t> places(const char* name) {
        const auto narrow = array<std::uint32_t>(name);
        return {narrow.begin(), narrow.end()};
    }
    void end() const {
        if (!data_.empty()) {
            refuse("the end");
        }
    }

private:
    Bytes take(std::size_t size, const char* name) {
        if (size > data_.size()) {
            refuse(name);
        }
        const Bytes found = data_.first(size);
        data_ = data_.subspan(size);
        return found;
    }
    [[noreturn]] static void refuse(const char* name) {
        throw Error(ErrorCode::BadSpec, std::string("definition: unexpected bytes at ") + name);
    }

    Bytes data_;
};

// What the spans of the input borrow, besides the definition itself.
struct KeptPlaces {
    std::vector<std::uint64_t> tokens;
    std::vector<std::uint64_t> decoded;
};

void read_vocab(Fields& in, KeptPlaces& kept, vocab::VocabInput& out) {
    out.kind = in.choice(vocab::ModelKind::WordLevel, "kind");
    out.token_bytes = in.bytes("token_bytes");
    out.token_offsets = kept.tokens = in.places("token_offsets");
    out.matchable = in.array<std::uint8_t>("matchable");
    out.decode_bytes = in.bytes("decode_bytes");
    out.decode_offsets = kept.decoded = in.places("decode_offsets");
    out.merges = in.optional_array<std::uint32_t>("merges");
    out.ranks = in.optional_array<std::uint32_t>("ranks");
    out.ignore_merges = in.truth("ignore_merges");
    out.byte_ids = in.optional_array<std::uint32_t>("byte_ids");
    out.scores = in.optional_array<double>("scores");
    if (in.truth("unk_id")) {
        out.unk_id = in.number("unk_id");
    }
    out.fuse_unk = in.truth("fuse_unk");
    out.drop_white = in.truth("drop_white");
    out.whole_text = in.truth("whole_text");
    out.has_ends = in.truth("has_ends");
    out.prefix = in.bytes("prefix");
    out.max_characters = in.number("max_characters");
    const auto is_places = [](std::span<const std::uint64_t> places, std::size_t size) {
        return !places.empty() && places.front() == 0 && places.back() == size &&
               std::ranges::is_sorted(places);
    };
    const std::size_t count = out.token_offsets.empty() ? 0 : out.token_offsets.size() - 1;
    if (!is_places(out.token_offsets, out.token_bytes.size()) ||
        !is_places(out.decode_offsets, out.decode_bytes.size()) ||
        out.decode_offsets.size() != count + 1 || out.matchable.size() != count ||
        (!out.ranks.empty() && out.ranks.size() != count) || out.merges.size() % 2 != 0 ||
        (!out.byte_ids.empty() && out.byte_ids.size() != 256) ||
        (!out.scores.empty() && out.scores.size() != count)) {
        throw Error(ErrorCode::BadSpec, "vocabulary: arrays of different lengths");
    }
}

split::StageInput read_stage(Fields& in) {
    split::StageInput out;
    out.ranges = in.array<std::uint32_t>("ranges");
    out.n_classes = in.number("n_classes");
    out.next = in.array<std::uint16_t>("next");
    out.sync = in.array<std::uint8_t>("sync");
    out.separates = in.array<std::uint8_t>("separates");
    out.keep_match = in.truth("keep_match");
    out.keep_gap = in.truth("keep_gap");
    out.on_bytes = in.truth("on_bytes");
    return out;
}

void read_rule(Fields& in, split::SplitInput& out) {
    split::Rule& rule = out.rule;
    rule.family = in.choice(split::Family::Adjacent, "family");
    out.rule_ranges = in.array<std::uint32_t>("classes");
    rule.contraction = in.choice(split::Contraction::IgnoreCase, "contraction");
    rule.digits = in.number("digits");
    rule.tail = in.choice(split::NewlineTail::CrLfSlash, "tail");
    rule.end_run = in.truth("end_run") ? 1 : 0;
    rule.isolate_digits = static_cast<std::uint32_t>(in.number(1, "isolate_digits"));
    rule.isolate_han = in.truth("isolate_han") ? 1 : 0;
    const std::uint32_t wide_classes = in.truth("wide_classes") ? 1 : 0;
    const auto joins = in.array<std::uint32_t>("joins");
    if (rule.family != split::Family::Adjacent) {
        rule.fold_long_s = 1;  // as bind/compile.cpp
        return;
    }
    rule = {};  // the other parameters mean nothing to this family
    rule.family = split::Family::Adjacent;
    rule.wide_classes = wide_classes;
    for (std::size_t i = 0; i < joins.size() && i < kByteClasses; ++i) {
        out.adjacency.joins[i] = static_cast<std::uint8_t>(joins[i]);
    }
}

split::AddedText read_added(Fields& in) {
    const Bytes content = in.bytes("content");
    const std::uint32_t id = in.number("id");
    std::uint32_t flags = 0;
    for (const std::uint32_t bit : {split::kSpecial, split::kNormalized, split::kStripLeft,
                                    split::kStripRight, split::kSingleWord}) {
        flags |= in.truth("added token") ? bit : 0;
    }
    return {{content.begin(), content.end()}, {id, flags}};
}

pipeline::ModelInput read_definition(Fields& in, KeptPlaces& kept) {
    pipeline::ModelInput input;
    if (in.number(UINT64_MAX, "format") != kFormat) {
        throw Error(ErrorCode::BadSpec, "definition: not written by this version");
    }
    read_vocab(in, kept, input.vocab);
    for (std::uint32_t left = in.number("stages"); left > 0; --left) {
        input.split.stages.push_back(read_stage(in));
    }
    if (in.truth("rule")) {
        read_rule(in, input.split);
    }
    input.cut_by_tokens = in.truth("cut_by_tokens");
    for (std::uint32_t left = in.number("added_tokens"); left > 0; --left) {
        input.added.push_back(read_added(in));
    }
    input.normalizer = in.bytes("normalizer");
    input.respelling = in.bytes("respelling");
    input.prefix_space = in.choice(pipeline::PrefixSpace::First, "prefix_space");
    input.trim = in.choice(pipeline::Trim::KeepAdded, "trim");
    input.prefix_ids = in.array<std::uint32_t>("prefix_ids");
    input.suffix_ids = in.array<std::uint32_t>("suffix_ids");
    input.white_ranges = in.array<std::uint32_t>("whitespace_ranges");
    input.word_ranges = in.array<std::uint32_t>("word_ranges");
    input.meta = in.bytes("meta");
    in.end();
    return input;
}

}  // namespace

tokenmill_status tokenmill_normalize(const void* program, size_t program_size, const char* text,
                                     size_t size, tokenmill_bytes* out) {
    return capi::guarded([&] {
        *out = {nullptr, 0};
        const Bytes steps(static_cast<const std::uint8_t*>(program), program_size);
        const Bytes bytes(reinterpret_cast<const std::uint8_t*>(text), size);
        normalize::Buffer made;
        normalize::run(normalize::parse_program(steps), bytes, made);
        capi::give({made.begin(), made.end()}, *out);
    });
}

tokenmill_status tokenmill_compile(const void* definition, size_t size, void** file,
                                   size_t* file_size) {
    return capi::guarded([&] {
        *file = nullptr;
        Fields in({static_cast<const std::uint8_t*>(definition), size});
        KeptPlaces kept;
        const std::vector<std::uint8_t> payload =
            pipeline::compile_model(read_definition(in, kept));
        const std::vector<std::uint8_t> head = capi::header_of(payload);
        auto* const made = static_cast<std::uint8_t*>(tokenmill_take(head.size() + payload.size()));
        if (made == nullptr) {
            throw std::bad_alloc();
        }
        std::memcpy(made, head.data(), head.size());
        std::memcpy(made + head.size(), payload.data(), payload.size());
        *file = made;
        *file_size = head.size() + payload.size();
    });
}
