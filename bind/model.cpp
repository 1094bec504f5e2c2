// model: a compiled model -> the methods of _core.Model.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <tuple>

#include "arrays.h"
#include "counts.h"
#include "decode/decode.h"
#include "method.h"
#include "device/device.h"
#include "mill/mill.h"
#include "model_memory.h"
#include "options.h"

namespace tokenmill::bind {

namespace {

using pipeline::Options;
using IdArray = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using OutArray = nb::ndarray<nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using OffsetArray = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

nb::object ids_of(pipeline::Encoded& encoded, unsigned bits) {
    return array_of(std::move(encoded.memory.ids), encoded.count, bits, Spares::Ids);
}

nb::object offsets_of(pipeline::Encoded& encoded) {
    return array_of(std::move(encoded.offsets), encoded.documents + 1);
}

// The model and the memory that it reads. All methods may be called from several threads at once.
class BoundModel {
public:
    BoundModel(nb::handle buffer, int shrink_tables, int tables)
        : memory_(buffer), model_(memory_.bytes(), tables_of(shrink_tables, tables)) {}

    nb::object encode(nb::handle text, bool add_special_tokens, int special_mode, int errors,
                      const Stop* stop) {
        Options options = options_of(add_special_tokens, special_mode, errors, stop);
        const OneText held(text);
        const pipeline::Text& one = held.view();
        if (is_short(one)) {
            return encode_short(one, options);
        }
        if (one.size >= pipeline::kBigDocument) {
            options.threads = available_threads();
        }
        pipeline::Encoded encoded;
        {
            const nb::gil_scoped_release unlocked;
            try {
                encoded = model_.encode_batch({&one, 1}, options, {});
            } catch (const Error& error) {  // a single text has no document number
                throw Error(error.code, error.what(), error.offset);
            }
        }
        return ids_of(encoded, 32);
    }

    // Too short to be worth releasing the GIL?
    static bool is_short(const pipeline::Text& text) noexcept { return text.size <= kKeepGil; }

    // The hot call: no more than a lease, the encoding, and one copy into numpy.
    nb::object encode_short(const pipeline::Text& text, const Options& options) {
        pipeline::Model::Lease lease(model_);
        const auto ids = lease.encode(text, options);
        void* data = nullptr;
        nb::object array = empty_array(Number::U32, ids.size(), data);
        if (!ids.empty()) {
            std::memcpy(data, ids.data(), ids.size_bytes());
        }
        return array;
    }

    // (ids of all texts, offsets of each)
    std::pair<nb::object, nb::object> encode_batch(nb::handle texts, int threads, int bits,
                                                   bool add_special_tokens, int special_mode,
                                                   int errors, const Stop* stop,
                                                   CallCounts* counts) {
        pipeline::Output output;
        output.bits = bits_of(bits);
        Options options = options_of(add_special_tokens, special_mode, errors, stop, threads);
        options.counts = counts;
        pipeline::Encoded encoded = run(texts, options, output);
        nb::object offsets = offsets_of(encoded);
        return {ids_of(encoded, output.bits), offsets};
    }

    // (ids, offsets, spans: two numbers for each id)
    std::tuple<nb::object, nb::object, nb::object> encode_spans(nb::handle texts, int bits,
                                                                Options options,
                                                                bool in_characters) {
        pipeline::Output output;
        output.bits = bits_of(bits);
        options.spans = in_characters ? pipeline::SpanUnit::Characters : pipeline::SpanUnit::Bytes;
        pipeline::Encoded encoded = run(texts, options, output);
        nb::object offsets = offsets_of(encoded);
        nb::object spans =
            array_of(std::move(encoded.memory.spans), 2 * encoded.count, 32, Spares::Spans);
        return {ids_of(encoded, output.bits), offsets, spans};
    }

