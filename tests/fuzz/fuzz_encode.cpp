// Random texts and options through whole models: every target, thread count and table size must
// give what the plainest way gives, errors included. Built with sanitizers, it also finds reads and
// writes out of bounds: every text and every output lies in memory of exactly its size.
//
//   fuzz_encode [--models DIR] [--seconds N] [--least N] [--seed N] [INPUT...]
//
// DIR holds compiled models; of X.native and X.plain both must agree. Without inputs, inputs are
// made from the seed. With libFuzzer, TOKENMILL_FUZZ_MODELS names DIR.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "decode/decode.h"
#include "families.h"
#include "unicode/repair.h"

#if defined(__SANITIZE_ADDRESS__)
extern "C" void __sanitizer_set_death_callback(void (*callback)());
#endif

namespace tokenmill {
namespace {

using pipeline::Encoded;
using pipeline::Model;
using pipeline::Options;
using pipeline::Text;

unsigned long long current_seed = 0;

// Runs when a sanitizer has found something, too.
void print_seed() {
    std::fprintf(stderr, "fuzz_encode: --seed %llu repeats it\n", current_seed);
}

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "fuzz_encode: %s\n", what.c_str());
    print_seed();
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

// An input: a few bytes choose options, the rest is text.
struct Input {
    Options options;
    Text::Encoding kind = Text::Encoding::Utf8;
    unsigned documents = 1;
    bool is_large = false;  // repeat the first document until it is cut for threads
    std::vector<std::uint8_t> bytes;

