// Many threads on all that a model shares, each with calls in an order of its own: short leases,
// batches, spans, counts, sessions and their forks, the segment cache, memory, counters, release.
// All ids must be those of a single thread. Built with the sanitizer of threads, it finds what
// races; --target scalar is for it, as in fuzz_threads.
//
//   fuzz_share [--models DIR] [--seconds N] [--seed N] [--target NAME]
#include <atomic>
#include <chrono>
#include <cstdio>
#include <random>
#include <thread>

#include "cache/cache.h"
#include "families.h"
#include "pipeline/session.h"

namespace tokenmill {
namespace {

using pipeline::Model;
using pipeline::Options;
using pipeline::Tables;
using pipeline::Text;
using Ids = std::vector<TokenId>;

constexpr Tables kRoomy = {.bits = {14, 14, 10, 8, 18, 16}, .small_until = 2000};
constexpr unsigned kThreads = 4;
constexpr std::size_t kCalls = 300;  // of each thread, with one model

Text text_of(const std::string& text) {
    return {text.data(), text.size(), Text::Encoding::Utf8};
}

// One model, what one thread got from it, and what many get.
class Sharing {
public:
    Sharing(Bytes blob, std::uint64_t seed) : model_(blob, kRoomy), cache_(settings()) {
        std::mt19937_64 random(seed);
        const char* const pieces[] = {"a", " b", "th", "e ", "in", "\n", "\xE4\xB8\xAD", "ing "};
        const Model alone(blob, kRoomy);
        for (int i = 0; i < 40; ++i) {
            std::string& text = texts_.emplace_back();
            for (std::uint64_t n = random() % (i % 8 == 0 ? 3000 : 100); n != 0; --n) {
                text += pieces[random() % std::size(pieces)];
            }
            Model::Lease lease(alone);
            const auto ids = lease.encode(text_of(text), {});
            expected_.emplace_back(ids.begin(), ids.end());
        }
    }

    // False if any thread got other ids.
    bool run(std::uint64_t seed) {
        std::vector<std::thread> threads;
        for (unsigned n = 0; n < kThreads; ++n) {
            threads.emplace_back([this, seed, n] { call(seed + n); });
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
        return is_same_;
    }

private:
    static cache::CacheSettings settings() {
        cache::CacheSettings settings;
        settings.budget_bytes = 1 << 16;  // entries come and go
        settings.min_bytes = 16;
        settings.cut_bytes = 64;
        settings.verify = 3;
        settings.switches_off = false;
        return settings;
    }

    void expect(std::size_t i, std::span<const TokenId> ids) {
        if (!std::equal(ids.begin(), ids.end(), expected_[i].begin(), expected_[i].end())) {
            is_same_ = false;
        }
    }

    void call(std::uint64_t seed) {
        std::mt19937_64 random(seed);
        for (std::size_t n = 0; n < kCalls; ++n) {
            const std::size_t i = random() % texts_.size();
            switch (random() % 9) {
                case 0:
                    batch(static_cast<unsigned>(1 + random() % 3));
                    break;
                case 1:
                    is_same_ = is_same_ && model_.count(text_of(texts_[i]), {}, ~std::size_t{1}) ==
                                               expected_[i].size();
                    break;
                case 2:
                    session(i, random);
                    break;
                case 3:
                    cached(i);
                    break;
                case 4:
                    facts(random);
                    break;
                case 5:
                    spans(i);
                    break;
                default: {
                    Model::Lease lease(model_);
                    expect(i, lease.encode(text_of(texts_[i]), {}));
                }
            }
        }
    }

    void batch(unsigned threads) {
        std::vector<Text> texts;
        for (const std::string& text : texts_) {
            texts.push_back(text_of(text));
        }
        Options options;
        options.threads = threads;
        const pipeline::Encoded encoded = model_.encode_batch(texts, options, {});
        const auto* ids = encoded.memory.ids.as<TokenId>();
        for (std::size_t i = 0; i < texts.size(); ++i) {
            expect(i, {ids + encoded.offsets[i], ids + encoded.offsets[i + 1]});
        }
    }

    void spans(std::size_t i) {
        Options options;
        options.spans = pipeline::SpanUnit::Characters;
        const Text text = text_of(texts_[i]);
        const pipeline::Encoded encoded = model_.encode_batch({&text, 1}, options, {});
        expect(i, {encoded.memory.ids.as<TokenId>(), encoded.count});
    }

    void session(std::size_t i, std::mt19937_64& random) {
        const std::string& text = texts_[i];
        const std::size_t cut = text.empty() ? 0 : random() % text.size();
        pipeline::Session first(model_, {}, {});
        std::ignore = first.append(text_of(text.substr(0, cut)), nullptr);
        pipeline::Session second(first);
        std::ignore = second.append(text_of(text.substr(cut)), nullptr);
        Ids ids(second.id_count());
        second.copy_ids(ids.data());
        expect(i, ids);
    }

    void cached(std::size_t i) {
        const Text text = text_of(texts_[i]);
        if (cache::Call::is_worth(cache_, model_, text)) {
            cache::Call looked_up(cache_, model_, text, {});
            if (!looked_up.is_for_threads()) {
                expect(i, looked_up.finish());
            }
        }
    }

    // Whatever is asked for while others work.
    void facts(std::mt19937_64& random) {
        std::ignore = model_.memory();
        std::ignore = model_.counters();
        std::ignore = model_.fingerprint();
        std::ignore = model_.safe_cuts();
        std::ignore = cache_.use();
        for (const cache::ModelBook* book : cache_.books()) {
            std::ignore = book->read();
        }
        if (random() % 4 == 0) {
            std::ignore = model_.release();
            cache_.resize(1 << (14 + random() % 4));
        }
        if (random() % 16 == 0) {
            cache_.clear();
        }
    }

    std::vector<std::string> texts_;
    std::vector<Ids> expected_;
    Model model_;
    cache::SegmentCache cache_;
    std::atomic<bool> is_same_{true};
};

}  // namespace
}  // namespace tokenmill

int main(int argc, char** argv) {
    using namespace tokenmill;
    const char* directory = nullptr;
    double seconds = 1;
    std::uint64_t seed = 1;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string option = argv[i];
        if (option == "--models") {
            directory = argv[i + 1];
        } else if (option == "--seconds") {
            seconds = std::strtod(argv[i + 1], nullptr);
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
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    std::uint64_t rounds = 0;
    do {  // each model at least once
        for (const auto& [name, blob] : blobs) {
            PageBuffer memory(blob.size());
            std::memcpy(memory.data(), blob.data(), blob.size());
            if (!Sharing({memory.data(), blob.size()}, seed + rounds).run(seed + rounds)) {
                std::fprintf(stderr, "fuzz_share: %s differs; --seed %llu repeats it\n",
                             name.c_str(), static_cast<unsigned long long>(seed + rounds));
                return 1;
            }
        }
        ++rounds;
    } while (std::chrono::steady_clock::now() < end);
    std::printf("%zu models agree in %llu rounds\n", blobs.size(),
                static_cast<unsigned long long>(rounds));
    return 0;
}