    // Spans in characters, and the number of the word that each id is of.
    std::tuple<nb::object, nb::object, nb::object, nb::object> encode_words(nb::handle texts,
                                                                            int threads,
                                                                            int special_mode) {
        Options options = options_of(false, special_mode, 0, nullptr, threads);
        options.spans = pipeline::SpanUnit::Characters;
        options.words = true;
        pipeline::Encoded encoded = run(texts, options, {});
        nb::object offsets = offsets_of(encoded);
        nb::object spans =
            array_of(std::move(encoded.memory.spans), 2 * encoded.count, 32, Spares::Spans);
        nb::object words =
            array_of(std::move(encoded.memory.words), encoded.count, 32, Spares::Words);
        return {ids_of(encoded, 32), offsets, spans, words};
    }

    nb::tuple encode_jsonl(nb::handle buffer, const mill::BlockRules& rules,
                           CallCounts* counts) const {
        return bind::encode_jsonl(model_, buffer, rules, counts);
    }
    nb::object encode_lines(device::LineDevice& device, nb::handle buffer,
                            const mill::BlockRules& rules, std::size_t reading,
                            std::optional<std::size_t> lane) const {
        return bind::encode_lines(model_, device, buffer, rules, reading, lane);
    }
    nb::tuple encode_texts(const TextBuffer& texts, const mill::BlockRules& rules,
                           CallCounts* counts) const {
        return bind::encode_texts(model_, texts, rules, counts);
    }

    // Into memory of the caller; returns the offsets.
    nb::object encode_into(nb::handle texts, const OutArray& out, int threads,
                           bool add_special_tokens, int special_mode, int errors,
                           const Stop* stop) {
        pipeline::Output output;
        output.data = out.data();
        output.capacity = out.size();
        output.bits = bits_of(static_cast<int>(out.itemsize() * 8));
        pipeline::Encoded encoded =
            run(texts, options_of(add_special_tokens, special_mode, errors, stop, threads), output);
        return offsets_of(encoded);
    }

    // The number of ids of one text; with a limit of 0 or more, `limit` + 1 means more.
    std::size_t count(nb::handle text, bool add_special_tokens, int special_mode, int errors,
                      std::int64_t limit, const Stop* stop) {
        const Options options = options_of(add_special_tokens, special_mode, errors, stop);
        const OneText held(text);
        const pipeline::Text& one = held.view();
        if (limit < 0 && is_short(one)) {
            pipeline::Model::Lease lease(model_);
            return lease.encode(one, options).size();
        }
        const nb::gil_scoped_release unlocked;
        const auto most = limit < 0 ? std::numeric_limits<std::size_t>::max() - 1
                                    : static_cast<std::size_t>(limit);
        return model_.count(one, options, most);
    }

    // A limit stops early only for a single text; the caller clips the counts of many.
    nb::object count_batch(nb::handle texts, int threads, bool add_special_tokens, int special_mode,
                           int errors, std::int64_t limit, const Stop* stop) {
        const Options options = options_of(add_special_tokens, special_mode, errors, stop, threads);
        BorrowedTexts held;
        held.add_all(texts);
        std::vector<std::int64_t> counts(held.view().size());
        {
            const nb::gil_scoped_release unlocked;
            if (limit >= 0 && counts.size() == 1) {
                const auto most = static_cast<std::size_t>(limit);
                counts[0] = static_cast<std::int64_t>(model_.count(held.view()[0], options, most));
            } else {
                pipeline::Output output;
                output.count_only = true;
                const pipeline::Encoded encoded = model_.encode_batch(held.view(), options, output);
                for (std::size_t i = 0; i < counts.size(); ++i) {
                    counts[i] = encoded.offsets[i + 1] - encoded.offsets[i];
                }
            }
        }
        return array_of(std::move(counts));
    }

    std::size_t prefix_end(nb::handle text, std::size_t from) const {
        const OneText held(text);
        return model_.prefix_end(held.view(), from);
    }

    bool is_well_formed(nb::handle text) const {
        const OneText held(text);
        const nb::gil_scoped_release unlocked;
        return model_.is_well_formed(held.view());
    }

    nb::bytes decode(const IdArray& ids) const {
        std::string out;
        decode::append_bytes(model_.vocab(), {ids.data(), ids.size()}, out);
        return nb::bytes(out.data(), out.size());
    }

