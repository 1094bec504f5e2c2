// simd/cpu: what an x86-64 processor says that it can do, and which targets that is enough for.
#pragma once

#include <cstdint>

namespace tokenmill::simd {

// Answers of the instructions cpuid and xgetbv. A bit that means nothing to us is not looked at.
struct CpuFacts {
    std::uint32_t features_c = 0;       // leaf 1, ecx
    std::uint32_t more_features_b = 0;  // leaf 7, ebx
    std::uint32_t more_features_c = 0;  // leaf 7, ecx
    std::uint32_t extended_c = 0;       // leaf 80000001, ecx
    std::uint64_t saved_registers = 0;  // xgetbv(0): what the system keeps when it switches threads
};

struct CpuTargets {
    bool avx2 = false;
    bool avx512 = false;
};

// A processor may have instructions whose registers the system does not save: a hypervisor that
// passes on the bits of AVX-512 but not the state, for example. They must not be used then.
[[nodiscard]] CpuTargets targets_of(const CpuFacts& facts) noexcept;

// Of this machine. Nothing is set on other processors than x86-64.
[[nodiscard]] CpuFacts read_cpu_facts() noexcept;

}  // namespace tokenmill::simd
