// base/slowed: makes what is done while it lives take longer. Only in builds that are slow on
// purpose (TOKENMILL_SLOWED, see benchmarks/agree), never in the product.
#pragma once

#include "base/ticks.h"

namespace tokenmill {

class Slowed {
public:
    Slowed() = default;
    ~Slowed() {
        const Ticks now = read_ticks();
        const Ticks end = now + ticks_between(begin_, now) * TOKENMILL_SLOWED / 100;
        while (read_ticks() < end) {
        }
    }
    Slowed(const Slowed&) = delete;
    Slowed& operator=(const Slowed&) = delete;

private:
    const Ticks begin_ = read_ticks();
};

}  // namespace tokenmill
