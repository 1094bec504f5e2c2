// texts: Python texts and Arrow arrays -> views of their memory.
#include "arrow.h"
#include "base/platform.h"
#include "bind.h"

namespace tokenmill::bind {

namespace {

using pipeline::Text;

// Python's own memory, in the width that the string is stored in. Nothing is copied or encoded
// here, and only ASCII is known to be UTF-8: other strings may hold lone surrogates.
Text text_of_str(PyObject* object) noexcept {
    const auto size = static_cast<std::size_t>(PyUnicode_GET_LENGTH(object));
    const void* data = PyUnicode_DATA(object);
    if (PyUnicode_IS_ASCII(object)) {
        return {data, size, Text::Encoding::Trusted};
    }
    switch (PyUnicode_KIND(object)) {
        case PyUnicode_1BYTE_KIND:
            return {data, size, Text::Encoding::Latin1};
        case PyUnicode_2BYTE_KIND:
            return {data, size, Text::Encoding::Ucs2};
        default:
            return {data, size, Text::Encoding::Ucs4};
    }
}

// Objects of a list lie anywhere: a walk that waits for each takes several times as long.
void prefetch(PyObject* const* items, std::size_t i, std::size_t count) noexcept {
    constexpr std::size_t kAhead = 24;
    if (i + kAhead < count) {
        prefetch_to_write(items[i + kAhead]);
    }
}

}  // namespace

bool read_quickly(PyObject* object, Text& text) noexcept {
    if (PyUnicode_Check(object)) {
        text = text_of_str(object);
        return true;
    }
    if (PyBytes_Check(object)) {
        text = {PyBytes_AS_STRING(object), static_cast<std::size_t>(PyBytes_GET_SIZE(object)),
                Text::Encoding::Utf8};
        return true;
    }
    return false;
}

BorrowedTexts::~BorrowedTexts() {
    buffers_.clear();
    for (std::size_t i = 0; i < items_.size(); ++i) {
        prefetch(items_.data(), i, items_.size());
        Py_DECREF(items_[i]);
    }
    for (ArrowArray* array : arrays_) {
        array->release(array);
        delete array;
    }
}

// The common types first; anything else is asked for a buffer.
OneText::OneText(nb::handle text, std::ptrdiff_t index) {
    if (read_quickly(text.ptr(), text_)) {
        return;
    }
    if (buffer_.try_hold(text)) {
        text_ = {buffer_.bytes().data(), buffer_.bytes().size(), Text::Encoding::Utf8};
    } else {
        PyErr_Clear();
        const std::string type = nb::cast<std::string>(nb::type_name(nb::handle(text.type())));
        throw Error(ErrorCode::NotText, "expected str or bytes-like, got " + type, Error::kNowhere,
                    index < 0 ? Error::kNowhere : static_cast<std::size_t>(index));
    }
}

// References first, to all of them, and the fields of those that cannot run code of Python. The
// others come last: what they run may change the caller's list. Without a GIL other threads may,
// too, so the list is locked while it is read.
void BorrowedTexts::add_items(nb::handle list) {
    std::vector<std::size_t> others;
    {
        const nb::ft_object_guard guard(list);
        PyObject** const items = PySequence_Fast_ITEMS(list.ptr());
        const auto count = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(list.ptr()));
        items_.reserve(count);
        texts_.resize(count);
        for (std::size_t i = 0; i < count; ++i) {
            prefetch(items, i, count);
            Py_INCREF(items[i]);
            items_.push_back(items[i]);
            if (!read_quickly(items[i], texts_[i])) {
                others.push_back(i);
            }
        }
    }
    for (const std::size_t i : others) {
        OneText one(items_[i], static_cast<std::ptrdiff_t>(i));
        texts_[i] = one.view();
        one.move_to(buffers_);
    }
}

// Checked once here, so that at() need not check.
TextBuffer::TextBuffer(Data data, Offsets offsets)
    : data_(std::move(data)), offsets_(std::move(offsets)) {
    const std::int64_t* at = offsets_.data();
    const std::size_t count = offsets_.size();
    bool rises =
        count > 0 && at[0] >= 0 && static_cast<std::uint64_t>(at[count - 1]) <= data_.size();
    for (std::size_t i = 1; i < count; ++i) {
        rises &= at[i - 1] <= at[i];
    }
    if (!rises) {
        throw nb::value_error("offsets: expected numbers that rise from 0 to the size of the data");
    }
}

