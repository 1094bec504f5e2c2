// pack: the checksum of a file that is written in pieces: XXH3 of 128 bits, seed 0.
#include <algorithm>
#include <cstring>

#include "base/platform.h"
#include "pack/pack.h"

namespace tokenmill::pack {

namespace {

constexpr std::uint64_t kPrime32[] = {0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D};
constexpr std::uint64_t kPrime64[] = {0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9,
                                      0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5};
constexpr std::size_t kStripe = 64;  // bytes that all lanes take at once
constexpr std::size_t kSecretStep = 8;

// The algorithm's constant, from which every stripe of a block takes another part.
// clang-format off
constexpr std::uint8_t kSecret[192] = {
    0xB8, 0xFE, 0x6C, 0x39, 0x23, 0xA4, 0x4B, 0xBE, 0x7C, 0x01, 0x81, 0x2C, 0xF7, 0x21, 0xAD, 0x1C,
    0xDE, 0xD4, 0x6D, 0xE9, 0x83, 0x90, 0x97, 0xDB, 0x72, 0x40, 0xA4, 0xA4, 0xB7, 0xB3, 0x67, 0x1F,
    0xCB, 0x79, 0xE6, 0x4E, 0xCC, 0xC0, 0xE5, 0x78, 0x82, 0x5A, 0xD0, 0x7D, 0xCC, 0xFF, 0x72, 0x21,
    0xB8, 0x08, 0x46, 0x74, 0xF7, 0x43, 0x24, 0x8E, 0xE0, 0x35, 0x90, 0xE6, 0x81, 0x3A, 0x26, 0x4C,
    0x3C, 0x28, 0x52, 0xBB, 0x91, 0xC3, 0x00, 0xCB, 0x88, 0xD0, 0x65, 0x8B, 0x1B, 0x53, 0x2E, 0xA3,
    0x71, 0x64, 0x48, 0x97, 0xA2, 0x0D, 0xF9, 0x4E, 0x38, 0x19, 0xEF, 0x46, 0xA9, 0xDE, 0xAC, 0xD8,
    0xA8, 0xFA, 0x76, 0x3F, 0xE3, 0x9C, 0x34, 0x3F, 0xF9, 0xDC, 0xBB, 0xC7, 0xC7, 0x0B, 0x4F, 0x1D,
    0x8A, 0x51, 0xE0, 0x4B, 0xCD, 0xB4, 0x59, 0x31, 0xC8, 0x9F, 0x7E, 0xC9, 0xD9, 0x78, 0x73, 0x64,
    0xEA, 0xC5, 0xAC, 0x83, 0x34, 0xD3, 0xEB, 0xC3, 0xC5, 0x81, 0xA0, 0xFF, 0xFA, 0x13, 0x63, 0xEB,
    0x17, 0x0D, 0xDD, 0x51, 0xB7, 0xF0, 0xDA, 0x49, 0xD3, 0x16, 0x55, 0x26, 0x29, 0xD4, 0x68, 0x9E,
    0x2B, 0x16, 0xBE, 0x58, 0x7D, 0x47, 0xA1, 0xFC, 0x8F, 0xF8, 0xB8, 0xD1, 0x7A, 0xD0, 0x31, 0xCE,
    0x45, 0xCB, 0x3A, 0x8F, 0x95, 0x16, 0x04, 0x28, 0xAF, 0xD7, 0xFB, 0xCA, 0xBB, 0x4B, 0x40, 0x7E,
};
// clang-format on
constexpr std::size_t kLastSecret = sizeof(kSecret) - kStripe;

std::uint64_t word(const std::uint8_t* from) noexcept {
    std::uint64_t value;
    std::memcpy(&value, from, sizeof(value));
    return value;
}

void add_stripe(std::uint64_t* lanes, const std::uint8_t* data,
                const std::uint8_t* secret) noexcept {
    for (std::size_t i = 0; i < 8; ++i) {
        const std::uint64_t value = word(data + 8 * i);
        const std::uint64_t keyed = value ^ word(secret + 8 * i);
        lanes[i ^ 1] += value;
        lanes[i] += (keyed & 0xFFFFFFFF) * (keyed >> 32);
    }
}

void add_block(std::uint64_t* lanes, const std::uint8_t* data) noexcept {
    for (std::size_t i = 0; i < Checksum::kBlock / kStripe; ++i) {
        add_stripe(lanes, data + kStripe * i, kSecret + kSecretStep * i);
    }
    for (std::size_t i = 0; i < 8; ++i) {
        const std::uint64_t mixed =
            lanes[i] ^ (lanes[i] >> 47) ^ word(kSecret + kLastSecret + 8 * i);
        lanes[i] = mixed * kPrime32[0];
    }
}

std::uint64_t merged(const std::uint64_t* lanes, const std::uint8_t* secret,
                     std::uint64_t start) noexcept {
    std::uint64_t sum = start;
    for (std::size_t i = 0; i < 8; i += 2) {
        const Product128 product =
            multiply_128(lanes[i] ^ word(secret + 8 * i), lanes[i + 1] ^ word(secret + 8 * i + 8));
        sum += product.low ^ product.high;
    }
    sum = (sum ^ (sum >> 37)) * 0x165667919E3779F9;
    return sum ^ (sum >> 32);
}

}  // namespace

Checksum::Checksum() noexcept
    : lanes_{kPrime32[2], kPrime64[0], kPrime64[1], kPrime64[2],
             kPrime64[3], kPrime32[1], kPrime64[4], kPrime32[0]} {}

// A block is added when it is known that more follows: the last one is treated differently.
void Checksum::update(Bytes data) noexcept {
    size_ += data.size();
    while (!data.empty()) {
        if (waiting_ == kBlock) {
            add_block(lanes_, held_ + kStripe);
            std::memcpy(held_, held_ + kBlock, kStripe);
            waiting_ = 0;
        }
        if (waiting_ == 0 && data.size() > kBlock) {
            const std::size_t blocks = (data.size() - 1) / kBlock;
            for (std::size_t i = 0; i < blocks; ++i) {
                add_block(lanes_, data.data() + kBlock * i);
            }
            std::memcpy(held_, data.data() + kBlock * blocks - kStripe, kStripe);
            data = data.subspan(kBlock * blocks);
        }
        const std::size_t taken = std::min(kBlock - waiting_, data.size());
        std::memcpy(held_ + kStripe + waiting_, data.data(), taken);
        waiting_ += taken;
        data = data.subspan(taken);
    }
}

std::pair<std::uint64_t, std::uint64_t> Checksum::digest() const noexcept {
    std::uint64_t lanes[8];
    std::copy(std::begin(lanes_), std::end(lanes_), lanes);
    const std::uint8_t* data = held_ + kStripe;
    for (std::size_t i = 0; i < (waiting_ - 1) / kStripe; ++i) {
        add_stripe(lanes, data + kStripe * i, kSecret + kSecretStep * i);
    }
    // The last 64 bytes, some of which may have been added before.
    add_stripe(lanes, data + waiting_ - kStripe, kSecret + kLastSecret - 7);
    return {merged(lanes, kSecret + kLastSecret - 11, ~(size_ * kPrime64[1])),
            merged(lanes, kSecret + 11, size_ * kPrime64[0])};
}

}  // namespace tokenmill::pack