    std::vector<nb::bytes> decode_batch(const IdArray& ids, const OffsetArray& offsets) const {
        std::vector<nb::bytes> rows;
        std::string out;
        for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
            const auto begin = static_cast<std::size_t>(offsets(i));
            const auto end = static_cast<std::size_t>(offsets(i + 1));
            if (offsets(i) < 0 || begin > end || end > ids.size()) {
                throw nb::value_error("offsets must rise from 0 to the number of ids");
            }
            out.clear();
            decode::append_bytes(model_.vocab(), {ids.data() + begin, end - begin}, out);
            rows.emplace_back(out.data(), out.size());
        }
        return rows;
    }

    nb::bytes token_bytes(std::int64_t id) const {
        if (id < 0 || id >= model_.vocab().token_count()) {
            throw Error(ErrorCode::IdOutOfRange, std::to_string(id));
        }
        const Bytes bytes = model_.vocab().decode_bytes(static_cast<TokenId>(id));
        return bytes_of(bytes);
    }

    std::int64_t token_id(const nb::bytes& token) const {
        if (token.size() == 0) {
            return -1;
        }
        const TokenId id = model_.vocab().find(view_of(token));
        return id == vocab::VocabView::kNoToken ? -1 : std::int64_t{id};
    }

    nb::dict memory() const { return memory_of(model_.memory()); }
    nb::dict counters() const { return dict_of(model_.counters()); }

    std::size_t release() const {
        const nb::gil_scoped_release unlocked;
        return model_.release();
    }

    nb::dict tables() const { return device_tables(model_); }

    // What is known about the tokenizer, as JSON; the file it came from follows after a NUL.
    nb::bytes meta() const {
        const Bytes bytes = model_.meta();
        return bytes_of(bytes.first(json_size(bytes)));
    }
    // That file, compressed; empty if it was not kept.
    nb::bytes packed_source() const {
        const Bytes bytes = model_.meta();
        return bytes_of(bytes.subspan(std::min(json_size(bytes) + 1, bytes.size())));
    }
    std::int64_t vocab_size() const { return std::int64_t{model_.max_id()} + 1; }
    std::int64_t max_id() const { return model_.max_id(); }
    const char* target() const { return simd::name_of(model_.target()); }
    const pipeline::Model& core() const noexcept { return model_; }

private:
    static std::size_t json_size(Bytes meta) noexcept {
        return static_cast<std::size_t>(std::find(meta.begin(), meta.end(), 0) - meta.begin());
    }

    // The texts are held for as long as the GIL is released.
    pipeline::Encoded run(nb::handle texts, const Options& options,
                          const pipeline::Output& output) {
        BorrowedTexts held;
        held.add_all(texts);
        const nb::gil_scoped_release unlocked;
        return model_.encode_batch(held.view(), options, output);
    }

    ModelMemory memory_;
    pipeline::Model model_;
};

}  // namespace

const pipeline::Model& model_of(nb::handle model) {
    return nb::cast<const BoundModel&>(model).core();
}

const pipeline::Model* native_model(nb::handle model) noexcept {
    return nb::isinstance<BoundModel>(model) ? &nb::inst_ptr<BoundModel>(model)->core() : nullptr;
}

namespace {

// First asked for when the class is made: no thread waits for the static with the GIL.
const PyObject* model_type() noexcept {
    static const PyObject* const type = nb::type<BoundModel>().ptr();
    return type;
}

}  // namespace

PyObject* encode_short(PyObject* model, PyObject* text, bool add_special_tokens) noexcept {
    pipeline::Text one;
    if (model == nullptr || reinterpret_cast<PyObject*>(Py_TYPE(model)) != model_type() ||
        !read_quickly(text, one) || !BoundModel::is_short(one)) {
        return nullptr;
    }
    Options options;
    options.add_special_tokens = add_special_tokens;
    const nb::object held = nb::borrow(model);
    try {
        return nb::inst_ptr<BoundModel>(held)->encode_short(one, options).release().ptr();
    } catch (...) {  // the caller tries again where errors become exceptions of Python
        return nullptr;
    }
}

