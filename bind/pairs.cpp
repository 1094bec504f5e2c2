// pairs: an array of pairs -> a list of tuples, the form in which other libraries return offsets.
#include <algorithm>

#include "bind.h"

namespace tokenmill::bind {

namespace {

using PairArray = nb::ndarray<const std::int64_t, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;

// Numbers as Python objects. Small ones are made once and shared: every text starts with them.
class NumberObjects {
public:
    [[nodiscard]] nb::object of(std::int64_t value) {
        const auto place = static_cast<std::uint64_t>(value);
        if (place >= kKept) {
            return nb::steal(PyLong_FromLongLong(value));
        }
        if (place >= kept_.size()) {
            kept_.resize(std::min<std::size_t>(2 * place + 64, kKept));
        }
        if (!kept_[place].is_valid()) {
            kept_[place] = nb::steal(PyLong_FromLongLong(value));
        }
        return kept_[place];
    }

private:
    static constexpr std::uint64_t kKept = 1 << 16;
    std::vector<nb::object> kept_;
};

nb::object list_pairs(const PairArray& pairs) {
    const auto count = static_cast<Py_ssize_t>(pairs.shape(0));
    nb::object list = nb::steal(PyList_New(count));
    if (!list.is_valid()) {
        nb::raise_python_error();
    }
    NumberObjects numbers;
    for (Py_ssize_t i = 0; i < count; ++i) {
        const auto row = static_cast<std::size_t>(i);
        nb::object pair = nb::steal(PyTuple_New(2));
        const nb::object first = numbers.of(pairs(row, 0));
        const nb::object second = numbers.of(pairs(row, 1));
        if (!pair.is_valid() || !first.is_valid() || !second.is_valid()) {
            nb::raise_python_error();
        }
        PyTuple_SET_ITEM(pair.ptr(), 0, first.inc_ref().ptr());
        PyTuple_SET_ITEM(pair.ptr(), 1, second.inc_ref().ptr());
        PyObject_GC_UnTrack(pair.ptr());  // it cannot be part of a cycle, and there are many
        PyList_SET_ITEM(list.ptr(), i, pair.release().ptr());
    }
    return list;
}

}  // namespace

void register_pairs(nb::module_& m) {
    m.def("list_pairs", &list_pairs, nb::arg("pairs"), "An array of two columns as tuples.");
}

}  // namespace tokenmill::bind
