// parts: texts, some of them trusted -> the ids of the joined text.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "bind.h"
#include "options.h"

namespace tokenmill::bind {

namespace {

using pipeline::ControlTokens;
using pipeline::Part;

std::vector<Part> parts_of(std::span<const pipeline::Text> texts,
                           const std::vector<bool>& trusted) {
    if (texts.size() != trusted.size()) {
        throw Error(ErrorCode::BadArgument, "trusted: expected one for each of " +
                                                std::to_string(texts.size()) + " texts, got " +
                                                std::to_string(trusted.size()));
    }
    std::vector<Part> parts;
    parts.reserve(texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
        parts.push_back({texts[i], trusted[i]});
    }
    return parts;
}

// (ids, control tokens that the model made of text)
std::pair<nb::object, std::size_t> encode_parts(nb::handle model, nb::handle texts,
                                                const std::vector<bool>& trusted,
                                                const ControlTokens& control,
                                                bool add_special_tokens, int errors, int threads,
                                                const Stop* stop) {
    const pipeline::Model& engine = model_of(model);
    const pipeline::Options options = options_of(add_special_tokens, 0, errors, stop, threads);
    BorrowedTexts held;
    held.add_all(texts);
    const std::vector<Part> parts = parts_of(held.view(), trusted);
    std::size_t leaked = 0;
    pipeline::Encoded encoded;
    {
        const nb::gil_scoped_release unlocked;
        encoded = engine.encode_parts(parts, control, options, leaked);
    }
    return {array_of(std::move(encoded.memory.ids), encoded.count, 32, Spares::Ids), leaked};
}

}  // namespace

void register_parts(nb::module_& m) {
    nb::class_<ControlTokens>(m, "ControlTokens",
                              "Added tokens that count only in trusted text: special ones, `more`.")
        .def(
            "__init__",
            [](ControlTokens* self, nb::handle model, const std::vector<TokenId>& more) {
                const pipeline::Model& engine = model_of(model);
                new (self)
                    ControlTokens(engine.added(), more, engine.vocab().unk_id(), engine.max_id());
            },
            nb::arg("model"), nb::arg("more"));
    m.def("encode_parts", &encode_parts, nb::arg("model"), nb::arg("texts"), nb::arg("trusted"),
          nb::arg("control"), nb::arg("add_special_tokens") = false, nb::arg("errors") = 0,
          nb::arg("threads") = 1, nb::arg("stop").none() = nb::none(),
          "Encode joined texts; control tokens count only where all text is trusted.");
}

}  // namespace tokenmill::bind
