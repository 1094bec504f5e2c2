// options: the numbers that Python calls with -> options of the core.
#include "options.h"

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
