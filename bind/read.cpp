// read: buffers of bytes -> arrays of texts and places.
#include "read/read.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <cstring>
#include <memory>
#include <optional>
#include <tuple>

#include "bind.h"

namespace tokenmill::bind {

namespace {

using Places = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// A buffer of the caller, held while its bytes are read.
class HeldBytes {
public:
    explicit HeldBytes(nb::handle object) {
        if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_SIMPLE) != 0) {
            nb::raise_python_error();
        }
    }
    ~HeldBytes() { PyBuffer_Release(&buffer_); }
    HeldBytes(const HeldBytes&) = delete;
    HeldBytes& operator=(const HeldBytes&) = delete;
    [[nodiscard]] Bytes view() const noexcept {
        return {static_cast<const std::uint8_t*>(buffer_.buf),
                static_cast<std::size_t>(buffer_.len)};
    }

private:
    Py_buffer buffer_;
};

simd::Target target_of(const std::optional<std::string>& name) {
    if (!name) {
        static const simd::Target chosen = simd::chosen_target();
        return chosen;
    }
    for (const simd::Target target : simd::supported_targets()) {
        if (*name == simd::name_of(target)) {
            return target;
        }
    }
    throw nb::value_error("target: not one of this CPU");
}

nb::object array_of(const std::vector<std::int64_t>& numbers) {
    void* data = nullptr;
    nb::object array = empty_array(Number::I64, numbers.size(), data);
    if (!numbers.empty()) {
        std::memcpy(data, numbers.data(), numbers.size() * sizeof(std::int64_t));
    }
    return array;
}

nb::object text_array(read::TextBuffer& texts) {
    PageBuffer memory = texts.take_memory();
    void* data = memory.data();
    const nb::capsule owner = owner_of(std::move(memory), texts.used(), Spares::Texts);
    return nb::cast(nb::ndarray<nb::numpy, std::uint8_t>(data, {texts.used()}, owner));
}

// line, begin, length, fault and reason of each bad line, one after the other.
nb::object bad_array(const std::vector<read::BadLine>& bad) {
    std::vector<std::int64_t> numbers;
    numbers.reserve(5 * bad.size());
    for (const read::BadLine& line : bad) {
        numbers.insert(numbers.end(), {line.line, line.begin, line.length, line.fault,
                                       static_cast<std::int64_t>(line.reason)});
    }
    return array_of(numbers);
}

using Jsonl = std::tuple<nb::object, nb::object, nb::object, nb::object, nb::object, nb::object>;

Jsonl read_jsonl(nb::handle buffer, std::string field, std::size_t max_document_bytes,
                 std::size_t max_line_bytes, bool replace_bad_utf8, bool replace_lone_surrogate,
                 const std::optional<std::string>& target) {
    const HeldBytes held(buffer);
    const simd::Target chosen = target_of(target);
    const read::Rules rules = {std::move(field), max_document_bytes, max_line_bytes,
                               replace_bad_utf8, replace_lone_surrogate};
    read::JsonlDocuments found;
    {
        const nb::gil_scoped_release release;
        found = read::read_jsonl(held.view(), rules, chosen);
    }
    return {text_array(found.texts),
            array_of(found.texts.offsets),
            array_of(found.lines),
            array_of(found.begins),
            bad_array(found.bad),
            array_of({found.line_count, found.blank_lines, found.repaired_utf8,
                      found.repaired_surrogates})};
}

read::Ranges ranges_of(Bytes buffer, const Places& begins, const Places& ends) {
    if (begins.size() != ends.size()) {
        throw nb::value_error("begins and ends: expected as many of both");
    }
    read::Ranges ranges = {{begins.data(), begins.data() + begins.size()},
                           {ends.data(), ends.data() + ends.size()}};
    const auto size = static_cast<std::int64_t>(buffer.size());
    for (std::size_t i = 0; i < ranges.begins.size(); ++i) {
        const std::int64_t begin = ranges.begins[i];
        if (begin < 0 || ranges.ends[i] < begin || ranges.ends[i] > size) {
            throw nb::value_error("begins and ends: a text outside of the buffer");
        }
    }
    return ranges;
}

