// json: the meta data of a compiled model -> values. Small texts, read once: a tree of values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tokenmill::capi {

class Json {
public:
    enum class Type : std::uint8_t { Null, Bool, Number, String, Array, Object };

    // Throws Error(CorruptModel) for what is not one JSON value, and nothing after it.
    [[nodiscard]] static Json parse(std::string_view text);

    // All throw Error(CorruptModel) if the value has another type.
    [[nodiscard]] bool is_null() const noexcept { return type_ == Type::Null; }
    [[nodiscard]] bool truth() const;
    [[nodiscard]] std::uint32_t number() const;  // whole, of 32 bits
    [[nodiscard]] const std::string& text() const;
    [[nodiscard]] const std::vector<Json>& items() const;
    [[nodiscard]] const std::vector<std::pair<std::string, Json>>& members() const;
    // A member of an object, which must be there.
    [[nodiscard]] const Json& operator[](std::string_view name) const;

private:
    friend class JsonReader;
    void expect(Type type) const;

    Type type_ = Type::Null;
    bool truth_ = false;
    double number_ = 0;
    std::string text_;
    std::vector<Json> items_;
    std::vector<std::pair<std::string, Json>> members_;
};

}  // namespace tokenmill::capi
