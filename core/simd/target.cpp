#include "simd/target.h"

#include <cstdlib>

#include "base/error.h"
#include "base/platform.h"
#include "simd/cpu.h"

namespace tokenmill::simd {

const char* name_of(Target target) noexcept {
    switch (target) {
        case Target::Scalar:
            return "scalar";
        case Target::Avx2:
            return "avx2";
        case Target::Avx512:
            return "avx512";
        case Target::Neon:
            return "neon";
        case Target::Simd128:
            return "simd128";
    }
    return "unknown";
}

std::vector<Target> supported_targets() {
    std::vector<Target> targets = {Target::Scalar};
    if (TOKENMILL_AARCH64 != 0) {  // every such processor has NEON
        targets.push_back(Target::Neon);
    }
    if (TOKENMILL_SIMD128 != 0) {
        targets.push_back(Target::Simd128);
    }
    const CpuTargets cpu = targets_of(read_cpu_facts());
    if (cpu.avx2) {
        targets.push_back(Target::Avx2);
    }
    if (cpu.avx512) {
        targets.push_back(Target::Avx512);
    }
    return targets;
}

Target chosen_target() {
    const auto targets = supported_targets();
    const char* wanted = std::getenv("TOKENMILL_TARGET");
    if (wanted == nullptr || *wanted == '\0') {
        return targets.back();
    }
    std::string known;
    for (const Target target : targets) {
        if (std::string(wanted) == name_of(target)) {
            return target;
        }
        known += known.empty() ? "" : ", ";
        known += name_of(target);
    }
    throw Error(ErrorCode::BadSpec, std::string("TOKENMILL_TARGET: expected one of ") + known +
                                        " on this CPU, got " + wanted);
}

}  // namespace tokenmill::simd
