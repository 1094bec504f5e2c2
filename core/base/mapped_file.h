// base/mapped_file: the bytes of a file, as the system shares them between processes.
#pragma once

#include "base/types.h"

namespace tokenmill {

// Read-only, at an address that is aligned to pages. If another process cuts the
// file short meanwhile, the next read after its new end kills this one, as with every mapping.
class MappedFile {
public:
    // `path` is UTF-8. Throws std::system_error if the file cannot be opened, read or mapped; where
    // the system has no files at all, that is always so.
    explicit MappedFile(const char* path);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    [[nodiscard]] Bytes bytes() const noexcept { return bytes_; }

private:
    Bytes bytes_;
};

}  // namespace tokenmill
