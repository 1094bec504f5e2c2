// record: an entry <-> bytes for a tier outside of this process.
#include "cache/record.h"

#include <algorithm>
#include <cstring>

#include "cache/packed.h"

namespace tokenmill::cache {

namespace {

struct Header {
    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t bits;
    std::uint64_t flags;
    std::uint64_t text_size;
    std::uint64_t id_count;
    std::uint64_t reserved;
    Hash128 model;
    Hash128 checksum;
};
constexpr std::uint64_t kMagic = 0x0A0D47455354494DULL;
constexpr std::uint32_t kVersion = 1;

Hash128 checksum_of(Header header, Bytes body) noexcept {
    header.checksum = {};
    std::uint8_t raw[sizeof(Header)];
    std::memcpy(raw, &header, sizeof(header));
    const HashKey key;
    return key.hash(body, key.hash(raw));
}

// Sizes first: they come from outside, and everything after them is read by them.
bool has_sizes(const Header& header, std::size_t body) noexcept {
    if (header.magic != kMagic || header.version != kVersion || header.reserved != 0 ||
        header.bits == 0 || header.bits > kMostBits || header.text_size > body) {
        return false;
    }
    constexpr std::size_t kMostIds = ~std::size_t{0} / kMostBits;  // more would not fit in memory
    const std::uint64_t rest = body - header.text_size;
    return header.id_count <= rest * 8 && header.id_count <= kMostIds &&
           packed_bytes(static_cast<std::size_t>(header.id_count), header.bits) == rest;
}

}  // namespace

std::vector<std::uint8_t> write_record(const SegmentEntry& entry) {
    const SegmentKey key = entry.key();
    const Bytes packed = entry.packed();
    std::vector<std::uint8_t> out(sizeof(Header) + key.text.size() + packed.size());
    const auto body = out.begin() + sizeof(Header);
    std::copy(key.text.begin(), key.text.end(), body);
    std::copy(packed.begin(), packed.end(), body + static_cast<std::ptrdiff_t>(key.text.size()));
    Header header{kMagic,           kVersion, entry.bits(), key.flags, key.text.size(),
                  entry.id_count(), 0,        key.model,    {}};
    header.checksum = checksum_of(header, Bytes(out).subspan(sizeof(Header)));
    std::memcpy(out.data(), &header, sizeof(header));
    return out;
}

bool check_record(Bytes record) noexcept {
    Header header{};
    if (record.size() < sizeof(header)) {
        return false;
    }
    std::memcpy(&header, record.data(), sizeof(header));
    const Bytes body = record.subspan(sizeof(header));
    return has_sizes(header, body.size()) && checksum_of(header, body) == header.checksum;
}

ReadRecord read_record(Bytes record, const SegmentKey& key, TokenId max_id,
                       std::uint64_t generation) {
    ReadRecord damaged{nullptr, RecordFault::Damaged};
    if (!check_record(record)) {
        return damaged;
    }
    Header header{};
    std::memcpy(&header, record.data(), sizeof(header));
    const Bytes body = record.subspan(sizeof(header));
    const Bytes text = body.first(static_cast<std::size_t>(header.text_size));
    if (header.flags != key.flags || header.model != key.model || text.size() != key.text.size() ||
        !std::equal(text.begin(), text.end(), key.text.begin())) {
        return {nullptr, RecordFault::Other};
    }
    auto entry = std::make_shared<const SegmentEntry>(key, body.subspan(text.size()),
                                                      header.id_count, header.bits, generation);
    std::vector<TokenId> ids(static_cast<std::size_t>(header.id_count) + 8);
    entry->unpack(ids.data());
    if (std::any_of(ids.begin(), ids.end() - 8, [&](TokenId id) { return id > max_id; })) {
        return damaged;
    }
    return {std::move(entry), RecordFault::None};
}

}  // namespace tokenmill::cache
