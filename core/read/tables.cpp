#include "read/kernel.h"

namespace tokenmill::read {

namespace {

template <typename Entry>
constexpr ByteTable table_of(Entry entry) noexcept {
    ByteTable table = {};
    for (unsigned c = 0; c < table.size(); ++c) {
        table[c] = static_cast<std::uint8_t>(entry(c));
    }
    return table;
}

}  // namespace

constinit const ByteTable kEscapes = table_of(escape_of);
constinit const ByteTable kHexDigits = table_of(hex_digit);

}  // namespace tokenmill::read
