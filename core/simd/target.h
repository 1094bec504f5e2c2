// simd/target: which instruction sets this CPU has, and which one is used. Chosen once per process.
#pragma once

#include <string>
#include <vector>

namespace tokenmill::simd {

enum class Target { Scalar, Avx2, Avx512, Neon, Simd128 };

[[nodiscard]] const char* name_of(Target target) noexcept;
// Every target that this CPU can run, the plainest first.
[[nodiscard]] std::vector<Target> supported_targets();
// The best supported target, or the one that TOKENMILL_TARGET names.
// Throws Error(BadSpec) if that name is unknown or this CPU does not have it.
[[nodiscard]] Target chosen_target();

}  // namespace tokenmill::simd
