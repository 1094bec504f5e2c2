// base/device: fixed-width names and one function marker, which is all that a freestanding header
// may use. Such a header compiles as C++17 for a device as well as for the host.
#pragma once

#if defined(__CUDACC_RTC__)
using TmU8 = unsigned char;
using TmU16 = unsigned short;
using TmU32 = unsigned int;
using TmU64 = unsigned long long;
#else
#include <cstdint>
using TmU8 = std::uint8_t;
using TmU16 = std::uint16_t;
using TmU32 = std::uint32_t;
using TmU64 = std::uint64_t;
#endif

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define TOKENMILL_HD __host__ __device__ inline
#else
#define TOKENMILL_HD inline
#endif
