#include "base/mapped_file.h"

#include <cerrno>
#include <string>
#include <system_error>

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>
#elif !defined(__wasm__)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace tokenmill {

#if defined(_WIN32)

namespace {

class Handle {
public:
    explicit Handle(HANDLE handle) noexcept : handle_(handle) {}
    ~Handle() { CloseHandle(handle_); }
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    [[nodiscard]] HANDLE get() const noexcept { return handle_; }

private:
    HANDLE handle_;
};

[[noreturn]] void fail(const char* path) {
    throw std::system_error(static_cast<int>(GetLastError()), std::system_category(), path);
}

std::wstring wide(const char* path) {
    const int size = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, nullptr, 0);
    if (size == 0) {
        fail(path);
    }
    std::wstring text(static_cast<std::size_t>(size), L'\0');
    MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, text.data(), size);
    text.pop_back();  // the zero at the end
    return text;
}

}  // namespace

MappedFile::MappedFile(const char* path) {
    constexpr DWORD kShare = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
    HANDLE opened = CreateFileW(wide(path).c_str(), GENERIC_READ, kShare, nullptr, OPEN_EXISTING,
                                FILE_ATTRIBUTE_NORMAL, nullptr);
    if (opened == INVALID_HANDLE_VALUE) {
        fail(path);
    }
    const Handle file(opened);
    LARGE_INTEGER size;
    if (GetFileSizeEx(file.get(), &size) == 0) {
        fail(path);
    }
    if (size.QuadPart == 0) {
        return;  // there is no mapping of nothing
    }
    HANDLE mapped = CreateFileMappingW(file.get(), nullptr, PAGE_READONLY, 0, 0, nullptr);
    if (mapped == nullptr) {
        fail(path);
    }
    const Handle mapping(mapped);
    const void* const begin = MapViewOfFile(mapping.get(), FILE_MAP_READ, 0, 0, 0);
    if (begin == nullptr) {
        fail(path);
    }
    bytes_ = {static_cast<const std::uint8_t*>(begin), static_cast<std::size_t>(size.QuadPart)};
}

MappedFile::~MappedFile() {
    if (bytes_.data() != nullptr) {
        UnmapViewOfFile(bytes_.data());
    }
}

#elif defined(__wasm__)

MappedFile::MappedFile(const char* path) {
    throw std::system_error(std::make_error_code(std::errc::function_not_supported), path);
}

MappedFile::~MappedFile() = default;

#else

namespace {

class Descriptor {
public:
    explicit Descriptor(int file) noexcept : file_(file) {}
    ~Descriptor() { close(file_); }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    [[nodiscard]] int get() const noexcept { return file_; }

private:
    int file_;
};

[[noreturn]] void fail(const char* path) {
    throw std::system_error(errno, std::generic_category(), path);
}

}  // namespace

MappedFile::MappedFile(const char* path) {
    const int opened = open(path, O_RDONLY | O_CLOEXEC);
    if (opened < 0) {
        fail(path);
    }
    const Descriptor file(opened);
    struct stat facts{};
    if (fstat(file.get(), &facts) != 0) {
        fail(path);
    }
    if (S_ISDIR(facts.st_mode)) {
        errno = EISDIR;
        fail(path);
    }
    const auto size = static_cast<std::size_t>(facts.st_size);
    if (size == 0) {
        return;  // there is no mapping of nothing
    }
    const void* const begin = mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
    if (begin == MAP_FAILED) {
        fail(path);
    }
    bytes_ = {static_cast<const std::uint8_t*>(begin), size};
}

MappedFile::~MappedFile() {
    if (bytes_.data() != nullptr) {
        munmap(const_cast<std::uint8_t*>(bytes_.data()), bytes_.size());
    }
}

#endif

}  // namespace tokenmill
