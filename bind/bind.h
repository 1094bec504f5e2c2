// What the files of bind/ share. Only conversions live here: a loop over tokens is a smell.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <vector>

#include "pipeline/pipeline.h"

namespace nb = nanobind;

namespace tokenmill::bind {

void register_errors(nb::module_& m);
void register_model(nb::module_& m);
void register_compile(nb::module_& m);
void register_normalize(nb::module_& m);
void register_texts(nb::module_& m);
void register_pack(nb::module_& m);
void register_read(nb::module_& m);
void register_pairs(nb::module_& m);

// What a device needs of a model, as arrays and numbers by name.
[[nodiscard]] nb::dict device_tables(const pipeline::Model& model);

// A numpy array of `count` numbers, not initialised; for results that fit a page or two.
enum class Number { U32, U16, I64 };
[[nodiscard]] nb::object empty_array(Number number, std::size_t count, void*& data);

// A capsule that owns memory behind an array; its pages are kept to be used again.
[[nodiscard]] nb::capsule owner_of(PageBuffer memory, std::size_t touched_bytes, Spares kind);

// One text, borrowed: a str or anything with a buffer.
class OneText {
public:
    // `index` is the number of the document in an error message, or -1.
    explicit OneText(nb::handle text, std::ptrdiff_t index = -1);
    ~OneText() {
        if (has_buffer_) {
            PyBuffer_Release(&buffer_);
        }
    }
    OneText(const OneText&) = delete;
    OneText& operator=(const OneText&) = delete;
    [[nodiscard]] const pipeline::Text& view() const noexcept { return text_; }
    // Hands the buffer over to `buffers`, which then has to release it.
    void move_to(std::vector<Py_buffer>& buffers) {
        if (has_buffer_) {
            buffers.push_back(buffer_);
            has_buffer_ = false;
        }
    }

private:
    pipeline::Text text_;
    bool has_buffer_ = false;
    Py_buffer buffer_;
};

// Many texts in one buffer: text i is data[offsets[i]:offsets[i + 1]]. What readers of files make.
class TextBuffer {
public:
    using Data = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    using Offsets = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

    // Throws unless the offsets rise from 0 or more to at most the size of the data.
    TextBuffer(Data data, Offsets offsets);
    [[nodiscard]] std::size_t size() const noexcept { return offsets_.size() - 1; }
    [[nodiscard]] pipeline::Text at(std::size_t i) const noexcept;

private:
    Data data_;
    Offsets offsets_;
};

// Texts of a caller, borrowed: holds what keeps their memory alive.
class Texts {
public:
    Texts() = default;
    ~Texts();
    Texts(const Texts&) = delete;
    Texts& operator=(const Texts&) = delete;

    void add(nb::handle text);
    // A list, a tuple, a TextBuffer, or an object of the Arrow PyCapsule interface.
    void add_all(nb::handle texts);

    [[nodiscard]] std::span<const pipeline::Text> view() const noexcept { return texts_; }

private:
    void add_arrow_array(nb::handle texts);
    void add_arrow_stream(nb::handle texts);
    friend struct ArrowReader;

    std::vector<pipeline::Text> texts_;
    std::vector<Py_buffer> buffers_;
    std::vector<nb::object> owners_;
    std::vector<void (*)(void*)> releases_;
    std::vector<void*> released_;
};

}  // namespace tokenmill::bind
