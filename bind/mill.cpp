// mill: blocks of lines -> ids of their documents, in one call without the GIL.
#include "mill/mill.h"

#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "options.h"

namespace tokenmill::bind {

namespace {

nb::object ids_array(mill::BlockIds& block, const mill::BlockRules& rules) {
    return array_of(std::move(block.ids), block.count, rules.bits, Spares::Framed);
}

}  // namespace

// (ids, lengths, lines, begins, bad lines, counts), as those of read_jsonl.
nb::tuple encode_jsonl(const pipeline::Model& model, nb::handle buffer,
                       const mill::BlockRules& rules) {
    const HeldBuffer held(buffer);
    mill::JsonlIds found;
    {
        const nb::gil_scoped_release release;
        found = mill::encode_jsonl(model, held.bytes(), rules);
    }
    read::JsonlDocuments& documents = found.documents;
    nb::object bad = bad_array(documents.bad);
    nb::object counts = array_of({documents.line_count, documents.blank_lines,
                                  documents.repaired_utf8, documents.repaired_surrogates});
    return nb::make_tuple(ids_array(found.block, rules), array_of(std::move(found.block.lengths)),
                          array_of(std::move(documents.lines)),
                          array_of(std::move(documents.begins)), std::move(bad), std::move(counts));
}

// (ids, lengths)
nb::tuple encode_texts(const pipeline::Model& model, const TextBuffer& texts,
                       const mill::BlockRules& rules) {
    mill::BlockIds found;
    {
        const nb::gil_scoped_release release;
        found = mill::encode_texts(model, texts.data(), texts.offsets(), rules);
    }
    return nb::make_tuple(ids_array(found, rules), array_of(std::move(found.lengths)));
}

void register_mill(nb::module_& m) {
    using Rules = mill::BlockRules;
    nb::class_<Rules>(m, "BlockRules",
                      "How Model.encode_jsonl and encode_texts read and encode a block.")
        .def(
            "__init__",
            [](Rules* self, std::string field, std::vector<TokenId> before,
               std::vector<TokenId> after, int special_mode, int bits) {
                const unsigned width = bits_of(bits);
                const pipeline::SpecialMode special = special_mode_of(special_mode);
                for (const std::vector<TokenId>* ids : {&before, &after}) {
                    for (const TokenId id : *ids) {
                        if (width == 16 && id > 0xFFFF) {
                            throw Error(ErrorCode::IdTooLargeForU16, std::to_string(id));
                        }
                    }
                }
                new (self) Rules();
                self->read.field = std::move(field);
                self->before = std::move(before);
                self->after = std::move(after);
                self->special = special;
                self->bits = width;
            },
            nb::arg("field"), nb::arg("before"), nb::arg("after"), nb::arg("special_mode") = 0,
            nb::arg("bits") = 32)
        .def_prop_rw(
            "max_document_bytes", [](const Rules& self) { return self.read.max_document_bytes; },
            [](Rules& self, std::size_t value) { self.read.max_document_bytes = value; })
        .def_prop_rw(
            "max_line_bytes", [](const Rules& self) { return self.read.max_line_bytes; },
            [](Rules& self, std::size_t value) { self.read.max_line_bytes = value; })
        .def_prop_rw(
            "replace_bad_utf8", [](const Rules& self) { return self.read.replace_bad_utf8; },
            [](Rules& self, bool value) { self.read.replace_bad_utf8 = value; })
        .def_prop_rw(
            "replace_lone_surrogate",
            [](const Rules& self) { return self.read.replace_lone_surrogate; },
            [](Rules& self, bool value) { self.read.replace_lone_surrogate = value; })
        .def_rw("step_bytes", &Rules::step_bytes);
}

}  // namespace tokenmill::bind
