// bind: Python objects -> views of their memory, results of core/ -> Python objects. Only
// conversions live here; a loop over the tokens of a text belongs in core/.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "pipeline/pipeline.h"

namespace nb = nanobind;

struct ArrowArray;

namespace tokenmill::device {
class LineDevice;
}
namespace tokenmill::mill {
struct BlockRules;
struct JsonlIds;
}  // namespace tokenmill::mill
namespace tokenmill::read {
struct BadLine;
}

namespace tokenmill::bind {

void register_errors(nb::module_& m);
void register_stop(nb::module_& m);
void register_counts(nb::module_& m);
void register_model(nb::module_& m);
void register_process(nb::module_& m);
void register_cache(nb::module_& m);
void register_method(nb::module_& m);
void register_session(nb::module_& m);
void register_compile(nb::module_& m);
void register_normalize(nb::module_& m);
void register_texts(nb::module_& m);
void register_gather(nb::module_& m);
void register_pack(nb::module_& m);
void register_read(nb::module_& m);
void register_mill(nb::module_& m);
void register_line_device(nb::module_& m);
void register_pairs(nb::module_& m);
void register_parts(nb::module_& m);
void register_wire(nb::module_& m);
void register_document(nb::module_& m);

// The model inside a _core.Model, which must outlive its use.
[[nodiscard]] const pipeline::Model& model_of(nb::handle model);

// Line, begin, length, fault and reason of each bad line, one after the other.
[[nodiscard]] nb::object bad_array(const std::vector<read::BadLine>& bad);

// The model inside a _core.Model; throws if the object is another one.
[[nodiscard]] const pipeline::Model& model_of(nb::handle model);
// As many threads as calls use that are given no number.
[[nodiscard]] unsigned available_threads();

// The ids of a block of lines; see core/mill.
[[nodiscard]] nb::tuple encode_jsonl(const pipeline::Model& model, nb::handle buffer,
                                     const mill::BlockRules& rules, CallCounts* counts);
// What it found, as a tuple.
[[nodiscard]] nb::tuple jsonl_tuple(mill::JsonlIds& found, const mill::BlockRules& rules);
// The same by a device, and the flags of documents that the CPU encoded; see core/device.
[[nodiscard]] nb::object encode_lines(const pipeline::Model& model, device::LineDevice& device,
                                      nb::handle buffer, const mill::BlockRules& rules,
                                      std::size_t reading, std::optional<std::size_t> lane);
class TextBuffer;
[[nodiscard]] nb::tuple encode_texts(const pipeline::Model& model, const TextBuffer& texts,
                                     const mill::BlockRules& rules, CallCounts* counts);

// The model of a _core.Model, which the caller keeps alive; null for any other object.
[[nodiscard]] const pipeline::Model* native_model(nb::handle model) noexcept;

// The tables of a model that a device needs, as arrays and numbers by name.
[[nodiscard]] nb::dict device_tables(const pipeline::Model& model);

[[nodiscard]] inline Bytes view_of(const nb::bytes& bytes) {
    return {reinterpret_cast<const std::uint8_t*>(bytes.c_str()), bytes.size()};
}
[[nodiscard]] inline nb::bytes bytes_of(Bytes bytes) {
    return nb::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// The buffer of a Python object, held as long as this lives. Needs the GIL to be made and to go.
class HeldBuffer {
public:
    HeldBuffer() noexcept { view_.obj = nullptr; }  // the rest is not read: every text has one
    // Throws the Python error of an object without a buffer.
    explicit HeldBuffer(nb::handle object) : HeldBuffer() {
        if (!try_hold(object)) {
            nb::raise_python_error();
        }
    }
    HeldBuffer(HeldBuffer&& other) noexcept : HeldBuffer() { std::swap(view_, other.view_); }
    ~HeldBuffer() { release(); }
    HeldBuffer(const HeldBuffer&) = delete;
    HeldBuffer& operator=(const HeldBuffer&) = delete;
    HeldBuffer& operator=(HeldBuffer&&) = delete;

    // False, with the Python error set, for an object without a buffer.
    [[nodiscard]] bool try_hold(nb::handle object) noexcept {
        return PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) == 0;
    }
    void release() noexcept {
        if (is_held()) {
            PyBuffer_Release(&view_);
        }
    }
    [[nodiscard]] bool is_held() const noexcept { return view_.obj != nullptr; }
    [[nodiscard]] Bytes bytes() const noexcept {
        return {static_cast<const std::uint8_t*>(view_.buf), static_cast<std::size_t>(view_.len)};
    }

private:
    Py_buffer view_;  // without an object, nothing is held
};

// str and bytes, whose fields are read in place; false for all other objects.
[[nodiscard]] bool read_quickly(PyObject* object, pipeline::Text& text) noexcept;

// One text, borrowed: a str or anything with a buffer.
class OneText {
public:
    // `index` is the number of the document in an error message, or -1.
    explicit OneText(nb::handle text, std::ptrdiff_t index = -1);
    [[nodiscard]] const pipeline::Text& view() const noexcept { return text_; }
    // Hands the buffer over to `buffers`, if the text has one.
    void move_to(std::vector<HeldBuffer>& buffers) {
        if (buffer_.is_held()) {
            buffers.push_back(std::move(buffer_));
        }
    }

private:
    pipeline::Text text_;
    HeldBuffer buffer_;
};

// Many texts in one buffer: text i is data[offsets[i]:offsets[i + 1]]. Readers of files make it.
class TextBuffer {
public:
    using Data = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    using Offsets = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

    // Throws unless the offsets rise from 0 or more to at most the size of the data.
    TextBuffer(Data data, Offsets offsets);
    [[nodiscard]] std::size_t size() const noexcept { return offsets_.size() - 1; }
    [[nodiscard]] pipeline::Text at(std::size_t i) const noexcept;
    [[nodiscard]] const std::uint8_t* data() const noexcept { return data_.data(); }
    [[nodiscard]] std::span<const std::int64_t> offsets() const noexcept {
        return {offsets_.data(), offsets_.size()};
    }

private:
    Data data_;
    Offsets offsets_;
};

// Texts of a caller, borrowed: owns references to everything that keeps their memory alive.
class BorrowedTexts {
public:
    BorrowedTexts() = default;
    ~BorrowedTexts();
    BorrowedTexts(const BorrowedTexts&) = delete;
    BorrowedTexts& operator=(const BorrowedTexts&) = delete;

    // A list, a tuple, a TextBuffer, PickedTexts, or an object of the Arrow PyCapsule interface.
    void add_all(nb::handle texts);
    // Texts that `owner` keeps alive.
    void add_views(std::span<const pipeline::Text> texts, nb::object owner);

    [[nodiscard]] std::span<const pipeline::Text> view() const noexcept { return texts_; }

private:
    void add_items(nb::handle list);
    void add_arrow_array(nb::handle texts);
    void add_arrow_stream(nb::handle texts);

    std::vector<pipeline::Text> texts_;
    std::vector<PyObject*> items_;  // a reference each: the caller's list may change
    std::vector<HeldBuffer> buffers_;
    std::vector<nb::object> owners_;
    std::vector<ArrowArray*> arrays_;  // of a stream: to be released here
};

// Some texts of a longer list, in any order.
class PickedTexts {
public:
    PickedTexts(std::vector<pipeline::Text> texts, nb::object owner)
        : texts_(std::move(texts)), owner_(std::move(owner)) {}
    [[nodiscard]] std::span<const pipeline::Text> view() const noexcept { return texts_; }

private:
    std::vector<pipeline::Text> texts_;
    nb::object owner_;  // keeps their memory alive
};

}  // namespace tokenmill::bind
