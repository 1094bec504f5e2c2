// options: the numbers that Python calls with -> options of the core.
#include "options.h"

#include <algorithm>
#include <limits>
#include <string>

namespace tokenmill::bind {

namespace {

[[noreturn]] void refuse(const char* name, const char* choices, int got) {
    throw Error(ErrorCode::BadArgument,
                std::string(name) + ": expected " + choices + ", got " + std::to_string(got));
}

bool replaces_invalid(int errors) {
    if (errors != 0 && errors != 1) {
        refuse("errors", "0 (strict) or 1 (replace)", errors);
    }
    return errors == 1;
}

}  // namespace

pipeline::SpecialMode special_mode_of(int number) {
    if (number < 0 || number > static_cast<int>(pipeline::SpecialMode::Raise)) {
        refuse("special_mode", "0 (encode), 1 (text) or 2 (raise)", number);
    }
    return static_cast<pipeline::SpecialMode>(number);
}

unsigned bits_of(int bits) {
    if (bits != 16 && bits != 32) {
        refuse("bits", "16 or 32", bits);
    }
    return static_cast<unsigned>(bits);
}

pipeline::Tables tables_of(int shrink, int size) {
    pipeline::Tables tables;
    encode::TableBits& bits = tables.bits;
    const auto less = [&](unsigned value, int by) {
        return static_cast<unsigned>(std::max(1, static_cast<int>(value) - by));
    };
    if (size < 0 || size > 2) {
        refuse("tables", "0 (usual), 1 (small) or 2 (tiny)", size);
    }
    if (size == 2) {  // those that a worker starts with, for ever
        tables.small_until = std::numeric_limits<std::size_t>::max();
    }
    const int by = std::max(shrink, size == 1 ? 2 : size == 2 ? 5 : 0);
    if (by > 0) {
        bits = {less(bits.words8, by),
                less(bits.words16, by),
                less(bits.words32, by),
                less(bits.long_words, by),
                std::max(15U, less(bits.ring, by)),
                less(bits.store, by)};
    }
    if (shrink > 0) {
        tables.small_until = 0;
    }
    return tables;
}

pipeline::Options options_of(bool add_special_tokens, int special_mode, int errors,
                             const Stop* stop, int threads) {
    pipeline::Options options;
    options.add_special_tokens = add_special_tokens;
    options.special = special_mode_of(special_mode);
    options.replace_invalid = replaces_invalid(errors);
    options.stop = stop;
    options.threads = static_cast<unsigned>(threads < 1 ? 1 : threads);
    return options;
}

}  // namespace tokenmill::bind
