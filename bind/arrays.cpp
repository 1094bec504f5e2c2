// arrays: memory of core/ -> numpy arrays. Through numpy's C interface: a call of numpy.empty takes
// 0.2 us more, as long as encoding a sentence (docs/develop/log.md, 2026-11-15).
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_1_23_API_VERSION
#include <numpy/arrayobject.h>

#include "arrays.h"

#include <atomic>
#include <cstring>
#include <memory>

namespace tokenmill::bind {

namespace {
constexpr std::size_t kSmallArray = 1 << 16;  // numbers

// Looked up at the first result, so that importing the module does not import numpy. Not by a
// static of the function: threads that wait for one keep the GIL, which the import needs.
void import_numpy() {
    static std::atomic<bool> is_ready{false};
    if (is_ready.load(std::memory_order_acquire)) {
        return;
    }
    static nb::ft_mutex one_at_a_time;  // of a Python without GIL; it lets go of the interpreter
    const nb::ft_lock_guard guard(one_at_a_time);
    if (PyArray_ImportNumPyAPI() != 0) {
        nb::raise_python_error();
    }
    is_ready.store(true, std::memory_order_release);
}

}  // namespace

nb::object empty_array(Number number, std::size_t count, void*& data) {
    import_numpy();
    static constexpr int kTypes[] = {NPY_UINT32, NPY_UINT16, NPY_INT64};
    npy_intp shape[1] = {static_cast<npy_intp>(count)};
    PyObject* array = PyArray_SimpleNew(1, shape, kTypes[static_cast<int>(number)]);
    if (array == nullptr) {
        nb::raise_python_error();
    }
    data = PyArray_DATA(reinterpret_cast<PyArrayObject*>(array));
    return nb::steal(array);
}

// Numpy calls the function when the last array over the memory is gone.
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

nb::object array_of(PageBuffer memory, std::size_t count, unsigned bits, Spares kind) {
    const std::size_t bytes = count * bits / 8;
    if (count <= kSmallArray) {
        void* data = nullptr;
        nb::object array = empty_array(bits == 16 ? Number::U16 : Number::U32, count, data);
        if (bytes != 0) {
            std::memcpy(data, memory.data(), bytes);
        }
        give_spare(std::move(memory), bytes, kind);
        return array;
    }
    void* data = memory.data();
    const nb::capsule owner = owner_of(std::move(memory), bytes, kind);
    if (bits == 16) {
        return nb::cast(nb::ndarray<nb::numpy, std::uint16_t>(data, {count}, owner));
    }
    return nb::cast(nb::ndarray<nb::numpy, std::uint32_t>(data, {count}, owner));
}

namespace {
nb::object copy_of(const std::int64_t* numbers, std::size_t count) {
    void* data = nullptr;
    nb::object array = empty_array(Number::I64, count, data);
    if (count != 0) {
        std::memcpy(data, numbers, count * sizeof(std::int64_t));
    }
    return array;
}
}  // namespace

nb::object array_of(std::vector<std::int64_t> numbers) {
    return numbers.size() > kSmallArray ? array_owning(std::move(numbers))
                                        : copy_of(numbers.data(), numbers.size());
}

nb::object array_of(std::unique_ptr<std::int64_t[]> numbers, std::size_t count) {
    if (count <= kSmallArray) {
        return copy_of(numbers.get(), count);
    }
    std::int64_t* const data = numbers.get();
    const nb::capsule owner(numbers.release(), [](void* gone) noexcept {
        const std::unique_ptr<std::int64_t[]> mine(static_cast<std::int64_t*>(gone));
    });
    return nb::cast(nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>(data, {count}, owner));
}

}  // namespace tokenmill::bind
