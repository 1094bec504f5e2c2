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

// Refuses ids that the result cannot hold.
std::vector<TokenId> fitting(std::vector<TokenId> ids, unsigned bits) {
    for (const TokenId id : ids) {
        if (bits == 16 && id > 0xFFFF) {
            throw Error(ErrorCode::IdTooLargeForU16, std::to_string(id));
        }
    }
    return ids;
}

mill::BlockRules rules_of(std::string field, std::vector<TokenId> before,
                          std::vector<TokenId> after, int special_mode, int bits) {
    mill::BlockRules rules;
    rules.read.field = std::move(field);
    rules.special = special_mode_of(special_mode);
    rules.bits = bits_of(bits);
    rules.before = fitting(std::move(before), rules.bits);
    rules.after = fitting(std::move(after), rules.bits);
    return rules;
}

// A number or flag of the rules for reading lines, as an attribute.
template <typename T>
void add_reading(nb::class_<mill::BlockRules>& rules, const char* name, T read::Rules::* field) {
    rules.def_prop_rw(
        name, [field](const mill::BlockRules& self) { return self.read.*field; },
        [field](mill::BlockRules& self, T value) { self.read.*field = value; });
}

}  // namespace

// (ids, lengths, lines, begins, bad lines, counts), as those of read_jsonl.
nb::tuple encode_jsonl(const pipeline::Model& model, nb::handle buffer,
                       const mill::BlockRules& rules, CallCounts* counts) {
    const HeldBuffer held(buffer);
    mill::JsonlIds found;
    {
        const nb::gil_scoped_release release;
        found = mill::encode_jsonl(model, held.bytes(), rules, counts);
    }
    return jsonl_tuple(found, rules);
}

nb::tuple jsonl_tuple(mill::JsonlIds& found, const mill::BlockRules& rules) {
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
                       const mill::BlockRules& rules, CallCounts* counts) {
    mill::BlockIds found;
    {
        const nb::gil_scoped_release release;
        found = mill::encode_texts(model, texts.data(), texts.offsets(), rules, counts);
    }
    return nb::make_tuple(ids_array(found, rules), array_of(std::move(found.lengths)));
}

void register_mill(nb::module_& m) {
    nb::class_<mill::BlockRules> rules(
        m, "BlockRules", "How Model.encode_jsonl and encode_texts read and encode a block.");
    rules
        .def(
            "__init__",
            [](mill::BlockRules* self, std::string field, std::vector<TokenId> before,
               std::vector<TokenId> after, int special_mode, int bits) {
                new (self) mill::BlockRules(rules_of(std::move(field), std::move(before),
                                                     std::move(after), special_mode, bits));
            },
            nb::arg("field"), nb::arg("before"), nb::arg("after"), nb::arg("special_mode") = 0,
            nb::arg("bits") = 32)
        .def_rw("step_bytes", &mill::BlockRules::step_bytes);
    add_reading(rules, "max_document_bytes", &read::Rules::max_document_bytes);
    add_reading(rules, "max_line_bytes", &read::Rules::max_line_bytes);
    add_reading(rules, "replace_bad_utf8", &read::Rules::replace_bad_utf8);
    add_reading(rules, "replace_lone_surrogate", &read::Rules::replace_lone_surrogate);
}

}  // namespace tokenmill::bind
