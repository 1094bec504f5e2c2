// The models of the fuzz target: small ones compiled here, others from files.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "pipeline/pipeline.h"
#include "simd/target.h"

namespace tokenmill {
namespace {

// The first takes its large tables after some text, so that words move; the second starts with
// them.
constexpr pipeline::Tables kSmallTables = {.bits = {10, 10, 8, 8, 18, 12}, .small_until = 500};
constexpr pipeline::Tables kTinyTables = {.bits = {3, 3, 2, 1, 15, 7}, .small_until = 0};

// A compiled model on every target and with two sizes of tables; the first one is the plainest.
struct Family {
    std::string name;
    std::vector<PageBuffer> memory;
    std::vector<std::unique_ptr<pipeline::Model>> models;
    bool gives_text_back = false;  // decoding undoes encoding

    void add(const std::vector<std::uint8_t>& blob) {
        memory.emplace_back(blob.size());
        std::memcpy(memory.back().data(), blob.data(), blob.size());
        const Bytes bytes(memory.back().data(), blob.size());
        for (const simd::Target target : simd::supported_targets()) {
            setenv("TOKENMILL_TARGET", simd::name_of(target), 1);
            models.push_back(std::make_unique<pipeline::Model>(bytes, kSmallTables));
            models.push_back(std::make_unique<pipeline::Model>(bytes, kTinyTables));
        }
        unsetenv("TOKENMILL_TARGET");
    }
};

// Runs of word characters, runs of white space, anything else alone.
struct PlainSplit {
    static constexpr std::uint32_t kOther = 0, kWord = 1, kWhite = 2, kClasses = 3;
    std::vector<std::uint32_t> ranges = {0,  9,   kOther, 9,   14,  kWhite, 14,  32,       kOther,
                                         32, 33,  kWhite, 33,  48,  kOther, 48,  58,       kWord,
                                         58, 65,  kOther, 65,  91,  kWord,  91,  97,       kOther,
                                         97, 123, kWord,  123, 128, kOther, 128, 0x110000, kWord};
    std::vector<std::uint16_t> next;
    std::vector<std::uint8_t> sync = {1, 1, 1, 1, 0, 1, 1, 1, 0};

    PlainSplit() {
        constexpr std::uint16_t kEnd = split::kMatchHere;
        next = {0,    0,    0,    0,      // dead
                2,    3,    4,    0,      // start
                kEnd, kEnd, kEnd, kEnd,   // after another character
                kEnd, 3,    kEnd, kEnd,   // in a word
                kEnd, kEnd, 4,    kEnd};  // in white space
    }
    [[nodiscard]] split::StageInput stage() const {
        return {ranges, kClasses, next, sync, sync, true, true};
    }
};

// A vocabulary of bytes and growing tokens over a few letters, compiled here and now.
std::vector<std::uint8_t> compile_plain(bool ignore_merges) {
    std::vector<std::string> tokens;
    for (int byte = 0; byte < 256; ++byte) {
        tokens.emplace_back(1, static_cast<char>(byte));
    }
    for (const char* token : {"th",           "the",
                              " t",           " the",
                              "in",           "ing",
                              "  ",           "    ",
                              "aa",           "aaaa",
                              "aaaaaaaa",     "ab",
                              "aab",          "\xE4\xB8",
                              "\xE4\xB8\xAD", "\xE6\x96",
                              "\xE6\x96\x87", "\xE4\xB8\xAD\xE6\x96\x87",
                              "\x87\xE4",     "\xF0\x9F",
                              "\xF0\x9F\x98", "no merge makes this",
                              "abababab"}) {
        tokens.emplace_back(token);
    }
    std::vector<std::uint8_t> bytes;
    std::vector<std::uint64_t> offsets = {0};
    std::vector<std::uint32_t> ranks;
    for (const std::string& token : tokens) {
        bytes.insert(bytes.end(), token.begin(), token.end());
        offsets.push_back(bytes.size());
        ranks.push_back(static_cast<std::uint32_t>(ranks.size()));
    }
    const std::vector<std::uint8_t> matchable(tokens.size(), 1);
    const PlainSplit plain;
    pipeline::ModelInput input;
    input.vocab = {bytes, offsets, matchable, bytes, offsets, {}, ranks, ignore_merges};
    input.split.stages.push_back(plain.stage());
    return pipeline::compile_model(input);
}

std::vector<std::uint8_t> read_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<Family> load_families(const char* directory) {
    std::vector<Family> families(2);
    for (const bool ignore_merges : {false, true}) {
        Family& family = families[ignore_merges ? 1 : 0];
        family.name = ignore_merges ? "whole words" : "plain";
        family.gives_text_back = true;
        family.add(compile_plain(ignore_merges));
    }
    std::map<std::string, std::vector<std::filesystem::path>> files;
    if (directory != nullptr) {
        for (const auto& entry : std::filesystem::directory_iterator(directory)) {
            files[entry.path().stem().string()].push_back(entry.path());
        }
    }
    for (auto& [name, paths] : files) {
        std::sort(paths.rbegin(), paths.rend());  // X.plain before X.native
        families.emplace_back().name = name;
        for (const auto& path : paths) {
            families.back().add(read_file(path));
        }
    }
    return families;
}

}  // namespace
}  // namespace tokenmill
