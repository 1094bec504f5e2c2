// Random texts and options through whole models: every target, thread count and table size must
// give what the plainest way gives, errors included. Built with sanitizers, it also finds reads and
// writes out of bounds: every text and every output lies in memory of exactly its size.
//
//   fuzz_encode [--models DIR] [--seconds N] [--seed N] [INPUT...]
//
// DIR holds compiled models; of X.native and X.plain both must agree. Without inputs, inputs are
// made from the seed. With libFuzzer, TOKENMILL_FUZZ_MODELS names DIR.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "decode/decode.h"
#include "pipeline/pipeline.h"
#include "simd/target.h"
#include "unicode/utf8.h"

namespace tokenmill {
namespace {

using pipeline::Encoded;
using pipeline::Model;
using pipeline::Options;
using pipeline::Text;

constexpr encode::TableBits kSmallTables = {10, 10, 8, 8, 18, 12};
constexpr encode::TableBits kTinyTables = {3, 3, 2, 1, 15, 7};

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "fuzz_encode: %s\n", what.c_str());
    std::abort();
}

// What one call gave: ids and offsets, or an error.
struct Answer {
    std::vector<TokenId> ids;
    std::vector<std::int64_t> offsets;
    ErrorCode error = ErrorCode::Ok;
    std::size_t document = Error::kNowhere;
    std::size_t offset = Error::kNowhere;

    bool operator==(const Answer&) const = default;
};

// A compiled model on every target and with two sizes of tables; the first one is the plainest.
struct Family {
    std::string name;
    std::vector<PageBuffer> memory;
    std::vector<std::unique_ptr<Model>> models;
    bool gives_text_back = false;  // decoding undoes encoding

    void add(const std::vector<std::uint8_t>& blob) {
        memory.emplace_back(blob.size());
        std::memcpy(memory.back().data(), blob.data(), blob.size());
        const Bytes bytes(memory.back().data(), blob.size());
        for (const simd::Target target : simd::supported_targets()) {
            setenv("TOKENMILL_TARGET", simd::name_of(target), 1);
            models.push_back(std::make_unique<Model>(bytes, kSmallTables));
            models.push_back(std::make_unique<Model>(bytes, kTinyTables));
        }
        unsetenv("TOKENMILL_TARGET");
    }
};

// Runs of word characters, runs of white space, anything else alone.
struct PlainSplit {
    static constexpr std::uint32_t kOther = 0, kWord = 1, kWhite = 2, kClasses = 3;
    std::vector<std::uint32_t> ranges = {0,    9,    kOther, 9,    14,   kWhite, 14,  32,  kOther,
                                         32,   33,   kWhite, 33,   48,   kOther, 48,  58,  kWord,
                                         58,   65,   kOther, 65,   91,   kWord,  91,  97,  kOther,
                                         97,   123,  kWord,  123,  128,  kOther, 128, 0x110000,
                                         kWord};
    std::vector<std::uint16_t> next;
    std::vector<std::uint8_t> sync = {1, 1, 1, 1, 0, 1, 1, 1, 0};

