// normalize/charsmap: a short text -> its replacement, by a trie in the layout of a double array.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/types.h"

namespace tokenmill::normalize {

class CharsMap {
public:
    // Four bytes of size, low byte first; a double array of as many bytes; then the replacements,
    // each ended by a NUL. Throws Error{CorruptModel} with `offset` as the place of the blob.
    CharsMap(Bytes blob, std::size_t offset);

    // What the reference writes for `key`: the replacement of its shortest prefix in the trie,
    // where a NUL ends the key. It takes the place of the whole key, not of the prefix alone.
    // Nothing for a key without such a prefix, and where a damaged trie points outside.
    [[nodiscard]] std::optional<Bytes> find(Bytes key) const noexcept;

    // The longest key at the start of a text, and what is written for it.
    struct Found {
        std::size_t size = 0;  // of the key; 0 for none
        Bytes value;
    };
    [[nodiscard]] Found longest(Bytes text) const noexcept;

    // Whether some key begins with `text`, or is `text`.
    [[nodiscard]] bool begins_key(Bytes text) const noexcept;

private:
    [[nodiscard]] std::optional<Bytes> replacement_at(std::size_t place) const noexcept;

    std::vector<std::uint32_t> units_;
    std::vector<std::uint8_t> texts_;
};

}  // namespace tokenmill::normalize
