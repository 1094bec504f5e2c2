// read: buffers of bytes -> arrays of texts and places.
#include "read/read.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <tuple>

#include "arrays.h"
#include "base/file_io.h"

namespace tokenmill::bind {

namespace {

using Positions = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Tests name a target; everybody else gets the best one.
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
    throw nb::value_error(
        ("target: expected one that this CPU runs, got \"" + *name + "\"").c_str());
}

// The pages of the texts go to numpy, without a copy.
nb::object text_array(read::JoinedTexts& texts) {
    PageBuffer memory = texts.take_memory();
    void* data = memory.data();
    const nb::capsule owner = owner_of(std::move(memory), texts.used(), Spares::Texts);
    return nb::cast(nb::ndarray<nb::numpy, std::uint8_t>(data, {texts.used()}, owner));
}

}  // namespace

nb::object bad_array(const std::vector<read::BadLine>& bad) {
    std::vector<std::int64_t> numbers;
    numbers.reserve(5 * bad.size());
    for (const read::BadLine& line : bad) {
        numbers.insert(numbers.end(), {line.line, line.begin, line.length, line.fault,
                                       static_cast<std::int64_t>(line.reason)});
    }
    return array_of(std::move(numbers));
}

namespace {

using Jsonl = std::tuple<nb::object, nb::object, nb::object, nb::object, nb::object, nb::object>;

// Text, offsets, lines, begins, bad lines, counts: numpy arrays, because a Python object for each
// of a million lines would cost more than reading them.
Jsonl read_jsonl(nb::handle buffer, std::string field, std::size_t max_document_bytes,
                 std::size_t max_line_bytes, bool replace_bad_utf8, bool replace_lone_surrogate,
                 const std::optional<std::string>& target) {
    const HeldBuffer held(buffer);
    const simd::Target chosen = target_of(target);
    const read::Rules rules = {std::move(field), max_document_bytes, max_line_bytes,
                               replace_bad_utf8, replace_lone_surrogate};
    read::JsonlDocuments found;
    {
        const nb::gil_scoped_release release;
        found = read::read_jsonl(held.bytes(), rules, chosen);
    }
    return {text_array(found.texts),
            array_of(std::move(found.texts.offsets)),
            array_of(std::move(found.lines)),
            array_of(std::move(found.begins)),
            bad_array(found.bad),
            array_of({found.line_count, found.blank_lines, found.repaired_utf8,
                      found.repaired_surrogates})};
}

// Checks what core/read relies on: ranges that lie inside the buffer.
read::Ranges ranges_of(Bytes buffer, const Positions& begins, const Positions& ends) {
    if (begins.size() != ends.size()) {
        throw nb::value_error("begins and ends: expected equally many of both");
    }
    read::Ranges ranges = {{begins.data(), begins.data() + begins.size()},
                           {ends.data(), ends.data() + ends.size()}};
    const auto size = static_cast<std::int64_t>(buffer.size());
    for (std::size_t i = 0; i < ranges.begins.size(); ++i) {
        const std::int64_t begin = ranges.begins[i];
        if (begin < 0 || ranges.ends[i] < begin || ranges.ends[i] > size) {
            throw nb::value_error(
                "begins and ends: expected texts inside the buffer, got one outside of it");
        }
    }
    return ranges;
}

nb::object check_texts(nb::handle buffer, const Positions& begins, const Positions& ends,
                       std::size_t max_document_bytes, bool skip_blank,
                       const std::optional<std::string>& target) {
    const HeldBuffer held(buffer);
    const read::Ranges ranges = ranges_of(held.bytes(), begins, ends);
    const simd::Target chosen = target_of(target);
    std::vector<read::Reason> reasons;
    {
        const nb::gil_scoped_release release;
        reasons = read::check_texts(held.bytes(), ranges, max_document_bytes, skip_blank, chosen);
    }
    std::vector<std::int64_t> numbers;
    numbers.reserve(reasons.size());
    for (const read::Reason reason : reasons) {
        numbers.push_back(static_cast<std::int64_t>(reason));
    }
    return array_of(std::move(numbers));
}

std::tuple<nb::object, nb::object> join_texts(nb::handle buffer, const Positions& begins,
                                              const Positions& ends,
                                              const std::optional<std::string>& target) {
    const HeldBuffer held(buffer);
    const read::Ranges ranges = ranges_of(held.bytes(), begins, ends);
    const simd::Target chosen = target_of(target);
    read::JoinedTexts texts;
    {
        const nb::gil_scoped_release release;
        texts = read::join_texts(held.bytes(), ranges, chosen);
    }
    return {text_array(texts), array_of(std::move(texts.offsets))};
}

std::tuple<nb::object, nb::object> split_text(nb::handle buffer,
                                              const std::optional<nb::bytes>& separator) {
    const HeldBuffer held(buffer);
    std::optional<HeldBuffer> between;
    if (separator) {
        between.emplace(*separator);
    }
    if (between && between->bytes().empty()) {
        throw nb::value_error("separator: expected at least one byte, got none");
    }
    read::Ranges ranges;
    {
        const nb::gil_scoped_release release;
        ranges = between ? read::split_at(held.bytes(), between->bytes())
                         : read::split_lines(held.bytes());
    }
    return {array_of(std::move(ranges.begins)), array_of(std::move(ranges.ends))};
}

// What was read of a file: all bytes, those of whole lines, and how many lines these are.
struct LinesRead {
    std::size_t bytes = 0;
    std::size_t end = 0;
    std::size_t count = 0;
    int error = 0;  // of the system
};

// Reads in steps that are still in the cache when their lines are counted.
LinesRead read_whole_lines(int file, std::int64_t place, std::uint8_t* memory, std::size_t size,
                           simd::Target target) {
    constexpr std::size_t kStep = std::size_t{1} << 18;
    static constexpr std::uint8_t kNewline[1] = {'\n'};
    LinesRead lines;
    while (lines.bytes < size) {
        std::uint8_t* const at = memory + lines.bytes;
        const std::size_t wanted = std::min(kStep, size - lines.bytes);
        std::size_t bytes = 0;
        lines.error =
            read_some_at(file, at, wanted, place + static_cast<std::int64_t>(lines.bytes), bytes);
        if (lines.error != 0 || bytes == 0) {
            break;
        }
        const read::Cut cut = read::last_cut({at, bytes}, kNewline, target);
        lines.end = cut.count != 0 ? lines.bytes + cut.end : lines.end;
        lines.count += cut.count;
        lines.bytes += bytes;
    }
    return lines;
}

// Raises an error of the system.
void refuse(int error) {
    if (error != 0) {
        errno = error;
        PyErr_SetFromErrno(PyExc_OSError);
        nb::raise_python_error();
    }
}

// The whole lines among `size` bytes of a file, and how many they are. Read into memory that is
// used again, without the GIL.
std::tuple<nb::object, std::size_t> read_lines(int file, std::int64_t place, std::size_t size,
                                               const std::optional<std::string>& target) {
    const simd::Target chosen = target_of(target);
    PageBuffer memory;
    LinesRead lines;
    {
        const nb::gil_scoped_release release;
        memory = take_spare(size, Spares::Texts);
        lines = read_whole_lines(file, place, memory.data(), size, chosen);
    }
    refuse(lines.error);
    void* data = memory.data();
    const nb::capsule owner = owner_of(std::move(memory), lines.bytes, Spares::Texts);
    return {nb::cast(nb::ndarray<nb::numpy, std::uint8_t>(data, {lines.end}, owner)), lines.count};
}

using Memory = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// The same into memory of the caller: how many of its bytes are whole lines, and how many lines.
std::tuple<std::size_t, std::size_t> read_lines_into(int file, std::int64_t place,
                                                     const Memory& memory) {
    const simd::Target chosen = target_of(std::nullopt);
    LinesRead lines;
    {
        const nb::gil_scoped_release release;
        lines = read_whole_lines(file, place, memory.data(), memory.size(), chosen);
    }
    refuse(lines.error);
    return {lines.end, lines.count};
}

// How many bytes are before the next newline at or after a place of a file; -1 if there are more
// than `most`, or no newline. For a line that is too long for a block: its end is found first.
std::int64_t find_newline(int file, std::int64_t place, std::int64_t most) {
    constexpr std::size_t kStep = std::size_t{1} << 18;
    std::int64_t before = 0;
    int error = 0;
    {
        const nb::gil_scoped_release release;
        std::vector<std::uint8_t> step(kStep);
        while (before <= most) {
            std::size_t got = 0;
            error = read_some_at(file, step.data(), step.size(), place + before, got);
            if (error != 0 || got == 0) {
                break;
            }
            if (const void* found = std::memchr(step.data(), '\n', got); found != nullptr) {
                before += static_cast<const std::uint8_t*>(found) - step.data();
                return before <= most ? before : -1;
            }
            before += static_cast<std::int64_t>(got);
        }
    }
    refuse(error);
    return -1;
}

}  // namespace

