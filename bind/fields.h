// fields: attributes of a Python object -> values of C++, by name. Made for dataclasses.
#pragma once

#include <memory>

#include "bind.h"

namespace tokenmill::bind {

template <typename T>
using ConstArray = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using ConstMatrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Everything that was read from an object and is only borrowed by C++. Needs the GIL to go.
struct Kept {
    std::vector<nb::object> objects;
    std::vector<std::shared_ptr<const void>> arrays;
};

// Reads each field once and checks it there: Error(BadSpec) names the field and what it holds.
class Fields {
public:
    // `where` names the object in errors. `kept` outlives all views that are handed out.
    Fields(nb::object object, std::string where, Kept& kept)
        : object_(std::move(object)), where_(std::move(where)), kept_(kept) {}

    [[nodiscard]] bool has(const char* name) const { return !object_.attr(name).is_none(); }
    [[nodiscard]] Fields inside(const char* name) const {
        return {object_.attr(name), where_ + "." + name, kept_};
    }

    template <typename T>
    [[nodiscard]] T get(const char* name) const {
        const nb::object value = object_.attr(name);
        try {
            return nb::cast<T>(value);
        } catch (const nb::cast_error&) {
            refuse(name, value);
        }
    }

    // Every item of a sequence, as fields of its own.
    template <typename Use>
    void for_each(const char* name, const Use& use) const {
        std::size_t i = 0;
        for (const nb::handle item : object_.attr(name)) {
            use(Fields(nb::borrow(item), where_ + "." + name + "[" + std::to_string(i++) + "]",
                       kept_));
        }
    }

    // The place of a word in `words`, which are in the order of an enum.
    template <typename Enum>
    [[nodiscard]] Enum choice(const char* name, std::initializer_list<const char*> words) const {
        return static_cast<Enum>(place_of(name, words));
    }

    // Borrowed: valid as long as `kept`.
    [[nodiscard]] Bytes bytes(const char* name) const {
        const auto value = get<nb::bytes>(name);
        kept_.objects.push_back(value);
        return view_of(value);
    }
    template <typename Array>
    [[nodiscard]] auto array(const char* name) const {
        const auto held = std::make_shared<Array>(get<Array>(name));
        kept_.arrays.push_back(held);
        return std::span(held->data(), held->size());
    }
    // The same, empty for None.
    template <typename Array>
    [[nodiscard]] auto optional_array(const char* name) const {
        return has(name) ? array<Array>(name) : decltype(array<Array>(name)){};
    }

private:
    [[noreturn]] void refuse(const char* name, const nb::object& value) const;
    [[nodiscard]] std::uint32_t place_of(const char* name,
                                         std::initializer_list<const char*> words) const;

    nb::object object_;
    std::string where_;
    Kept& kept_;
};

}  // namespace tokenmill::bind