nb::object check_texts(nb::handle buffer, const Places& begins, const Places& ends,
                       std::size_t max_document_bytes, bool skip_blank,
                       const std::optional<std::string>& target) {
    const HeldBytes held(buffer);
    const read::Ranges ranges = ranges_of(held.view(), begins, ends);
    const simd::Target chosen = target_of(target);
    std::vector<read::Reason> reasons;
    {
        const nb::gil_scoped_release release;
        reasons = read::check_texts(held.view(), ranges, max_document_bytes, skip_blank, chosen);
    }
    std::vector<std::int64_t> numbers;
    numbers.reserve(reasons.size());
    for (const read::Reason reason : reasons) {
        numbers.push_back(static_cast<std::int64_t>(reason));
    }
    return array_of(numbers);
}

std::tuple<nb::object, nb::object> join_texts(nb::handle buffer, const Places& begins,
                                              const Places& ends,
                                              const std::optional<std::string>& target) {
    const HeldBytes held(buffer);
    const read::Ranges ranges = ranges_of(held.view(), begins, ends);
    const simd::Target chosen = target_of(target);
    read::TextBuffer texts;
    {
        const nb::gil_scoped_release release;
        texts = read::join_texts(held.view(), ranges, chosen);
    }
    return {text_array(texts), array_of(texts.offsets)};
}

std::tuple<nb::object, nb::object> split_text(nb::handle buffer,
                                              const std::optional<nb::bytes>& separator) {
    const HeldBytes held(buffer);
    std::optional<HeldBytes> between;
    if (separator) {
        between.emplace(*separator);
    }
    if (between && between->view().empty()) {
        throw nb::value_error("separator: expected at least one byte, got none");
    }
    read::Ranges ranges;
    {
        const nb::gil_scoped_release release;
        ranges =
            between ? read::split_at(held.view(), between->view()) : read::split_lines(held.view());
    }
    return {array_of(ranges.begins), array_of(ranges.ends)};
}

}  // namespace

void register_read(nb::module_& m) {
    m.def("read_jsonl", &read_jsonl, nb::arg("buffer"), nb::arg("field"),
          nb::arg("max_document_bytes"), nb::arg("max_line_bytes"),
          nb::arg("replace_bad_utf8") = false, nb::arg("replace_lone_surrogate") = false,
          nb::arg("target") = nb::none(),
          "Take a field from each line: text, offsets, lines, begins, bad lines (five numbers "
          "each), and the counts of lines, blank lines and repaired documents.");
    m.def("check_texts", &check_texts, nb::arg("buffer"), nb::arg("begins"), nb::arg("ends"),
          nb::arg("max_document_bytes"), nb::arg("skip_blank") = false,
          nb::arg("target") = nb::none(),
          "For each text the number of what is wrong with it; 255 for nothing, 254 for a blank.");
    m.def("join_texts", &join_texts, nb::arg("buffer"), nb::arg("begins"), nb::arg("ends"),
          nb::arg("target") = nb::none(), "Copy texts back to back, repaired: text, offsets.");
    m.def("split_text", &split_text, nb::arg("buffer"), nb::arg("separator") = nb::none(),
          "Begins and ends of the lines, or of what stands between separators.");
    m.def(
        "last_cut",
        [](nb::handle buffer, const nb::bytes& separator) {
            const HeldBytes held(buffer);
            const HeldBytes between(separator);
            if (between.view().empty()) {
                throw nb::value_error("separator: expected at least one byte, got none");
            }
            const nb::gil_scoped_release release;
            const read::Cut cut = read::last_cut(held.view(), between.view());
            return std::tuple(cut.end, cut.count);
        },
        nb::arg("buffer"), nb::arg("separator"),
        "The end of the last separator, or 0 if there is none; and how many there are.");
}

}  // namespace tokenmill::bind
