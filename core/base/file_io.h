// base/file_io: reading and writing open files whole. Files are the numbers that the C library of
// the process gives them, which is what Python has too.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/types.h"

namespace tokenmill {

constexpr int kFileEnds = -1;

// Reads `size` bytes from `place` on. The file's own position does not matter and stays; Windows
// moves it. 0, the error of the system, or kFileEnds if the file ends before the last byte.
[[nodiscard]] int read_at(int file, std::uint8_t* out, std::size_t size, std::int64_t place);

// Reads at most `size` bytes from `place` on, fewer only at the end of the file. 0 or the error of
// the system; `got` is what was read.
[[nodiscard]] int read_some_at(int file, std::uint8_t* out, std::size_t size, std::int64_t place,
                               std::size_t& got);

// Writes all of `data` at the file's own position. 0, or the error of the system.
[[nodiscard]] int write_all(int file, Bytes data);

}  // namespace tokenmill
