#include "base/blob.h"

namespace tokenmill {

namespace {

std::size_t align_up(std::size_t value) {
    return (value + kBlobAlign - 1) / kBlobAlign * kBlobAlign;
}

[[noreturn]] void corrupt(const std::string& problem) {
    throw Error(ErrorCode::CorruptModel, "compiled model: " + problem);
}

}  // namespace

void BlobWriter::add_bytes(std::uint32_t id, const void* data, std::size_t size_bytes,
                           std::size_t element_bytes) {
    Entry entry{id, static_cast<std::uint32_t>(element_bytes), {}};
    entry.bytes.resize(size_bytes);
    if (size_bytes != 0) {
        std::memcpy(entry.bytes.data(), data, size_bytes);
    }
    entries_.push_back(std::move(entry));
}

std::vector<std::uint8_t> BlobWriter::finish() const {
    std::vector<BlobSection> table;
    std::size_t at = align_up(sizeof(BlobHeader) + entries_.size() * sizeof(BlobSection));
    for (const Entry& entry : entries_) {
        table.push_back({entry.id, entry.element_bytes, at, entry.bytes.size()});
        at = align_up(at + entry.bytes.size());
    }
    std::vector<std::uint8_t> out(at, 0);
    BlobHeader header{};
    std::memcpy(header.magic, kBlobMagic, sizeof(kBlobMagic));
    header.layout_version = kBlobLayoutVersion;
    header.section_count = static_cast<std::uint32_t>(entries_.size());
    header.total_bytes = at;
    std::memcpy(out.data(), &header, sizeof(header));
    std::memcpy(out.data() + sizeof(header), table.data(), table.size() * sizeof(BlobSection));
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        if (!entries_[i].bytes.empty()) {
            std::memcpy(out.data() + table[i].offset, entries_[i].bytes.data(),
                        entries_[i].bytes.size());
        }
    }
    return out;
}

BlobReader::BlobReader(Bytes buffer) : buffer_(buffer) {
    BlobHeader header{};
    if (buffer.size() < sizeof(header)) {
        corrupt("too short for a header, got " + std::to_string(buffer.size()) + " bytes");
    }
    std::memcpy(&header, buffer.data(), sizeof(header));
    if (std::memcmp(header.magic, kBlobMagic, sizeof(kBlobMagic)) != 0) {
        corrupt("not a compiled model, the first bytes differ");
    }
    if (header.layout_version != kBlobLayoutVersion) {
        corrupt("layout version " + std::to_string(header.layout_version) + ", this build reads " +
                std::to_string(kBlobLayoutVersion));
    }
    if (header.total_bytes != buffer.size()) {
        corrupt("should have " + std::to_string(header.total_bytes) + " bytes, got " +
                std::to_string(buffer.size()));
    }
    const std::size_t room = (buffer.size() - sizeof(header)) / sizeof(BlobSection);
    if (header.section_count > room ||
        reinterpret_cast<std::uintptr_t>(buffer.data()) % kBlobAlign != 0) {
        corrupt("section table out of bounds or buffer not aligned to 64 bytes");
    }
    sections_ = {reinterpret_cast<const BlobSection*>(buffer.data() + sizeof(header)),
                 header.section_count};
    for (const BlobSection& section : sections_) {
        if (section.offset % kBlobAlign != 0 || section.offset > buffer.size() ||
            section.size_bytes > buffer.size() - section.offset || section.element_bytes == 0 ||
            section.size_bytes % section.element_bytes != 0) {
            corrupt("section " + std::to_string(section.id) + " out of bounds");
        }
    }
}

const BlobSection* BlobReader::find(std::uint32_t id) const noexcept {
    for (const BlobSection& section : sections_) {
        if (section.id == id) {
            return &section;
        }
    }
    return nullptr;
}

}  // namespace tokenmill
