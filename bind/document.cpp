// document: a JSON body -> Python objects, and the parts of a request of HTTP. The event loop of a
// service waits for the GIL, so a long text is read and written without it, and it is given away
// between many short values.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/eval.h>

#include "unicode/unicode.h"
#include "wire/wire.h"
#include "wire_tools.h"

namespace tokenmill::bind {

namespace {

using wire::JsonNode;
using wire::JsonType;

constexpr std::size_t kShortText = 4096;
constexpr std::size_t kValuesAtOnce = 512;  // about 25 us
constexpr std::size_t kSafeDigits = 18;     // of a number that fits 64 bits

nb::object checked(PyObject* made) {
    if (made == nullptr) {
        nb::raise_python_error();
    }
    return nb::steal(made);
}

// How many characters a text has, and the largest that its kind of str can hold.
struct TextShape {
    std::size_t count = 0;
    Py_UCS4 most = 0x7F;
};

TextShape shape_of(Bytes text) noexcept {
    std::uint8_t all = 0;
    for (const std::uint8_t c : text) {
        all |= c;
    }
    if (all < 0x80) {
        return {text.size(), 0x7F};
    }
    TextShape shape;
    std::uint8_t largest = 0;
    for (const std::uint8_t c : text) {
        shape.count += (c & 0xC0) != 0x80 ? 1 : 0;
        largest = std::max(largest, c);
    }
    shape.most = largest >= 0xF0 ? 0x10FFFF : largest >= 0xC4 ? 0xFFFF : 0xFF;
    return shape;
}

template <typename Unit>
void write_units(Bytes text, Unit* out) noexcept {
    const std::uint8_t* at = text.data();
    const std::uint8_t* const end = at + text.size();
    while (at != end) {
        const unicode::Character c = unicode::read_character(at);
        *out++ = static_cast<Unit>(c.point);
        at += c.size;
    }
}

void write_text(Bytes text, int kind, void* out) noexcept {
    if (kind == PyUnicode_1BYTE_KIND) {
        write_units(text, static_cast<Py_UCS1*>(out));
    } else if (kind == PyUnicode_2BYTE_KIND) {
        write_units(text, static_cast<Py_UCS2*>(out));
    } else {
        write_units(text, static_cast<Py_UCS4*>(out));
    }
}

// A str of valid UTF-8.
nb::object str_of(Bytes text) {
    if (text.size() <= kShortText) {
        return checked(PyUnicode_DecodeUTF8(reinterpret_cast<const char*>(text.data()),
                                            static_cast<Py_ssize_t>(text.size()), nullptr));
    }
    const TextShape shape = run_unlocked(text.size(), [&] { return shape_of(text); });
    nb::object made = checked(PyUnicode_New(static_cast<Py_ssize_t>(shape.count), shape.most));
    void* const out = PyUnicode_DATA(made.ptr());
    const int kind = static_cast<int>(PyUnicode_KIND(made.ptr()));
    run_unlocked(text.size(), [&] {  // nobody else knows it yet
        if (shape.most == 0x7F) {
            std::memcpy(out, text.data(), text.size());
        } else {
            write_text(text, kind, out);
        }
        return 0;
    });
    return made;
}

// Lets another thread have the GIL if it asks for it.
//
// The interpreter gives it away where a function begins, and then waits until the other one has it.
// To release and take it is not enough: the other one is woken, finds it taken, and waits again
// without ever asking for it.
class Turns {
public:
    void offer() {
        if (!function_.is_valid()) {
            function_ = nb::eval(nb::str("lambda: None"));
        }
        function_();
    }

private:
    nb::object function_;
};

// The values of a document as Python objects, made one after the other without recursion.
class DocumentBuilder {
public:
    DocumentBuilder(Bytes body, const wire::JsonDocument& document, wire::BodyFault& fault)
        : body_(body), nodes_(document.nodes), fault_(fault) {}

    // The document; nothing if a value cannot be made, which `fault` tells.
    nb::object run() {
        nb::object root = make(nodes_[next_++]);
        open(nodes_[0], root);
        while (!open_.empty() && fault_.what.empty()) {
            Open& inner = open_.back();
            if (inner.done == inner.size) {
                open_.pop_back();
                continue;
            }
            if (next_ / kValuesAtOnce != given_away_) {
                given_away_ = next_ / kValuesAtOnce;
                turns_.offer();
            }
            fill(inner);
        }
        return root;
    }

private:
    struct Open {
        nb::object container;
        bool is_object;
        std::size_t size;
        std::size_t done;
    };

    void open(const JsonNode& node, const nb::object& made) {
        const bool is_object = node.type == JsonType::Object;
        if (is_object || node.type == JsonType::Array) {
            open_.push_back({made, is_object, node.size, 0});
        }
    }

    // The next member or element; `inner` may move when it is a container itself.
    void fill(Open& inner) {
        const std::size_t index = inner.done++;
        const nb::object container = inner.container;
        nb::object name;
        const bool is_object = inner.is_object;
        if (is_object) {
            name = make(nodes_[next_++]);
        }
        const JsonNode& node = nodes_[next_++];
        nb::object value = make(node);
        open(node, value);
        if (!is_object) {
            PyList_SET_ITEM(container.ptr(), static_cast<Py_ssize_t>(index), value.release().ptr());
        } else if (PyDict_SetItem(container.ptr(), name.ptr(), value.ptr()) != 0) {
            nb::raise_python_error();
        }
    }

