// The layout (docs/develop/decisions/0003), numbers in little-endian order:
//
//   0    magic          8 bytes
//   8    version        4
//   12   flags          4    1: the compressed form
//   16   size           8    of what follows the header
//   24   checksum       8    XXH3 of 64 bits of the file without these bytes
//   32   byte order     4    01020304 as the machine writes it that compiled the model
//   36   reserved       28   zeros
//   4096 the model           zeros before it; the compressed form begins at 64
#include "model_file.h"

#include <algorithm>
#include <cstring>

#include "errors.h"
#include "pack/pack.h"

namespace tokenmill::capi {

namespace {

constexpr std::uint8_t kMagic[8] = {0x89, 'M', 'I', 'L', 'L', '\r', '\n', 0x1A};
constexpr std::uint32_t kFormatVersion = 6;
constexpr std::uint32_t kCompressed = 1;
constexpr std::size_t kHeader = 64;
constexpr std::size_t kChecksumBegin = 24;
constexpr std::size_t kChecksumEnd = 32;
constexpr std::size_t kByteOrder = 32;
constexpr std::size_t kReserved = 36;
constexpr std::uint32_t kOrderMark = 0x01020304;
constexpr const char* kRebuild = "; hint: compile it again from the tokenizer it was made of";

std::uint64_t number_at(Bytes file, std::size_t at, std::size_t size) noexcept {
    std::uint64_t value = 0;
    for (std::size_t i = size; i > 0; --i) {
        value = value << 8 | file[at + i - 1];
    }
    return value;
}

// Of 64 bits: for more than 240 bytes, which a page is, that is the low half of the 128.
std::uint64_t checksum_of(Bytes head, Bytes rest) noexcept {
    pack::Checksum checksum;
    checksum.update(head.first(kChecksumBegin));
    checksum.update(head.subspan(kChecksumEnd));
    checksum.update(rest);
    return checksum.digest().second;
}

[[noreturn]] void refuse(const std::string& source, const std::string& problem,
                         const std::string& hint = kRebuild) {
    throw CallError(TOKENMILL_CORRUPT_MODEL, source + ": " + problem + hint);
}

void check_size(Bytes file, std::size_t begin, const std::string& source) {
    const std::uint64_t size = number_at(file, 16, 8);
    if (file.size() < begin || file.size() - begin != size) {
        refuse(source, "expected " + std::to_string(begin) + " + " + std::to_string(size) +
                           " bytes, got " + std::to_string(file.size()) +
                           ": cut short, or added to");
    }
}

}  // namespace

Bytes payload_of(Bytes file, const std::string& source) {
    if (file.size() < kHeader || std::memcmp(file.data(), kMagic, sizeof(kMagic)) != 0) {
        refuse(source, file.empty() ? "the file is empty"
                                    : "not a compiled model: the first bytes are others");
    }
    const auto version = static_cast<std::uint32_t>(number_at(file, 8, 4));
    const auto flags = static_cast<std::uint32_t>(number_at(file, 12, 4));
    if (version > kFormatVersion) {
        refuse(source,
               "format version " + std::to_string(version) + ", this tokenmill reads " +
                   std::to_string(kFormatVersion),
               std::string("; hint: upgrade tokenmill, or") + (kRebuild + 7));
    }
    const bool is_compressed = (flags & kCompressed) != 0;
    check_size(file, is_compressed ? kHeader : kModelPage, source);
    const bool is_checked = file.size() > kHeader + pack::Checksum::kShort;  // all but toys
    if (is_checked && checksum_of(file.first(kHeader), file.subspan(kHeader)) !=
                          number_at(file, kChecksumBegin, 8)) {
        refuse(source, "the checksum is wrong: the file is damaged");
    }
    std::uint32_t order = 0;
    std::memcpy(&order, file.data() + kByteOrder, sizeof(order));
    if (order != kOrderMark) {
        refuse(source, "written on a machine of the other byte order");
    }
    const Bytes reserved = file.subspan(kReserved, kHeader - kReserved);
    const auto is_zero = [](std::uint8_t byte) { return byte == 0; };
    if (version != kFormatVersion || (flags & ~kCompressed) != 0 ||
        !std::ranges::all_of(reserved, is_zero)) {
        refuse(source,
               "unknown version " + std::to_string(version) + " or flags " + std::to_string(flags));
    }
    if (is_compressed) {
        throw CallError(TOKENMILL_UNSUPPORTED,
                        source +
                            ": the compressed form of a tokenizer, which only the Python "
                            "package can compile; hint: run `tokenmill compile` on the "
                            "tokenizer without --compress");
    }
    return file.subspan(kModelPage);
}

std::vector<std::uint8_t> header_of(Bytes payload) {
    std::vector<std::uint8_t> page(kModelPage);
    const auto put = [&](std::size_t at, std::uint64_t value, std::size_t size) {
        for (std::size_t i = 0; i < size; ++i) {
            page[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
        }
    };
    std::copy(std::begin(kMagic), std::end(kMagic), page.begin());
    put(8, kFormatVersion, 4);
    put(16, payload.size(), 8);
    std::memcpy(page.data() + kByteOrder, &kOrderMark, sizeof(kOrderMark));
    put(kChecksumBegin, checksum_of(page, payload), 8);
    return page;
}

}  // namespace tokenmill::capi
