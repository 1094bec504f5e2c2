// base/hash128: a text of any length -> 128 bits, under a key. Who does not know the key cannot
// make texts that collide, which is all that is claimed: full texts are compared as well.
#pragma once

#include "base/bytes.h"
#include "base/types.h"

namespace tokenmill {

struct Hash128 {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    bool operator==(const Hash128&) const = default;
};

class HashKey {
public:
    static constexpr std::size_t kWords = 12;  // 8 for a block, 2 to chain blocks, 2 to start

    // Not secret, and the same on every machine: for checksums and fingerprints.
    HashKey() noexcept : HashKey(0, 0) {}
    HashKey(std::uint64_t first, std::uint64_t second) noexcept;

    // `start` tells apart equal bytes that stand for different things.
    [[nodiscard]] Hash128 hash(Bytes text, Hash128 start = {}) const noexcept;

private:
    std::uint64_t words_[kWords];
};

}  // namespace tokenmill