    Input(const std::uint8_t* data, std::size_t size) {
        std::uint8_t head[4] = {};
        const std::size_t used = std::min<std::size_t>(size, 4);
        std::copy(data, data + used, head);
        options.add_special_tokens = (head[0] & 1) != 0;
        options.replace_invalid = (head[0] & 2) != 0;
        options.special = static_cast<pipeline::SpecialMode>((head[0] >> 2) % 3);
        constexpr Text::Encoding kKinds[] = {Text::Encoding::Utf8, Text::Encoding::Utf8,
                                             Text::Encoding::Utf8, Text::Encoding::Latin1,
                                             Text::Encoding::Ucs2, Text::Encoding::Ucs4};
        kind = kKinds[head[1] % 6];
        documents = 1 + head[2] % 5;
        bytes.assign(data + used, data + size);
        is_large = head[3] == 255 && bytes.size() >= 64;
    }
};

// Documents in memory of exactly their size.
class Documents {
    static constexpr std::size_t kLarge = (std::size_t{1} << 20) + (std::size_t{1} << 17);

public:
    explicit Documents(const Input& input) {
        const std::size_t unit = input.kind == Text::Encoding::Ucs4   ? 4
                                 : input.kind == Text::Encoding::Ucs2 ? 2
                                                                      : 1;
        for (unsigned i = 0; i < input.documents; ++i) {
            const std::size_t units = input.bytes.size() / (i + 1) / unit;
            add(input, units, unit, i == 0 && input.is_large ? kLarge / units : 1);
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
        const auto* ids = encoded.memory.ids.as<TokenId>();
        answer.ids.assign(ids, ids + encoded.count);
        answer.offsets.assign(encoded.offsets.get(), encoded.offsets.get() + encoded.documents + 1);
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
    if (encoded.documents + 1 != expected.offsets.size() ||
        !std::equal(expected.offsets.begin(), expected.offsets.end(), encoded.offsets.get()) ||
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

// The other ways to call a model; one model an input, for each of these calls costs as much.
void check_calls(const Model& model, std::span<const Text> texts, const Options& options,
                 const Answer& expected) {
    check_encode_into<std::uint32_t>(model, texts, options, expected);
    if (model.max_id() <= 0xFFFF) {
        check_encode_into<std::uint16_t>(model, texts, options, expected);
    }
    check_one_by_one(model, texts, options, expected);
}

void check_family(const Family& family, const Input& input) {
    const Documents documents(input);
    const auto texts = documents.view();
    Options options = input.options;
    const Answer expected = encode_batch(*family.models[0], texts, options);
    for (std::size_t i = 0; i < family.models.size(); ++i) {
        const Model& model = *family.models[i];
        for (const unsigned threads : {1U, 3U}) {
            if (threads > 1 && !input.is_large) {
                break;  // nothing to share out
            }
            options.threads = threads;
            if (!(encode_batch(model, texts, options) == expected)) {
                fail(family.name + ": model " + std::to_string(i) + " on " +
                     simd::name_of(model.target()) + " with " + std::to_string(threads) +
                     " threads differs");
            }
        }
    }
    if (expected.error != ErrorCode::Ok) {
        return;
    }
    if (!input.is_large) {
        const std::size_t chosen = input.bytes.size() % family.models.size();
        check_calls(*family.models[chosen], texts, options, expected);
    }
    if (family.gives_text_back && input.kind == Text::Encoding::Utf8) {
        check_text_comes_back(*family.models[0], texts[0], expected);
    }
}

void check_input(const std::vector<Family>& families, const std::uint8_t* data, std::size_t size) {
    const Input input(data, size);
    for (std::size_t i = 0; i < families.size(); ++i) {
        if (!input.is_large || i == size % families.size()) {  // all of them would take too long
            check_family(families[i], input);
        }
    }
}

// Pieces that inputs are made of: every class of character, tokens, and what is no UTF-8.
const char* const kPieces[] = {"a",
                               "b",
                               "S",
                               "s",
                               "the",
                               " the",
                               "'s",
                               "'LL",
                               "'",
                               "' ",
                               " ",
                               "  ",
                               "\n",
                               "\r",
                               "\t",
                               "/",
                               "!",
                               "...",
                               "1",
                               "23",
                               "4567",
                               "_",
                               "A",
                               "aB",
                               "XMLa",
                               "<s>",
                               "</s>",
                               "<n>",
                               "<",
                               "<s",
                               "\xC2\x85",
                               "\xC2\xA0",
                               "\xE3\x80\x80",
                               "\xC5\xBF",
                               "\xC3\x9F",
                               "\xCC\x81",
                               "\xE0\xA4\x83",
                               "\xE4\xB8\xAD",
                               "\xE6\x96\x87",
                               "\xE4\xB8\xAD\xE6\x96\x87",
                               "\xE3\x81\x82",
                               "\xED\x95\x9C",
                               "\xE0\xB8\x81",
                               "\xD0\xB9",
                               "\xD9\xA3",
                               "\xE3\x80\x87",
                               "\xCA\xB0",
                               "\xC7\x85",
                               "\xF0\x9F\x98\x80",
                               "\xE2\x80\x8D",
                               "\xF0\xA0\x80\x80",
                               "\xF0\x9D\x90\x80",
                               "\xEF\xBB\xBF",
                               "\xEF\xBF\xBD",
                               "aaaaaaaa",
                               "no merge makes this"};
const char* const kFaults[] = {"\x80", "\xFF", "\xC3", "\xE4\xB8", "\xF0\x9F\x98", "\xED\xA0\x80"};

std::vector<std::uint8_t> make_input(std::mt19937_64& random) {
    const auto below = [&](std::size_t limit) { return random() % limit; };
    std::vector<std::uint8_t> input;
    for (int i = 0; i < 4; ++i) {
        input.push_back(static_cast<std::uint8_t>(random()));
    }
    input[3] = below(40) == 0 ? 255 : 0;
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

// For so long, and for at least so many: on a busy machine seconds alone promise nothing.
void run_made_inputs(const std::vector<Family>& families, std::uint64_t seed, double seconds,
                     std::size_t least) {
    const auto start = std::chrono::steady_clock::now();
    std::size_t count = 0;
    for (;; ++count) {
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
        if (passed.count() > seconds && count >= least) {
            break;
        }
        current_seed = seed + count;
        std::mt19937_64 random(current_seed);
        const auto input = make_input(random);
        check_input(families, input.data(), input.size());
    }
    std::size_t models = 0;
    for (const Family& family : families) {
        models += family.models.size();
    }
    std::printf("%zu inputs, %zu families, %zu models\n", count, families.size(), models);
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
    std::map<std::string, std::string> options = {
        {"--seconds", "5"}, {"--seed", "1"}, {"--least", "0"}};
    std::vector<std::string> files;
    for (int i = 1; i < argc; ++i) {
        if (std::strncmp(argv[i], "--", 2) == 0 && i + 1 < argc) {
            options[argv[i]] = argv[i + 1];
            ++i;
        } else {
            files.emplace_back(argv[i]);
        }
    }
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_set_death_callback(tokenmill::print_seed);
#endif
    const auto models = options.find("--models");
    const auto families =
        tokenmill::load_families(models == options.end() ? nullptr : models->second.c_str());
    for (const std::string& file : files) {
        const auto input = tokenmill::read_file(file);
        tokenmill::check_input(families, input.data(), input.size());
    }
    if (files.empty()) {
        tokenmill::run_made_inputs(families, std::stoull(options["--seed"]),
                                   std::stod(options["--seconds"]),
                                   std::stoull(options["--least"]));
    }
    return 0;
}

#endif
