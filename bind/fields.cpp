// fields: attributes of a Python object -> values of C++, by name.
#include "fields.h"

namespace tokenmill::bind {

void Fields::refuse(const char* name, const nb::object& value) const {
    throw Error(ErrorCode::BadSpec, where_ + "." + name + ": expected another type, got " +
                                        nb::cast<std::string>(nb::repr(value.type())));
}

std::uint32_t Fields::place_of(const char* name, std::initializer_list<const char*> words) const {
    const auto value = get<std::string>(name);
    std::uint32_t place = 0;
    std::string choices;
    for (const char* word : words) {
        if (value == word) {
            return place;
        }
        choices += std::string(place == 0 ? "\"" : ", \"") + word + "\"";
        ++place;
    }
    throw Error(ErrorCode::BadSpec,
                where_ + "." + name + ": expected one of " + choices + ", got \"" + value + "\"");
}

}  // namespace tokenmill::bind
