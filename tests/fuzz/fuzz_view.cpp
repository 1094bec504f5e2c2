// Damaged models: numbers of the vocabulary's sections are replaced, and every text must then give
// ids or an error. Built with sanitizers, it finds numbers that are followed without a check: the
// model lies in memory of exactly its size.
//
//   fuzz_view --models DIR [--rounds N] [--seed N]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "base/blob.h"
#include "pipeline/pipeline.h"
#include "vocab/vocab.h"

#if defined(__SANITIZE_ADDRESS__)
extern "C" void __sanitizer_set_death_callback(void (*callback)());
#endif

namespace tokenmill {
namespace {

using Blob = std::vector<std::uint8_t>;

unsigned long long current_seed = 0;
std::uint32_t current_section = 0;

void print_seed() {
    std::fprintf(stderr, "fuzz_view: --seed %llu repeats it; section %u is damaged\n", current_seed,
                 current_section);
}

Blob read_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Exactly as much memory as the model has bytes, aligned as it must be.
class ExactMemory {
public:
    explicit ExactMemory(const Blob& blob)
        : data_(static_cast<std::uint8_t*>(
              ::operator new(blob.size(), std::align_val_t{kBlobAlign}))),
          size_(blob.size()) {
        std::memcpy(data_, blob.data(), size_);
    }
    ~ExactMemory() { ::operator delete(data_, std::align_val_t{kBlobAlign}); }
    ExactMemory(const ExactMemory&) = delete;
    ExactMemory& operator=(const ExactMemory&) = delete;
    [[nodiscard]] Bytes view() const noexcept { return {data_, size_}; }

private:
    std::uint8_t* data_;
    std::size_t size_;
};

// The sections of the vocabulary that hold anything.
std::vector<BlobSection> sections_of(const Blob& blob) {
    BlobHeader header{};
    std::memcpy(&header, blob.data(), sizeof(header));
    std::vector<BlobSection> all(header.section_count);
    std::memcpy(all.data(), blob.data() + sizeof(header), all.size() * sizeof(BlobSection));
    std::vector<BlobSection> found;
    for (const BlobSection& section : all) {
        if (section.id >= vocab::kScalars && section.id < 200 && section.size_bytes >= 4) {
            found.push_back(section);
        }
    }
    return found;
}

// A number that is often just beyond what is allowed.
std::uint32_t odd_number(std::mt19937_64& random, std::uint32_t old) {
    const std::uint32_t choices[] = {0,
                                     0xFFFFFFFFU,
                                     0x7FFFFFFFU,
                                     0x80000000U,
                                     old + 1,
                                     old - 1,
                                     old ^ 1U << random() % 32,
                                     static_cast<std::uint32_t>(random()),
                                     static_cast<std::uint32_t>(random() % 100000)};
    return choices[random() % std::size(choices)];
}

void damage(Blob& blob, const BlobSection& section, std::mt19937_64& random) {
    const std::size_t times = std::size_t{1} << random() % 8;
    for (std::size_t i = 0; i < times; ++i) {
        const std::size_t at = section.offset + random() % (section.size_bytes / 4) * 4;
        std::uint32_t number = 0;
        std::memcpy(&number, blob.data() + at, 4);
        number = odd_number(random, number);
        std::memcpy(blob.data() + at, &number, 4);
    }
}

std::string make_text(std::mt19937_64& random) {
    const char* const pieces[] = {"a",  "b",  "the ", " ", "\n", "1",
                                  "Zz", "##", "<s>",  "-", ".",  "aaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    std::string text;
    while (text.size() < 3000) {
        const std::uint64_t choice = random() % 4;
        if (choice == 0) {
            text += pieces[random() % std::size(pieces)];
        } else if (choice == 1) {
            text += static_cast<char>(' ' + random() % 95);
        } else if (choice == 2) {  // two bytes
            text += static_cast<char>(0xC3 + random() % 16);
            text += static_cast<char>(0x80 + random() % 64);
        } else {  // three
            text += static_cast<char>(0xE1 + random() % 9);
            text += static_cast<char>(0x80 + random() % 64);
            text += static_cast<char>(0x80 + random() % 64);
        }
    }
    return text;
}

// Small tables, then large ones with the seeds; with places and without. False if refused.
bool run_model(Bytes blob, const std::string& text) {
    try {
        const pipeline::Model model(blob, {.bits = {8, 8, 6, 5, 16, 9}, .small_until = 1000});
        const pipeline::Text one{text.data(), text.size()};
        for (const pipeline::SpanUnit unit :
             {pipeline::SpanUnit::None, pipeline::SpanUnit::Bytes}) {
            pipeline::Options options;
            options.spans = unit;
            (void)model.encode_batch({&one, 1}, options, {});
        }
    } catch (const Error& error) {
        return error.code != ErrorCode::CorruptModel;
    }
    return true;
}

std::vector<Blob> read_models(const std::string& directory) {
    std::vector<Blob> blobs;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
        blobs.push_back(read_file(entry.path()));
    }
    return blobs;
}

// One model, damaged as the seed says; false if it is refused.
bool check_seed(const std::vector<Blob>& blobs, std::uint64_t seed) {
    current_seed = seed;
    std::mt19937_64 random(seed);
    Blob blob = blobs[random() % blobs.size()];
    const std::vector<BlobSection> sections = sections_of(blob);
    const BlobSection& section = sections[random() % sections.size()];
    current_section = section.id;
    damage(blob, section, random);
    const ExactMemory memory(blob);
    return run_model(memory.view(), make_text(random));
}

}  // namespace
}  // namespace tokenmill

#ifdef TOKENMILL_LIBFUZZER

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const auto blobs = tokenmill::read_models(std::getenv("TOKENMILL_FUZZ_MODELS"));
    std::uint64_t seed = 0;
    std::memcpy(&seed, data, size < sizeof(seed) ? size : sizeof(seed));
    (void)tokenmill::check_seed(blobs, seed);
    return 0;
}

#else

int main(int argc, char** argv) {
    std::map<std::string, std::string> options = {{"--rounds", "1000"}, {"--seed", "1"}};
    for (int i = 1; i + 1 < argc; i += 2) {
        options[argv[i]] = argv[i + 1];
    }
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_set_death_callback(tokenmill::print_seed);
#endif
    const auto blobs = tokenmill::read_models(options["--models"]);
    const std::uint64_t first = std::stoull(options["--seed"]);
    const std::uint64_t rounds = std::stoull(options["--rounds"]);
    std::uint64_t refused = 0;
    for (std::uint64_t i = 0; i < rounds; ++i) {
        refused += tokenmill::check_seed(blobs, first + i) ? 0U : 1U;
    }
    std::printf("%llu damaged models, %llu refused\n", static_cast<unsigned long long>(rounds),
                static_cast<unsigned long long>(refused));
    return 0;
}

#endif