// Every option has a name and a default, so that calls read; calls by position work, too.
void register_model(nb::module_& m) {
    const auto threads = nb::arg("threads") = 1;
    const auto bits = nb::arg("bits") = 32;
    const auto add_special_tokens = nb::arg("add_special_tokens") = false;
    const auto special_mode = nb::arg("special_mode") = 0;
    const auto errors = nb::arg("errors") = 0;
    const auto stop = nb::arg("stop").none() = nb::none();
    const auto counts = nb::arg("counts").none() = nb::none();
    nb::class_<BoundModel>(m, "Model", "A compiled model over a buffer that it keeps alive.")
        .def(nb::init<nb::handle, int, int>(), nb::arg("buffer"), nb::arg("shrink_tables") = 0,
             nb::arg("tables") = 0)
        .def("encode", &BoundModel::encode, nb::arg("text").none(), add_special_tokens,
             special_mode, errors, stop)
        .def("encode_batch", &BoundModel::encode_batch, nb::arg("texts").none(), threads, bits,
             add_special_tokens, special_mode, errors, stop, counts)
        .def(
            "encode_spans",
            [](BoundModel& model, nb::handle texts, int n_threads, int id_bits, bool adds_special,
               int special, int policy, bool in_characters, const Stop* end, CallCounts* count) {
                Options options = options_of(adds_special, special, policy, end, n_threads);
                options.counts = count;
                return model.encode_spans(texts, id_bits, options, in_characters);
            },
            nb::arg("texts").none(), threads, bits, add_special_tokens, special_mode, errors,
            nb::arg("in_characters") = true, stop, counts)
        .def("encode_words", &BoundModel::encode_words, nb::arg("texts").none(), threads,
             special_mode)
        .def("encode_into", &BoundModel::encode_into, nb::arg("texts").none(), nb::arg("out"),
             threads, add_special_tokens, special_mode, errors, stop)
        .def("encode_jsonl", &BoundModel::encode_jsonl, nb::arg("buffer"), nb::arg("rules"), counts)
        .def("encode_lines", &BoundModel::encode_lines, nb::arg("device"), nb::arg("buffer"),
             nb::arg("rules"), nb::arg("reading"), nb::arg("lane") = nb::none(),
             "Do the same on a device, in a lane that was lent, if given. Return the flags of "
             "documents that the CPU encoded besides; or 1 if the CPU must read the lines, 2 if "
             "they do not fit.")
        .def("encode_texts", &BoundModel::encode_texts, nb::arg("texts"), nb::arg("rules"), counts)
        .def("count_batch", &BoundModel::count_batch, nb::arg("texts").none(), threads,
             add_special_tokens, special_mode, errors, nb::arg("limit") = -1, stop)
        .def("count", &BoundModel::count, nb::arg("text").none(), add_special_tokens, special_mode,
             errors, nb::arg("limit") = -1, stop)
        .def("prefix_end", &BoundModel::prefix_end, nb::arg("text"), nb::arg("start"))
        .def("is_well_formed", &BoundModel::is_well_formed, nb::arg("text"))
        .def("decode", &BoundModel::decode, nb::arg("ids"))
        .def("decode_batch", &BoundModel::decode_batch, nb::arg("ids"), nb::arg("offsets"))
        .def("token_bytes", &BoundModel::token_bytes, nb::arg("id"))
        .def("token_id", &BoundModel::token_id, nb::arg("token"))
        .def("memory", &BoundModel::memory)
        .def("counters", &BoundModel::counters)
        .def("release", &BoundModel::release)
        .def("device_tables", &BoundModel::tables)
        .def_prop_ro("meta", &BoundModel::meta)
        .def_prop_ro("packed_source", &BoundModel::packed_source)
        .def_prop_ro("vocab_size", &BoundModel::vocab_size)
        .def_prop_ro("max_id", &BoundModel::max_id)
        .def_prop_ro("target", &BoundModel::target);
    std::ignore = model_type();
}

}  // namespace tokenmill::bind
