// normalize: a serialized normalizer and a text -> the text rewritten. For tests and the compiler.
#include "arrays.h"
#include "bind.h"
#include "normalize/normalize.h"

namespace tokenmill::bind {

void register_normalize(nb::module_& m) {
    m.def(
        "normalize",
        [](const nb::bytes& program, const nb::bytes& text) {
            normalize::Buffer out;
            normalize::run(normalize::parse_program(view_of(program)), view_of(text), out);
            return bytes_of(out);
        },
        nb::arg("program"), nb::arg("text"), "Rewrite UTF-8 by a serialized normalizer.");
    m.def(
        "normalize_aligned",
        [](const nb::bytes& program, const nb::bytes& text) {
            normalize::AlignedText out;
            normalize::run_aligned(normalize::parse_program(view_of(program)), view_of(text), out);
            return nb::make_tuple(bytes_of(out.text),
                                  nb::bytes(reinterpret_cast<const char*>(out.spans.data()),
                                            out.spans.size() * sizeof(normalize::Span)));
        },
        nb::arg("program"), nb::arg("text"),
        "Rewrite UTF-8; and for each byte of the result the bytes it stands for, as pairs of "
        "uint32.");
    m.def(
        "rewrite_characters",
        [](const nb::bytes& program) {
            normalize::CharRewrites found =
                normalize::rewrite_characters(normalize::parse_program(view_of(program)));
            return nb::make_tuple(
                array_owning(std::move(found.codes)), array_owning(std::move(found.bytes)),
                array_owning(std::move(found.ends)), array_owning(std::move(found.slow)));
        },
        nb::arg("program"),
        "Return the characters that a normalizer changes, what each becomes alone (bytes and their "
        "ends), and the characters whose neighbours may matter.");
    m.def(
        "is_normalized",
        [](const nb::bytes& program, const nb::bytes& text) {
            return normalize::is_identity(normalize::parse_program(view_of(program)),
                                          view_of(text));
        },
        nb::arg("program"), nb::arg("text"),
        "True only if the normalizer certainly leaves the text alone.");
}

}  // namespace tokenmill::bind