void register_read(nb::module_& m) {
    m.def("find_newline", &find_newline, nb::arg("file"), nb::arg("place"), nb::arg("most"),
          "The bytes of a file (its descriptor) from a place to the next newline; -1 if there are "
          "more than most, or there is none.");
    m.def("read_lines", &read_lines, nb::arg("file"), nb::arg("place"), nb::arg("size"),
          nb::arg("target") = nb::none(),
          "The whole lines among some bytes of a file (its descriptor), and how many they are.");
    m.def(
        "read_lines_into", &read_lines_into, nb::arg("file"), nb::arg("place"),
        nb::arg("memory").noconvert(),
        "Fill memory from a file (its descriptor): how many of its bytes are whole lines, and how "
        "many lines these are.");
    m.def("keep_spares", &keep_spares, nb::arg("count"), nb::call_guard<nb::gil_scoped_release>(),
          "Set how many freed buffers of each kind are kept for the next call.");
    m.attr("USUAL_SPARES") = kUsualSpares;
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
          nb::arg("target") = nb::none(),
          "Copy texts back to back, with bad UTF-8 replaced: text, offsets.");
    m.def("split_text", &split_text, nb::arg("buffer"), nb::arg("separator") = nb::none(),
          "Starts and ends of the lines, or of the texts between separators.");
    m.def(
        "last_cut",
        [](nb::handle buffer, const nb::bytes& separator) {
            const HeldBuffer held(buffer);
            const HeldBuffer between(separator);
            if (between.bytes().empty()) {
                throw nb::value_error("separator: expected at least one byte, got none");
            }
            const simd::Target target = target_of(std::nullopt);
            const nb::gil_scoped_release release;
            const read::Cut cut = read::last_cut(held.bytes(), between.bytes(), target);
            return std::tuple(cut.end, cut.count);
        },
        nb::arg("buffer"), nb::arg("separator"),
        "The end of the last separator, or 0 if there is none; and how many there are.");
}

}  // namespace tokenmill::bind