    PlainSplit() {
        constexpr std::uint16_t kEnd = split::kMatchHere;
        next = {0,    0,    0,    0,      // dead
                2,    3,    4,    0,      // start
                kEnd, kEnd, kEnd, kEnd,   // behind another character
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
    for (const char* token :
         {"th", "the", " t", " the", "in", "ing", "  ", "    ", "aa", "aaaa", "aaaaaaaa", "ab", "aab",
          "\xE4\xB8", "\xE4\xB8\xAD", "\xE6\x96", "\xE6\x96\x87", "\xE4\xB8\xAD\xE6\x96\x87",
          "\x87\xE4", "\xF0\x9F", "\xF0\x9F\x98", "no merge makes this", "abababab"}) {
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

// An input: a few bytes choose options, the rest is text.
struct Input {
    Options options;
    Text::Kind kind = Text::Kind::Utf8;
    unsigned documents = 1;
    std::size_t repeat = 1;
    std::vector<std::uint8_t> bytes;

    Input(const std::uint8_t* data, std::size_t size) {
        std::uint8_t head[4] = {};
        const std::size_t used = std::min<std::size_t>(size, 4);
        std::memcpy(head, data, used);
        options.add_special_tokens = (head[0] & 1) != 0;
        options.replace_invalid = (head[0] & 2) != 0;
        options.special = static_cast<pipeline::SpecialMode>((head[0] >> 2) % 3);
        constexpr Text::Kind kKinds[] = {Text::Kind::Utf8, Text::Kind::Utf8, Text::Kind::Utf8,
                                         Text::Kind::Latin1, Text::Kind::Ucs2, Text::Kind::Ucs4};
        kind = kKinds[head[1] % 6];
        documents = 1 + head[2] % 5;
        repeat = head[3] == 255 ? 400 : 1;
        bytes.assign(data + used, data + size);
    }
};

// Documents in memory of exactly their size.
class Documents {
public:
    explicit Documents(const Input& input) {
        const std::size_t unit = input.kind == Text::Kind::Ucs4   ? 4
                                 : input.kind == Text::Kind::Ucs2 ? 2
                                                                  : 1;
        for (unsigned i = 0; i < input.documents; ++i) {
            const std::size_t units = input.bytes.size() / (i + 1) / unit;
            add(input, units, unit, i == 0 ? input.repeat : 1);
        }
    }
    [[nodiscard]] std::span<const Text> view() const noexcept { return texts_; }

private:
    void add(const Input& input, std::size_t units, std::size_t unit, std::size_t repeat) {
        const std::size_t size = units * unit;
        auto& memory = memory_.emplace_back(new std::uint8_t[size * repeat]);
        for (std::size_t i = 0; i < repeat && size != 0; ++i) {
            std::memcpy(memory.get() + i * size, input.bytes.data(), size);
        }
        for (std::size_t i = 0; unit == 4 && i < units * repeat; ++i) {  // as a str may hold them
            std::uint32_t code = 0;
            std::memcpy(&code, memory.get() + 4 * i, 4);
            code %= code % 3 == 0 ? 0x110000 : 0x3100;
            std::memcpy(memory.get() + 4 * i, &code, 4);
        }
        texts_.push_back({memory.get(), units * repeat, input.kind});
    }

    std::vector<std::unique_ptr<std::uint8_t[]>> memory_;
    std::vector<Text> texts_;
};

template <typename Call>
Answer answer_of(Call call) {
    Answer answer;
    try {
        call(answer);
    } catch (const Error& error) {
        answer = {};
        answer.error = error.code;
        answer.document = error.document;
        answer.offset = error.offset;
    }
    return answer;
}

Answer encode_batch(const Model& model, std::span<const Text> texts, const Options& options) {
    return answer_of([&](Answer& answer) {
        const Encoded encoded = model.encode_batch(texts, options, {});
        const auto* ids = encoded.memory.as<TokenId>();
        answer.ids.assign(ids, ids + encoded.count);
        answer.offsets = encoded.offsets;
    });
}

// Into memory of the caller that has exactly the room.
template <typename Id>
void check_encode_into(const Model& model, std::span<const Text> texts, const Options& options,
                       const Answer& expected) {
    const std::size_t room = expected.ids.size();
    const std::unique_ptr<Id[]> out(new Id[room]);
    const Encoded encoded =
        model.encode_batch(texts, options, {out.get(), room, 8 * sizeof(Id), false});
    if (encoded.offsets != expected.offsets ||
        !std::equal(expected.ids.begin(), expected.ids.end(), out.get())) {
        fail("encode_into differs");
    }
    const Answer small = answer_of([&](Answer&) {
        (void)model.encode_batch(texts, options, {out.get(), room - 1, 8 * sizeof(Id), false});
    });
    if (room != 0 && small.error != ErrorCode::OutputTooSmall) {
        fail("a buffer that is too small is not refused");
    }
}

void check_one_by_one(const Model& model, std::span<const Text> texts, const Options& options,
                      const Answer& expected) {
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const auto begin = static_cast<std::size_t>(expected.offsets[i]);
        const auto size = static_cast<std::size_t>(expected.offsets[i + 1]) - begin;
        Model::Lease lease(model);
        const auto ids = lease.encode(texts[i], options);
        if (!std::equal(ids.begin(), ids.end(), expected.ids.begin() + std::ptrdiff_t(begin),
                        expected.ids.begin() + std::ptrdiff_t(begin + size))) {
            fail("one document alone differs");
        }
        for (const std::size_t limit : {size / 2, size, size + 1}) {
            const std::size_t count = model.count(texts[i], options, limit);
            if (size <= limit ? count != size : count <= limit) {
                fail("a count differs");
            }
        }
    }
}

void check_text_comes_back(const Model& model, const Text& text, const Answer& answer) {
    const Bytes bytes(static_cast<const std::uint8_t*>(text.data), text.size);
    std::vector<std::uint8_t> repaired;
    unicode::append_repaired(bytes, repaired);
    std::string decoded;
    const auto count = static_cast<std::size_t>(answer.offsets[1]);
    decode::append_bytes(model.vocab(), {answer.ids.data(), count}, decoded);
    if (!std::equal(repaired.begin(), repaired.end(), decoded.begin(), decoded.end(),
                    [](std::uint8_t a, char b) { return a == static_cast<std::uint8_t>(b); })) {
        fail("decoding does not undo encoding");
    }
}

void check_family(const Family& family, const Input& input) {
    const Documents documents(input);
    const auto texts = documents.view();
    Options options = input.options;
    options.threads = 1;
    const Answer expected = encode_batch(*family.models[0], texts, options);
    for (std::size_t i = 0; i < family.models.size(); ++i) {
        const Model& model = *family.models[i];
        for (const unsigned threads : {1U, 2U, 3U}) {
            options.threads = threads;
            if (!(encode_batch(model, texts, options) == expected)) {
                fail(family.name + ": model " + std::to_string(i) + " on " +
                     simd::name_of(model.target()) + " with " + std::to_string(threads) +
                     " threads differs");
            }
        }
        if (expected.error == ErrorCode::Ok) {
            check_encode_into<std::uint32_t>(model, texts, options, expected);
            if (model.max_id() <= 0xFFFF) {
                check_encode_into<std::uint16_t>(model, texts, options, expected);
            }
            check_one_by_one(model, texts, options, expected);
        }
    }
    if (family.gives_text_back && input.kind == Text::Kind::Utf8 &&
        expected.error == ErrorCode::Ok) {
        check_text_comes_back(*family.models[0], texts[0], expected);
    }
}

void check_input(const std::vector<Family>& families, const std::uint8_t* data, std::size_t size) {
    const Input input(data, size);
    for (const Family& family : families) {
        check_family(family, input);
    }
}

// Pieces that inputs are made of: every class of character, tokens, and what is no UTF-8.
const char* const kPieces[] = {
    "a",  "b",  "S",  "s",  "the", " the",  "'s",   "'LL",  "'",    "' ", " ",    "  ",  "\n",
    "\r", "\t", "/",  "!",  "...", "1",     "23",   "4567", "_",    "A",  "aB",   "XMLa", "<s>",
    "</s>", "<n>", "<", "<s", "\xC2\x85", "\xC2\xA0", "\xE3\x80\x80", "\xC5\xBF", "\xC3\x9F",
    "\xCC\x81", "\xE0\xA4\x83", "\xE4\xB8\xAD", "\xE6\x96\x87", "\xE4\xB8\xAD\xE6\x96\x87",
    "\xE3\x81\x82", "\xED\x95\x9C", "\xE0\xB8\x81", "\xD0\xB9", "\xD9\xA3", "\xE3\x80\x87",
    "\xCA\xB0", "\xC7\x85", "\xF0\x9F\x98\x80", "\xE2\x80\x8D", "\xF0\xA0\x80\x80",
    "\xF0\x9D\x90\x80", "\xEF\xBB\xBF", "\xEF\xBF\xBD", "aaaaaaaa", "no merge makes this"};
const char* const kFaults[] = {"\x80", "\xFF", "\xC3", "\xE4\xB8", "\xF0\x9F\x98", "\xED\xA0\x80"};

std::vector<std::uint8_t> make_input(std::mt19937_64& random) {
    const auto below = [&](std::size_t limit) { return random() % limit; };
    std::vector<std::uint8_t> input;
    for (int i = 0; i < 4; ++i) {
        input.push_back(static_cast<std::uint8_t>(random()));
    }
    input[3] = below(150) == 0 ? 255 : 0;
    const std::size_t size = below(20) == 0 ? below(5000) : below(300);
    const bool is_broken = below(4) == 0;
    const std::size_t variety = 1 + below(std::size(kPieces));
    const std::size_t first = below(std::size(kPieces));
    while (input.size() < size + 4) {
        const char* piece = kPieces[(first + below(variety)) % std::size(kPieces)];
        piece = is_broken && below(30) == 0 ? kFaults[below(std::size(kFaults))] : piece;
        const std::size_t times = below(12) == 0 ? 1 + below(below(8) == 0 ? 700 : 70) : 1;
        for (std::size_t i = 0; i < times; ++i) {
            input.insert(input.end(), piece, piece + std::strlen(piece));
        }
        if (below(60) == 0) {
            input.push_back(0);
        }
    }
    return input;
}

void run_made_inputs(const std::vector<Family>& families, std::uint64_t seed, double seconds) {
    const auto start = std::chrono::steady_clock::now();
    std::size_t count = 0;
    for (;; ++count) {
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
        if (passed.count() > seconds) {
            break;
        }
        std::mt19937_64 random(seed + count);
        const auto input = make_input(random);
        // Written ahead, so that it is known whatever happens; --seed N --seconds 0.01 repeats it.
        std::fprintf(stderr, "\rseed %llu", static_cast<unsigned long long>(seed + count));
        check_input(families, input.data(), input.size());
    }
    std::fprintf(stderr, "\n");
    std::printf("%zu inputs, %zu families of models, %zu models\n", count, families.size(),
                families.size() * families[0].models.size());
}

}  // namespace
}  // namespace tokenmill

#ifdef TOKENMILL_LIBFUZZER

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const auto families = tokenmill::load_families(std::getenv("TOKENMILL_FUZZ_MODELS"));
    tokenmill::check_input(families, data, size);
    return 0;
}

#else

int main(int argc, char** argv) {
    std::map<std::string, std::string> options = {{"--seconds", "5"}, {"--seed", "1"}};
    std::vector<std::string> files;
    for (int i = 1; i < argc; ++i) {
        if (std::strncmp(argv[i], "--", 2) == 0 && i + 1 < argc) {
            options[argv[i]] = argv[i + 1];
            ++i;
        } else {
            files.emplace_back(argv[i]);
        }
    }
    const auto models = options.find("--models");
    const auto families =
        tokenmill::load_families(models == options.end() ? nullptr : models->second.c_str());
    for (const std::string& file : files) {
        const auto input = tokenmill::read_file(file);
        tokenmill::check_input(families, input.data(), input.size());
    }
    if (files.empty()) {
        tokenmill::run_made_inputs(families, std::stoull(options["--seed"]),
                                   std::stod(options["--seconds"]));
    }
    return 0;
}

#endif
