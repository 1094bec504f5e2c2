// memory: what JavaScript allocates, and what C++ does when there is none left.
#include <cstdlib>
#include <new>

#include "base/buffer.h"
#include "module.h"

namespace {
constexpr std::size_t kAlign = 64;  // of a compiled model
}

void* tokenmill_take(size_t size) {
    const std::size_t whole = (size + kAlign - 1) / kAlign * kAlign;
    return whole < size ? nullptr : std::aligned_alloc(kAlign, whole == 0 ? kAlign : whole);
}

void tokenmill_give_back(void* memory) {
    std::free(memory);
}

void tokenmill_trim(void) {
    using tokenmill::Spares;
    for (const Spares kind :
         {Spares::Ids, Spares::Spans, Spares::Words, Spares::Texts, Spares::Framed}) {
        for (std::size_t i = 0; i < tokenmill::kUsualSpares; ++i) {
            const tokenmill::PageBuffer gone = tokenmill::take_spare(0, kind);
        }
    }
}

// The library's own would end the program, because it was built without exceptions.
void* operator new(std::size_t size) {
    void* const memory = std::malloc(size == 0 ? 1 : size);
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    return memory;
}
void* operator new[](std::size_t size) {
    return operator new(size);
}
void* operator new(std::size_t size, std::align_val_t align) {
    const auto unit = static_cast<std::size_t>(align);
    void* const memory = std::aligned_alloc(unit, (size + unit - 1) / unit * unit);
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    return memory;
}
void* operator new[](std::size_t size, std::align_val_t align) {
    return operator new(size, align);
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete[](void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}