pipeline::Text TextBuffer::at(std::size_t i) const noexcept {
    const std::int64_t* at = offsets_.data() + i;
    return {data_.data() + at[0], static_cast<std::size_t>(at[1] - at[0]), Text::Encoding::Utf8};
}

void BorrowedTexts::add_views(std::span<const Text> texts, nb::object owner) {
    texts_.insert(texts_.end(), texts.begin(), texts.end());
    owners_.push_back(std::move(owner));
}

void BorrowedTexts::add_all(nb::handle texts) {
    if (nb::isinstance<PickedTexts>(texts)) {
        add_views(nb::inst_ptr<PickedTexts>(texts)->view(), nb::borrow(texts));
        return;
    }
    if (nb::isinstance<TextBuffer>(texts)) {
        const auto& flat = *nb::inst_ptr<TextBuffer>(texts);
        texts_.reserve(flat.size());
        for (std::size_t i = 0; i < flat.size(); ++i) {
            texts_.push_back(flat.at(i));
        }
        owners_.push_back(nb::borrow(texts));
        return;
    }
    if (nb::hasattr(texts, "__arrow_c_stream__")) {
        add_arrow_stream(texts);
        return;
    }
    if (nb::hasattr(texts, "__arrow_c_array__")) {
        add_arrow_array(texts);
        return;
    }
    const nb::object items = nb::steal(PySequence_Fast(texts.ptr(), "expected a list of texts"));
    if (!items.is_valid()) {
        nb::raise_python_error();
    }
    add_items(items);
}

// One array. The two capsules own it, so holding them is enough.
void BorrowedTexts::add_arrow_array(nb::handle texts) {
    const nb::tuple pair = nb::cast<nb::tuple>(texts.attr("__arrow_c_array__")());
    auto* schema = static_cast<ArrowSchema*>(PyCapsule_GetPointer(pair[0].ptr(), "arrow_schema"));
    auto* array = static_cast<ArrowArray*>(PyCapsule_GetPointer(pair[1].ptr(), "arrow_array"));
    if (schema == nullptr || array == nullptr) {
        nb::raise_python_error();
    }
    append_arrow(*schema, *array, texts_);
    owners_.push_back(pair);  // the capsules release the array when they go
}

// Several arrays, one after the other, such as a pyarrow ChunkedArray. Each one is ours to release.
void BorrowedTexts::add_arrow_stream(nb::handle texts) {
    const nb::object capsule = texts.attr("__arrow_c_stream__")();
    auto* stream =
        static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule.ptr(), "arrow_array_stream"));
    if (stream == nullptr) {
        nb::raise_python_error();
    }
    ArrowSchema schema{};
    const auto check = [&](int status) {
        if (status != 0) {
            const char* reason = stream->get_last_error(stream);
            throw nb::value_error(reason != nullptr ? reason : "the Arrow stream failed");
        }
    };
    check(stream->get_schema(stream, &schema));
    const SchemaGuard guard(schema);
    for (;;) {
        auto array = std::make_unique<ArrowArray>();
        check(stream->get_next(stream, array.get()));
        if (array->release == nullptr) {
            break;
        }
        ArrowArray* kept = array.release();
        arrays_.push_back(kept);
        append_arrow(schema, *kept, texts_);
    }
}

void register_texts(nb::module_& m) {
    nb::class_<TextBuffer>(m, "TextBuffer",
                           "Many texts in one buffer: text i is data[offsets[i]:offsets[i + 1]].")
        .def(nb::init<TextBuffer::Data, TextBuffer::Offsets>(), nb::arg("data"), nb::arg("offsets"))
        .def("__len__", &TextBuffer::size)
        .def("__getitem__", [](const TextBuffer& self, std::int64_t i) {
            if (i < 0 || static_cast<std::size_t>(i) >= self.size()) {
                throw nb::index_error("no such text");
            }
            const Text text = self.at(static_cast<std::size_t>(i));
            return nb::bytes(static_cast<const char*>(text.data), text.size);
        });
}

}  // namespace tokenmill::bind
