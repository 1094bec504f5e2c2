// wire: bodies of requests -> their fields, ids and texts -> bodies of answers.
#include "wire/wire.h"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "arrays.h"
#include "wire_tools.h"

namespace tokenmill::bind {

namespace {

// The text of a string as bytes. Escapes are undone into the memory of the result.
nb::object text_of(const read::Value& string, Bytes body, wire::BodyFault& fault,
                   const char* member) {
    const auto raw = static_cast<std::size_t>(string.end - string.begin);
    if (!string.has_escapes) {
        return bytes_of({string.begin, raw});
    }
    PyObject* made =
        PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(raw + read::kUnescapeSlack));
    if (made == nullptr) {
        nb::raise_python_error();
    }
    auto* out = reinterpret_cast<std::uint8_t*>(PyBytes_AS_STRING(made));
    const simd::Target target = wire_target();
    const read::Unescaped text =
        run_unlocked(raw, [&] { return read::unescape(string, out, target); });
    if (text.lone_surrogate != nullptr && fault.what.empty()) {
        fault = {static_cast<std::size_t>(text.lone_surrogate - body.data()), member,
                 "half of a surrogate pair, which is not text"};
    }
    if (_PyBytes_Resize(&made, static_cast<Py_ssize_t>(text.size)) != 0) {
        nb::raise_python_error();
    }
    return nb::steal(made);
}

nb::object name_of(const std::optional<read::Value>& model, Bytes body, wire::BodyFault& fault) {
    if (!model || !fault.what.empty()) {
        return nb::none();
    }
    const nb::object text = text_of(*model, body, fault, "model");
    return nb::steal(PyUnicode_DecodeUTF8(PyBytes_AS_STRING(text.ptr()),
                                          PyBytes_GET_SIZE(text.ptr()), "replace"));
}

// (byte, member, what is wrong), or None.
nb::object fault_of(const wire::BodyFault& fault) {
    if (fault.what.empty()) {
        return nb::none();
    }
    return nb::make_tuple(fault.position, fault.member, fault.what);
}

struct TokenizeFields {
    nb::object fault;
    nb::object model;
    nb::object prompt;   // bytes, or None
    nb::object prompts;  // a list of bytes, or None
    bool has_messages = false;
    std::optional<bool> add_special_tokens;
    bool return_token_strs = false;
};

TokenizeFields read_tokenize(nb::handle buffer) {
    const HeldBuffer held(buffer);
    const Bytes body = held.bytes();
    const simd::Target target = wire_target();
    wire::TokenizeBody found =
        run_unlocked(body.size(), [&] { return wire::read_tokenize(body, target); });
    TokenizeFields out;
    out.model = name_of(found.model, body, found.fault);
    out.has_messages = found.has_messages;
    out.add_special_tokens = found.add_special_tokens;
    out.return_token_strs = found.return_token_strs;
    out.prompt = nb::none();
    out.prompts = nb::none();
    if (found.fault.what.empty() && found.is_list) {
        nb::list texts;
        for (const read::Value& prompt : found.prompts) {
            texts.append(text_of(prompt, body, found.fault, "prompt"));
        }
        out.prompts = std::move(texts);
    } else if (found.fault.what.empty() && found.has_prompt) {
        out.prompt = text_of(found.prompts[0], body, found.fault, "prompt");
    }
    out.fault = fault_of(found.fault);
    return out;
}

struct DetokenizeFields {
    nb::object fault;
    nb::object model;
    nb::object ids;   // uint32
    nb::object ends;  // int64: 0, and the end of each row in `ids`
    bool is_nested = false;
    std::optional<bool> skip_special_tokens;
};

DetokenizeFields read_detokenize(nb::handle buffer) {
    const HeldBuffer held(buffer);
    const Bytes body = held.bytes();
    const simd::Target target = wire_target();
    wire::DetokenizeBody found =
        run_unlocked(body.size(), [&] { return wire::read_detokenize(body, target); });
    DetokenizeFields out;
    out.model = name_of(found.model, body, found.fault);
    void* data = nullptr;
    out.ids = empty_array(Number::U32, found.ids.size(), data);
    if (!found.ids.empty()) {
        std::memcpy(data, found.ids.data(), found.ids.size() * sizeof(TokenId));
    }
    out.ends = array_of(std::move(found.ends));
    out.is_nested = found.is_nested;
    out.skip_special_tokens = found.skip_special_tokens;
    out.fault = fault_of(found.fault);
    return out;
}

// One part of an answer: JSON that is written already, a text, ids, or rows of them.
struct AnswerPart {
    enum class Kind : std::uint8_t { Json, Text, Ids, Rows } kind;
    Bytes bytes;
    std::span<const TokenId> ids;
    std::span<const std::int64_t> ends;  // of rows

