#include "simd/cpu.h"

#include "base/platform.h"

#if TOKENMILL_X86_64
#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#else
#include <cpuid.h>
#endif
#endif

namespace tokenmill::simd {

namespace {

[[nodiscard]] constexpr std::uint32_t bit(unsigned number) noexcept {
    return std::uint32_t{1} << number;
}

// Leaf 1, ecx.
constexpr std::uint32_t kPopcnt = bit(23);
constexpr std::uint32_t kOsXsave = bit(27);  // the system uses xsave, so xgetbv may be asked
constexpr std::uint32_t kAvx = bit(28);
// Leaf 7, ebx.
constexpr std::uint32_t kAvx2 = bit(3) | bit(5) | bit(8);                 // BMI1, AVX2, BMI2
constexpr std::uint32_t kAvx512 = bit(16) | bit(17) | bit(30) | bit(31);  // F, DQ, BW, VL
// Leaf 7, ecx.
constexpr std::uint32_t kVbmi = bit(1) | bit(6);  // VBMI, VBMI2
// Leaf 80000001, ecx.
constexpr std::uint32_t kLzcnt = bit(5);

//   xgetbv(0):  7    6    5     4 3  2    1    0
//               |    |    |          |    |
//               zmm16-31  |          |    xmm
//                    zmm0-15, upper  ymm, upper half
//                         masks k0-7
constexpr std::uint64_t kYmmState = 0x06;
constexpr std::uint64_t kZmmState = 0xE6;

[[nodiscard]] constexpr bool has_all(std::uint64_t bits, std::uint64_t wanted) noexcept {
    return (bits & wanted) == wanted;
}

}  // namespace

CpuTargets targets_of(const CpuFacts& facts) noexcept {
    CpuTargets targets;
    targets.avx2 = has_all(facts.features_c, kPopcnt | kOsXsave | kAvx) &&
                   has_all(facts.more_features_b, kAvx2) && has_all(facts.extended_c, kLzcnt) &&
                   has_all(facts.saved_registers, kYmmState);
    targets.avx512 = targets.avx2 && has_all(facts.more_features_b, kAvx512) &&
                     has_all(facts.more_features_c, kVbmi) &&
                     has_all(facts.saved_registers, kZmmState);
    return targets;
}

#if TOKENMILL_X86_64

namespace {

struct Registers {
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    std::uint32_t c = 0;
    std::uint32_t d = 0;
};

#if defined(_MSC_VER) && !defined(__clang__)

Registers ask(std::uint32_t leaf) noexcept {
    int out[4];
    __cpuidex(out, static_cast<int>(leaf), 0);
    return {static_cast<std::uint32_t>(out[0]), static_cast<std::uint32_t>(out[1]),
            static_cast<std::uint32_t>(out[2]), static_cast<std::uint32_t>(out[3])};
}

std::uint64_t ask_saved_registers() noexcept {
    return _xgetbv(0);
}

#else

Registers ask(std::uint32_t leaf) noexcept {
    Registers out;
    __cpuid_count(leaf, 0, out.a, out.b, out.c, out.d);
    return out;
}

std::uint64_t ask_saved_registers() noexcept {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low | std::uint64_t{high} << 32;
}

#endif

}  // namespace

CpuFacts read_cpu_facts() noexcept {
    CpuFacts facts;
    const std::uint32_t last = ask(0).a;
    if (last >= 1) {
        facts.features_c = ask(1).c;
    }
    if (last >= 7) {
        const Registers more = ask(7);
        facts.more_features_b = more.b;
        facts.more_features_c = more.c;
    }
    if (ask(0x80000000).a >= 0x80000001) {
        facts.extended_c = ask(0x80000001).c;
    }
    if ((facts.features_c & kOsXsave) != 0) {
        facts.saved_registers = ask_saved_registers();
    }
    return facts;
}

#else

CpuFacts read_cpu_facts() noexcept {
    return {};
}

#endif

}  // namespace tokenmill::simd
