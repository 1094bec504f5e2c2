// arrays: memory of core/ -> numpy arrays.
#pragma once

#include <memory>
#include <vector>

#include "bind.h"

namespace tokenmill::bind {

// A numpy array of `count` numbers, not initialised; for results that fit a page or two.
enum class Number { U32, U16, I64 };
[[nodiscard]] nb::object empty_array(Number number, std::size_t count, void*& data);

// A capsule that owns the memory of an array; the pages are kept to be used again.
[[nodiscard]] nb::capsule owner_of(PageBuffer memory, std::size_t touched_bytes, Spares kind);

// An array of `count` numbers of 16 or 32 bits. Small results are copied, because an array with a
// capsule costs more than that; large ones keep their pages.
[[nodiscard]] nb::object array_of(PageBuffer memory, std::size_t count, unsigned bits, Spares kind);

// An array that owns the numbers, without a copy.
template <typename T>
[[nodiscard]] nb::object array_owning(std::vector<T> numbers) {
    auto owned = std::make_unique<std::vector<T>>(std::move(numbers));
    std::vector<T>* const vector = owned.get();
    const nb::capsule owner(owned.release(),
                            [](void* gone) noexcept { delete static_cast<std::vector<T>*>(gone); });
    return nb::cast(
        nb::ndarray<nb::numpy, T, nb::ndim<1>>(vector->data(), {vector->size()}, owner));
}

// The same, with a copy if they are few.
[[nodiscard]] nb::object array_of(std::vector<std::int64_t> numbers);
[[nodiscard]] nb::object array_of(std::unique_ptr<std::int64_t[]> numbers, std::size_t count);

}  // namespace tokenmill::bind