    [[nodiscard]] std::size_t size() const noexcept {
        switch (kind) {
            case Kind::Json:
                return bytes.size();
            case Kind::Text:
                return wire::string_size(bytes);
            case Kind::Ids:
                return wire::ids_size(ids);
            case Kind::Rows:
                return wire::rows_size(ids, ends);
        }
        return 0;
    }
    std::uint8_t* write(std::uint8_t* out) const noexcept {
        switch (kind) {
            case Kind::Json:
                std::memcpy(out, bytes.data(), bytes.size());
                return out + bytes.size();
            case Kind::Text:
                return wire::write_string(bytes, out);
            case Kind::Ids:
                return wire::write_ids(ids, out);
            case Kind::Rows:
                return wire::write_rows(ids, ends, out);
        }
        return out;
    }
};

using WireIds = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using WireEnds = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// The parts, and what keeps their memory.
class AnswerParts {
public:
    void add(nb::handle object) {
        if (PyBytes_Check(object.ptr())) {
            const Bytes json = view_of(nb::borrow<nb::bytes>(object));
            parts_.push_back({AnswerPart::Kind::Json, json, {}, {}});
        } else if (PyTuple_Check(object.ptr())) {
            add_rows(object);
        } else if (PyUnicode_Check(object.ptr())) {
            add_text(object);
        } else if (PyList_Check(object.ptr())) {
            add_texts(object);
        } else {
            WireIds ids;
            if (object.is_none() || !nb::try_cast(object, ids, false)) {  // false: as it is
                throw nb::type_error("expected bytes, str, an array of uint32, or a list of these");
            }
            parts_.push_back({AnswerPart::Kind::Ids, {}, {ids.data(), ids.size()}, {}});
            arrays_.push_back(ids);
        }
    }

    nb::bytes join() const {
        std::size_t rough = 0;
        for (const AnswerPart& part : parts_) {
            rough += part.bytes.size() + part.ids.size_bytes() + part.ends.size_bytes();
        }
        const std::size_t size = run_unlocked(rough, [&] {
            std::size_t sum = 0;
            for (const AnswerPart& part : parts_) {
                sum += part.size();
            }
            return sum;
        });
        PyObject* made = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size));
        if (made == nullptr) {
            nb::raise_python_error();
        }
        auto* out = reinterpret_cast<std::uint8_t*>(PyBytes_AS_STRING(made));
        run_unlocked(size, [&] {
            for (const AnswerPart& part : parts_) {
                out = part.write(out);
            }
            return 0;
        });
        return nb::steal<nb::bytes>(made);
    }

