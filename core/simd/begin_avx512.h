// Opens the AVX-512 target region (Ice Lake and Zen 4 on: VBMI and VBMI2 are needed).
#if defined(__clang__)
#pragma clang attribute push(                                                                      \
    __attribute__((target(                                                                         \
        "avx2,bmi,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2"))), \
    apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target( \
    "avx2,bmi,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2")
#endif
