// numpy arrays for results. Its C interface, because numpy.empty costs a call of 0.2 us more and
// encoding a sentence takes no longer than that (docs/develop/log.md, 2026-11-15).
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_1_23_API_VERSION
#include <numpy/arrayobject.h>

#include <memory>

#include "bind.h"

namespace tokenmill::bind {

nb::object empty_array(Number number, std::size_t count, void*& data) {
    // Looked up at the first result, so that importing the module does not import numpy.
    static const bool is_ready = PyArray_ImportNumPyAPI() == 0;
    if (!is_ready) {
        nb::raise_python_error();
    }
    static constexpr int kTypes[] = {NPY_UINT32, NPY_UINT16, NPY_INT64};
    npy_intp shape[1] = {static_cast<npy_intp>(count)};
    PyObject* array = PyArray_SimpleNew(1, shape, kTypes[static_cast<int>(number)]);
    if (array == nullptr) {
        nb::raise_python_error();
    }
    data = PyArray_DATA(reinterpret_cast<PyArrayObject*>(array));
    return nb::steal(array);
}

nb::capsule owner_of(PageBuffer memory, std::size_t touched_bytes, Spares kind) {
    struct Owned {
        PageBuffer memory;
        std::size_t touched_bytes;
        Spares kind;
    };
    auto owner = std::make_unique<Owned>(Owned{std::move(memory), touched_bytes, kind});
    return {owner.release(), [](void* gone) noexcept {
                const std::unique_ptr<Owned> mine(static_cast<Owned*>(gone));
                give_spare(std::move(mine->memory), mine->touched_bytes, mine->kind);
            }};
}

}  // namespace tokenmill::bind
