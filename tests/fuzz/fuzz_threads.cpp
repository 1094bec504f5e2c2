// Many threads on one model, over texts full of words that no table knows: the ids must be those of
// a single thread. Built with the sanitizer of threads, it finds reads that race with writes; the
// loads of whole lines by vector instructions are races by its rules, so --target scalar is for it.
//
//   fuzz_threads --models DIR [--rounds N] [--seed N] [--target NAME]
#include <cstdio>
#include <random>
#include <thread>

#include "families.h"

namespace tokenmill {
namespace {

using pipeline::Model;
using pipeline::Options;
using pipeline::Tables;
using pipeline::Text;

// Tables that never get full, and some that do after a few words, in the middle of a batch.
constexpr Tables kRoomy = {.bits = {14, 14, 10, 8, 18, 16}, .small_until = 2000};
constexpr Tables kNarrow = {.bits = {8, 8, 6, 4, 16, 9}, .small_until = 2000};

struct Ids {
    std::vector<TokenId> ids;
    std::vector<std::int64_t> offsets;
    bool operator==(const Ids&) const = default;
};

Ids encode(const Model& model, std::span<const Text> texts, unsigned threads) {
    Options options;
    options.threads = threads;
    const pipeline::Encoded encoded = model.encode_batch(texts, options, {});
    const auto* ids = encoded.memory.ids.as<TokenId>();
    const std::int64_t* offsets = encoded.offsets.get();
    return {{ids, ids + encoded.count}, {offsets, offsets + encoded.documents + 1}};
}

// Words of every length, one in two of them seen before.
std::vector<std::string> make_texts(std::mt19937_64& random) {
    const char* const pieces[] = {"a", "b", "th", "e", "in", "g", "\xE4\xB8\xAD", "\xC3\xA9", "0"};
    std::vector<std::string> words;
    std::vector<std::string> texts(300);
    for (std::string& text : texts) {
        while (text.size() < 2000) {
            if (words.empty() || random() % 2 == 0) {
                words.emplace_back();
                for (std::uint64_t n = 1 + random() % (random() % 8 == 0 ? 40 : 8); n != 0; --n) {
                    words.back() += pieces[random() % std::size(pieces)];
                }
            }
            text += ' ' + words[random() % words.size()];
        }
    }
    return texts;
}

// Three callers at once, of three, two and one thread.
bool agrees(Bytes blob, const Tables& tables, std::span<const Text> texts, const Ids& expected) {
    const Model model(blob, tables);
    bool is_same = encode(model, texts, 3) == expected;
    bool others[2] = {};
    std::thread two([&] { others[0] = encode(model, texts, 2) == expected; });
    std::thread one([&] { others[1] = encode(model, texts, 1) == expected; });
    is_same &= encode(model, texts, 3) == expected;
    two.join();
    one.join();
    return is_same && others[0] && others[1];
}

bool check(const std::string& name, const std::vector<std::uint8_t>& blob, std::uint64_t seed) {
    PageBuffer memory(blob.size());
    std::memcpy(memory.data(), blob.data(), blob.size());
    const Bytes bytes(memory.data(), blob.size());
    std::mt19937_64 random(seed);
    const std::vector<std::string> strings = make_texts(random);
    std::vector<Text> texts;
    for (const std::string& text : strings) {
        texts.push_back({text.data(), text.size(), Text::Encoding::Utf8});
    }
    const Ids expected = encode(Model(bytes, kRoomy), texts, 1);
    for (const Tables& tables : {kRoomy, kNarrow}) {
        if (!agrees(bytes, tables, texts, expected)) {
            std::fprintf(stderr, "fuzz_threads: %s differs; --seed %llu repeats it\n", name.c_str(),
                         static_cast<unsigned long long>(seed));
            return false;
        }
    }
    return true;
}

}  // namespace
}  // namespace tokenmill

int main(int argc, char** argv) {
    using namespace tokenmill;
    const char* directory = nullptr;
    std::uint64_t rounds = 1;
    std::uint64_t seed = 1;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string option = argv[i];
        if (option == "--models") {
            directory = argv[i + 1];
        } else if (option == "--rounds") {
            rounds = std::strtoull(argv[i + 1], nullptr, 10);
        } else if (option == "--seed") {
            seed = std::strtoull(argv[i + 1], nullptr, 10);
        } else if (option == "--target") {
            setenv("TOKENMILL_TARGET", argv[i + 1], 1);
        }
    }
    std::map<std::string, std::vector<std::uint8_t>> blobs = {{"plain", compile_plain(false)},
                                                              {"whole words", compile_plain(true)}};
    if (directory != nullptr) {
        for (const auto& entry : std::filesystem::directory_iterator(directory)) {
            blobs[entry.path().filename().string()] = read_file(entry.path());
        }
    }
    for (std::uint64_t round = 0; round < rounds; ++round) {
        for (const auto& [name, blob] : blobs) {
            if (!check(name, blob, seed + round)) {
                return 1;
            }
        }
    }
    std::printf("%zu models agree\n", blobs.size());
    return 0;
}
