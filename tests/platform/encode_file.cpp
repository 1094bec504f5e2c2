// Encodes documents with a compiled model on the target that TOKENMILL_TARGET names, and writes the
// ids to a file: for machines without Python.
//
//   encode_file MODEL DOCUMENTS IDS [--threads N] [--passes N]
//
// MODEL is a .mill file. DOCUMENTS holds numbers of 64 bits, little-endian: how many documents, and
// the size of each in bytes; then their texts. IDS gets the number of documents, one more offset
// than that, and the ids as numbers of 32 bits. Passes after the first give the same ids again and
// are there to be counted.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/error.h"
#include "pipeline/pipeline.h"

namespace tokenmill {
namespace {

constexpr std::size_t kHeader = 4096;  // of a .mill file; the compiled model follows

std::string read_file(const char* path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    std::string content(file ? static_cast<std::size_t>(file.tellg()) : 0, '\0');
    file.seekg(0);
    if (!file.read(content.data(), static_cast<std::streamsize>(content.size()))) {
        throw std::runtime_error(std::string(path) + ": cannot be read");
    }
    return content;
}

// The texts of a file of documents, borrowed from it.
std::vector<pipeline::Text> texts_of(const std::string& file, const char* path) {
    const auto number = [&](std::size_t i) {
        std::uint64_t value = 0;
        if ((i + 1) * 8 > file.size()) {
            throw std::runtime_error(std::string(path) + ": ends in its header");
        }
        std::memcpy(&value, file.data() + i * 8, 8);
        return static_cast<std::size_t>(value);
    };
    const std::size_t count = number(0);
    std::vector<pipeline::Text> texts;
    std::size_t at = 8 * (count + 1);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t size = number(i + 1);
        if (at + size > file.size()) {
            throw std::runtime_error(std::string(path) + ": ends in document " + std::to_string(i));
        }
        texts.push_back({file.data() + at, size, pipeline::Text::Encoding::Utf8});
        at += size;
    }
    return texts;
}

void write_ids(const pipeline::Encoded& encoded, const char* path) {
    std::ofstream out(path, std::ios::binary);
    const std::uint64_t count = encoded.documents;
    out.write(reinterpret_cast<const char*>(&count), 8);
    out.write(reinterpret_cast<const char*>(encoded.offsets.get()),
              static_cast<std::streamsize>(8 * (count + 1)));
    out.write(reinterpret_cast<const char*>(encoded.memory.ids.as<TokenId>()),
              static_cast<std::streamsize>(sizeof(TokenId) * encoded.count));
    if (!out.flush()) {
        throw std::runtime_error(std::string(path) + ": cannot be written");
    }
}

void run(const char* const* paths, unsigned threads, unsigned passes) {
    const std::string file = read_file(paths[0]);
    if (file.size() <= kHeader) {
        throw std::runtime_error(std::string(paths[0]) + ": not a compiled model");
    }
    PageBuffer blob(file.size() - kHeader);
    std::memcpy(blob.data(), file.data() + kHeader, file.size() - kHeader);
    const pipeline::Model model({blob.data(), file.size() - kHeader}, pipeline::Tables{});
    const std::string documents = read_file(paths[1]);
    const std::vector<pipeline::Text> texts = texts_of(documents, paths[1]);
    pipeline::Options options;
    options.threads = threads;
    for (unsigned pass = 1; pass < passes; ++pass) {
        static_cast<void>(model.encode_batch(texts, options, {}));
    }
    write_ids(model.encode_batch(texts, options, {}), paths[2]);
    std::printf("%s\n", simd::name_of(model.target()));
}

}  // namespace
}  // namespace tokenmill

int main(int argc, char** argv) {
    unsigned threads = 1;
    unsigned passes = 1;
    std::vector<const char*> paths;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const bool has_value = i + 1 < argc;
        if (word == "--threads" && has_value) {
            threads = static_cast<unsigned>(std::atoi(argv[++i]));
        } else if (word == "--passes" && has_value) {
            passes = static_cast<unsigned>(std::atoi(argv[++i]));
        } else {
            paths.push_back(argv[i]);
        }
    }
    if (paths.size() != 3) {
        std::fprintf(stderr, "usage: encode_file MODEL DOCUMENTS IDS [--threads N] [--passes N]\n");
        return 2;
    }
    try {
        tokenmill::run(paths.data(), threads, passes);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "encode_file: %s\n", error.what());
        return 1;
    }
    return 0;
}
