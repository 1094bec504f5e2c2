// Reads the five numbers of CpuFacts in hexadecimal, and writes the targets they are enough for.
#include <cstdio>
#include <cstdlib>

#include "simd/cpu.h"

int main(int count, char** words) {
    if (count != 6) {
        std::fputs("expected five numbers\n", stderr);
        return 2;
    }
    const auto number = [&](int i) { return std::strtoull(words[i], nullptr, 16); };
    tokenmill::simd::CpuFacts facts;
    facts.features_c = static_cast<std::uint32_t>(number(1));
    facts.more_features_b = static_cast<std::uint32_t>(number(2));
    facts.more_features_c = static_cast<std::uint32_t>(number(3));
    facts.extended_c = static_cast<std::uint32_t>(number(4));
    facts.saved_registers = number(5);
    const tokenmill::simd::CpuTargets targets = tokenmill::simd::targets_of(facts);
    std::printf("%s%s\n", targets.avx2 ? "avx2 " : "", targets.avx512 ? "avx512" : "");
    return 0;
}
