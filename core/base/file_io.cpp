#include "base/file_io.h"

#include <algorithm>
#include <cerrno>

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <io.h>
#include <windows.h>
#else
#include <unistd.h>
#endif

namespace tokenmill {

namespace {

#if defined(_WIN32)

constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // their sizes have 32 bits

std::ptrdiff_t read_once(int file, std::uint8_t* out, std::size_t size, std::int64_t place) {
    const auto handle = reinterpret_cast<HANDLE>(_get_osfhandle(file));
    OVERLAPPED at{};
    at.Offset = static_cast<DWORD>(place & 0xFFFFFFFF);
    at.OffsetHigh = static_cast<DWORD>(place >> 32);
    DWORD got = 0;
    const auto wanted = static_cast<DWORD>(std::min(size, kMostAtOnce));
    if (ReadFile(handle, out, wanted, &got, &at) == 0 && GetLastError() != ERROR_HANDLE_EOF) {
        errno = EIO;
        return -1;
    }
    return static_cast<std::ptrdiff_t>(got);
}

std::ptrdiff_t write_once(int file, const std::uint8_t* data, std::size_t size) {
    return _write(file, data, static_cast<unsigned>(std::min(size, kMostAtOnce)));
}

#else

std::ptrdiff_t read_once(int file, std::uint8_t* out, std::size_t size, std::int64_t place) {
    return pread(file, out, size, static_cast<off_t>(place));
}

std::ptrdiff_t write_once(int file, const std::uint8_t* data, std::size_t size) {
    return write(file, data, size);
}

#endif

}  // namespace

int read_some_at(int file, std::uint8_t* out, std::size_t size, std::int64_t place,
                 std::size_t& got) {
    got = 0;
    while (got < size) {
        const std::ptrdiff_t some =
            read_once(file, out + got, size - got, place + static_cast<std::int64_t>(got));
        if (some < 0 && errno == EINTR) {
            continue;
        }
        if (some < 0) {
            return errno;
        }
        if (some == 0) {
            break;
        }
        got += static_cast<std::size_t>(some);
    }
    return 0;
}

int read_at(int file, std::uint8_t* out, std::size_t size, std::int64_t place) {
    std::size_t got = 0;
    const int error = read_some_at(file, out, size, place, got);
    return error == 0 && got < size ? kFileEnds : error;
}

int write_all(int file, Bytes data) {
    while (!data.empty()) {
        const std::ptrdiff_t written = write_once(file, data.data(), data.size());
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written < 0) {
            return errno;
        }
        data = data.subspan(static_cast<std::size_t>(written));
    }
    return 0;
}

}  // namespace tokenmill
