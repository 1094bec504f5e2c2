// base/blob: a relocatable buffer of numbered sections, which a compiled model consists of.
// Layout: header, section table, sections aligned to 64 bytes, all little-endian.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "base/types.h"

namespace tokenmill {

struct BlobHeader {
    char magic[8];
    std::uint32_t layout_version;
    std::uint32_t section_count;
    std::uint64_t total_bytes;
};

struct BlobSection {
    std::uint32_t id;
    std::uint32_t element_bytes;
    std::uint64_t offset;
    std::uint64_t size_bytes;
};

constexpr char kBlobMagic[8] = {'T', 'M', 'B', 'L', 'O', 'B', '\r', '\n'};
constexpr std::uint32_t kBlobLayoutVersion = 4;
constexpr std::size_t kBlobAlign = 64;

class BlobWriter {
public:
    template <typename T>
    void add(std::uint32_t id, const std::vector<T>& values) {
        add_bytes(id, values.data(), values.size() * sizeof(T), sizeof(T));
    }
    template <typename T>
    void add_value(std::uint32_t id, const T& value) {
        add_bytes(id, &value, sizeof(T), sizeof(T));
    }
    void add_bytes(std::uint32_t id, const void* data, std::size_t size_bytes,
                   std::size_t element_bytes = 1);
    [[nodiscard]] std::vector<std::uint8_t> finish() const;

private:
    struct Entry {
        std::uint32_t id;
        std::uint32_t element_bytes;
        std::vector<std::uint8_t> bytes;
    };
    std::vector<Entry> entries_;
};

// A view; the buffer must outlive it. The constructor checks every section against the buffer.
class BlobReader {
public:
    BlobReader() = default;
    explicit BlobReader(Bytes buffer);

    [[nodiscard]] bool has(std::uint32_t id) const noexcept { return find(id) != nullptr; }

    // An absent section is an empty span; a section of another element size is an error.
    template <typename T>
    [[nodiscard]] std::span<const T> get(std::uint32_t id) const {
        static_assert(std::is_trivially_copyable_v<T>);
        const BlobSection* section = find(id);
        if (section == nullptr) {
            return {};
        }
        if (section->element_bytes != sizeof(T)) {
            throw Error(ErrorCode::CorruptModel,
                        "section " + std::to_string(id) + " has elements of the wrong size");
        }
        return {reinterpret_cast<const T*>(buffer_.data() + section->offset),
                static_cast<std::size_t>(section->size_bytes / sizeof(T))};
    }

    // A section that must hold exactly one value, or `count` values.
    template <typename T>
    [[nodiscard]] std::span<const T> need(std::uint32_t id, std::size_t count) const {
        const auto values = get<T>(id);
        if (values.size() != count) {
            throw Error(ErrorCode::CorruptModel, "section " + std::to_string(id) + " should hold " +
                                                     std::to_string(count) + " elements, got " +
                                                     std::to_string(values.size()));
        }
        return values;
    }

    [[nodiscard]] std::size_t size_bytes() const noexcept { return buffer_.size(); }
    [[nodiscard]] Bytes bytes() const noexcept { return buffer_; }

private:
    [[nodiscard]] const BlobSection* find(std::uint32_t id) const noexcept;

    Bytes buffer_;
    std::span<const BlobSection> sections_;
};

}  // namespace tokenmill