private:
    void add_json(const char* text, std::size_t size) {
        parts_.push_back(
            {AnswerPart::Kind::Json, {reinterpret_cast<const std::uint8_t*>(text), size}, {}, {}});
    }
    // Python keeps the UTF-8 of a str with the str.
    void add_text(nb::handle text) {
        Py_ssize_t size = 0;
        const char* const data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
        if (data == nullptr) {
            nb::raise_python_error();
        }
        const Bytes bytes(reinterpret_cast<const std::uint8_t*>(data),
                          static_cast<std::size_t>(size));
        parts_.push_back({AnswerPart::Kind::Text, bytes, {}, {}});
    }
    // (ids, ends): the rows of a batch.
    void add_rows(nb::handle pair) {
        WireIds ids;
        WireEnds ends;
        const auto items = nb::borrow<nb::tuple>(pair);
        if (items.size() != 2 || !nb::try_cast(items[0], ids, false) ||
            !nb::try_cast(items[1], ends, false)) {
            throw nb::type_error("expected ids (uint32) and the ends of their rows (int64)");
        }
        const std::span<const std::int64_t> places(ends.data(), ends.size());
        if (places.empty() || places.front() < 0 || !std::ranges::is_sorted(places) ||
            static_cast<std::size_t>(places.back()) > ids.size()) {
            throw nb::value_error("expected ends of rows that rise within the ids");
        }
        parts_.push_back({AnswerPart::Kind::Rows, {}, {ids.data(), ids.size()}, places});
        arrays_.push_back(ids);
        ends_.push_back(ends);
    }
    void add_texts(nb::handle texts) {
        bool is_first = true;
        add_json("[", 1);
        for (const nb::handle text : nb::borrow<nb::list>(texts)) {
            if (!is_first) {
                add_json(",", 1);
            }
            is_first = false;
            if (PyUnicode_Check(text.ptr())) {
                add_text(text);
            } else {
                add(text);
            }
        }
        add_json("]", 1);
    }

    std::vector<AnswerPart> parts_;
    std::vector<WireIds> arrays_;
    std::vector<WireEnds> ends_;
};

nb::bytes write_answer(const nb::args& objects) {
    AnswerParts parts;
    for (const nb::handle object : objects) {
        parts.add(object);
    }
    return parts.join();
}

constexpr const char* kFaultType = "def fault(self) -> tuple[int, str, str] | None";
constexpr const char* kModelType = "def model(self) -> str | None";

}  // namespace

void register_wire(nb::module_& m) {
    nb::class_<TokenizeFields>(m, "TokenizeFields", "The fields of a request for ids.")
        .def_ro("fault", &TokenizeFields::fault, nb::for_getter(nb::sig(kFaultType)))
        .def_ro("model", &TokenizeFields::model, nb::for_getter(nb::sig(kModelType)))
        .def_ro("prompt", &TokenizeFields::prompt,
                nb::for_getter(nb::sig("def prompt(self) -> bytes | None")))
        .def_ro("prompts", &TokenizeFields::prompts,
                nb::for_getter(nb::sig("def prompts(self) -> list[bytes] | None")))
        .def_ro("has_messages", &TokenizeFields::has_messages)
        .def_ro("add_special_tokens", &TokenizeFields::add_special_tokens)
        .def_ro("return_token_strs", &TokenizeFields::return_token_strs);
    nb::class_<DetokenizeFields>(m, "DetokenizeFields", "The fields of a request for a text.")
        .def_ro("fault", &DetokenizeFields::fault, nb::for_getter(nb::sig(kFaultType)))
        .def_ro("model", &DetokenizeFields::model, nb::for_getter(nb::sig(kModelType)))
        .def_ro("ids", &DetokenizeFields::ids,
                nb::for_getter(nb::sig("def ids(self) -> NDArray[numpy.uint32]")))
        .def_ro("ends", &DetokenizeFields::ends,
                nb::for_getter(nb::sig("def ends(self) -> NDArray[numpy.int64]")))
        .def_ro("is_nested", &DetokenizeFields::is_nested)
        .def_ro("skip_special_tokens", &DetokenizeFields::skip_special_tokens);
    m.def("read_tokenize", &read_tokenize, nb::arg("body"),
          "Read the body of a request for ids; `fault` is (byte, member, what is wrong) or None.");
    m.def("read_detokenize", &read_detokenize, nb::arg("body"),
          "Read the body of a request for the text of ids.");
    m.def("write_answer", &write_answer, nb::sig("def write_answer(*parts: object) -> bytes"),
          "Join JSON (bytes), texts (str), ids (uint32 arrays), lists of them and rows (a tuple of "
          "ids and the int64 ends of rows) to one body.");
}

}  // namespace tokenmill::bind