    nb::object make(const JsonNode& node) {
        switch (node.type) {
            case JsonType::Null:
                return nb::none();
            case JsonType::False:
            case JsonType::True:
                return nb::bool_(node.type == JsonType::True);
            case JsonType::Whole:
                return whole(node);
            case JsonType::Fraction:
                return fraction(node);
            case JsonType::String:
                return text(node);
            case JsonType::Array:
                return checked(PyList_New(static_cast<Py_ssize_t>(node.size)));
            case JsonType::Object:
                return checked(PyDict_New());
        }
        return nb::none();
    }

    [[nodiscard]] std::string spelled(const JsonNode& node) const {
        return {reinterpret_cast<const char*>(body_.data()) + node.begin, node.size};
    }

    nb::object whole(const JsonNode& node) {
        const std::uint8_t* at = body_.data() + node.begin;
        const std::uint8_t* const end = at + node.size;
        if (node.size > kSafeDigits) {
            return long_number(node);
        }
        const bool is_negative = *at == '-';
        long long number = 0;
        for (at += is_negative ? 1 : 0; at != end; ++at) {
            number = 10 * number + (*at - '0');
        }
        return checked(PyLong_FromLongLong(is_negative ? -number : number));
    }

    // Python refuses numbers of thousands of digits: turning them into others takes too long.
    nb::object long_number(const JsonNode& node) {
        PyObject* made = PyLong_FromString(spelled(node).c_str(), nullptr, 10);
        if (made != nullptr) {
            return nb::steal(made);
        }
        PyErr_Clear();
        fault_ = {node.begin, "", "a number with too many digits"};
        return nb::none();
    }

    nb::object fraction(const JsonNode& node) const {
        const double number = PyOS_string_to_double(spelled(node).c_str(), nullptr, nullptr);
        if (PyErr_Occurred() != nullptr) {
            nb::raise_python_error();
        }
        return checked(PyFloat_FromDouble(number));
    }

    nb::object text(const JsonNode& node) {
        const Bytes raw = body_.subspan(node.begin, node.size);
        if (!node.has_escapes) {
            return str_of(raw);
        }
        read::Value string;
        string.type = read::Value::Type::String;
        string.has_escapes = true;
        string.begin = raw.data();
        string.end = raw.data() + raw.size();
        buffer_.resize(std::max(buffer_.size(), raw.size() + read::kUnescapeSlack));
        const simd::Target target = wire_target();
        const read::Unescaped found = run_unlocked(
            raw.size(), [&] { return read::unescape(string, buffer_.data(), target); });
        if (found.lone_surrogate != nullptr) {
            const auto place = static_cast<std::size_t>(found.lone_surrogate - body_.data());
            fault_ = {place, "", "half of a surrogate pair, which is not text"};
        }
        return str_of({buffer_.data(), found.size});
    }

    Bytes body_;
    const std::vector<JsonNode>& nodes_;
    wire::BodyFault& fault_;
    std::vector<Open> open_;
    std::vector<std::uint8_t> buffer_;
    std::size_t next_ = 0;
    std::size_t given_away_ = 0;
    Turns turns_;
};

// (the object, None) or (None, (byte, what is wrong)).
nb::tuple read_document(nb::handle buffer) {
    const HeldBuffer held(buffer);
    const Bytes body = held.bytes();
    const simd::Target target = wire_target();
    wire::JsonDocument found =
        run_unlocked(body.size(), [&] { return wire::read_document(body, target); });
    if (found.fault.what.empty()) {
        wire::BodyFault fault;
        nb::object made = DocumentBuilder(body, found, fault).run();
        if (fault.what.empty()) {
            return nb::make_tuple(made, nb::none());
        }
        found.fault = std::move(fault);
    }
    return nb::make_tuple(nb::none(), nb::make_tuple(found.fault.position, found.fault.what));
}

nb::object bytes_or_empty(Bytes text) {
    return checked(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(text.data()),
                                             static_cast<Py_ssize_t>(text.size())));
}

nb::object read_whole_request(const nb::bytes& data, std::size_t most_body) {
    const Bytes bytes(reinterpret_cast<const std::uint8_t*>(data.c_str()), data.size());
    const std::optional<wire::WholeRequest> found = wire::read_whole_request(bytes, most_body);
    if (!found) {
        return nb::none();
    }
    return nb::make_tuple(bytes_or_empty(found->method), bytes_or_empty(found->path),
                          bytes_or_empty(found->accept), bytes_or_empty(found->authorization),
                          bytes_or_empty(found->content_type), bytes_or_empty(found->body));
}

}  // namespace

void register_document(nb::module_& m) {
    m.def("read_document", &read_document, nb::arg("body"),
          nb::sig("def read_document(body: object) -> tuple[dict[str, object] | None, "
                  "tuple[int, str] | None]"),
          "Read a body that is a JSON object; the second value is (byte, what is wrong) or None.");
    m.def("read_whole_request", &read_whole_request, nb::arg("data"), nb::arg("most_body"),
          nb::sig("def read_whole_request(data: bytes, most_body: int) -> "
                  "tuple[bytes, bytes, bytes, bytes, bytes, bytes] | None"),
          "Read a plain request of HTTP: (method, path, accept, authorization, content-type, "
          "body); None for what a full parser has to judge.");
}

}  // namespace tokenmill::bind
