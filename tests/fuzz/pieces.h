// What fuzz targets share that make their inputs of pieces: the inputs, and how they are run.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <random>
#include <string>

namespace tokenmill::fuzz {

[[noreturn]] inline void fail(const std::string& input, const char* what) {
    std::fprintf(stderr, "%s:", what);
    for (const char c : input) {
        std::fprintf(stderr, " %02x", static_cast<unsigned char>(c));
    }
    std::fprintf(stderr, "\n");
    std::abort();
}

// Memory of exactly the size of an input: a byte too far is an error of the sanitizers.
inline std::unique_ptr<std::uint8_t[]> exact_copy(const std::string& input) {
    std::unique_ptr<std::uint8_t[]> memory(new std::uint8_t[input.size()]);
    if (!input.empty()) {
        std::memcpy(memory.get(), input.data(), input.size());
    }
    return memory;
}

// Fewer than `most` pieces, some of their bytes changed.
template <std::size_t kCount>
std::string make_input(std::mt19937_64& random, const char* const (&pieces)[kCount],
                       std::size_t most) {
    std::string input;
    for (std::size_t left = random() % most; left != 0; --left) {
        input += pieces[random() % kCount];
        if (random() % 16 == 0 && !input.empty()) {
            input[random() % input.size()] = static_cast<char>(random());
        }
    }
    return input;
}

// PROGRAM [COUNT [SEED]]
template <std::size_t kCount, typename Check>
int run(int argc, char** argv, const char* const (&pieces)[kCount], std::size_t most, Check check) {
    const long count = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 20000;
    std::mt19937_64 random(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1);
    for (long i = 0; i < count; ++i) {
        check(make_input(random, pieces, most));
    }
    std::printf("%ld inputs\n", count);
    return 0;
}

}  // namespace tokenmill::fuzz
