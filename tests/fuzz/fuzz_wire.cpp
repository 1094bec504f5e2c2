// Bodies of requests, made and then damaged: every target must find what the scalar one finds, read
// no byte outside of the body, which the sanitizers see, and write what it read.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>

#include "wire/wire.h"

namespace tokenmill {

namespace {

constexpr const char* kPieces[] = {"{\"prompt\":\"",
                                   "{\"tokens\":[",
                                   "\"prompt\":[\"",
                                   "\"tokens\":[[",
                                   "\",\"",
                                   "\"]}",
                                   "]]}",
                                   "]}",
                                   "],[",
                                   "1,2,",
                                   "4294967295",
                                   "4294967296",
                                   "0",
                                   ",\"model\":\"m\"",
                                   ",\"add_special_tokens\":true",
                                   ",\"skip_special_tokens\":false",
                                   ",\"return_token_strs\":null",
                                   ",\"messages\":[{}]",
                                   "\"",
                                   "\\",
                                   "\\n",
                                   "\\u00e9",
                                   "\\ud83d\\ude00",
                                   "\\ud800",
                                   "}",
                                   "[",
                                   " ",
                                   ",",
                                   "-1.5e3",
                                   "\xC3\xA9",
                                   "\xFF",
                                   "a run that is longer than a block of sixty-four bytes, so that "
                                   "whole blocks are copied at once"};

[[noreturn]] void fail(const std::string& input, const char* what) {
    std::fprintf(stderr, "%s:", what);
    for (const char c : input) {
        std::fprintf(stderr, " %02x", static_cast<unsigned char>(c));
    }
    std::fprintf(stderr, "\n");
    std::abort();
}

// The text of a string, and what is written of it again, which must have the size that was given.
std::string text_of(const read::Value& string, simd::Target target, const std::string& input) {
    const auto raw = static_cast<std::size_t>(string.end - string.begin);
    const std::unique_ptr<std::uint8_t[]> out(new std::uint8_t[raw + read::kUnescapeSlack]);
    const read::Unescaped text = read::unescape(string, out.get(), target);
    const Bytes bytes(out.get(), text.size);
    const std::size_t size = wire::string_size(bytes);
    const std::unique_ptr<std::uint8_t[]> written(new std::uint8_t[size]);
    if (wire::write_string(bytes, written.get()) != written.get() + size) {
        fail(input, "a string does not have its size");
    }
    return std::string(written.get(), written.get() + size) +
           (text.lone_surrogate != nullptr ? "?" : "");
}

std::string seen(const wire::BodyFault& fault) {
    return std::to_string(fault.position) + fault.member + fault.what;
}

std::string seen_tokenize(Bytes body, simd::Target target, const std::string& input) {
    const wire::TokenizeBody found = wire::read_tokenize(body, target);
    std::string all = seen(found.fault);
    if (!found.fault.what.empty()) {
        return all;
    }
    for (const read::Value& prompt : found.prompts) {
        all += text_of(prompt, target, input);
    }
    all += found.model ? text_of(*found.model, target, input) : "";
    return all + std::to_string(found.is_list) + std::to_string(found.has_messages) +
           std::to_string(found.add_special_tokens.value_or(false));
}

std::string seen_detokenize(Bytes body, simd::Target target, const std::string& input) {
    const wire::DetokenizeBody found = wire::read_detokenize(body, target);
    const std::size_t size = wire::ids_size(found.ids);
    const std::unique_ptr<std::uint8_t[]> out(new std::uint8_t[size]);
    if (wire::write_ids(found.ids, out.get()) != out.get() + size) {
        fail(input, "ids do not have their size");
    }
    return seen(found.fault) + std::string(out.get(), out.get() + size) +
           std::to_string(found.ends.size());
}

void check(const std::string& input) {
    // Memory of exactly this size: a byte too far is an error.
    const std::unique_ptr<std::uint8_t[]> memory(new std::uint8_t[input.size()]);
    if (!input.empty()) {
        std::memcpy(memory.get(), input.data(), input.size());
    }
    const Bytes body(memory.get(), input.size());
    const std::string ids = seen_tokenize(body, simd::Target::Scalar, input);
    const std::string texts = seen_detokenize(body, simd::Target::Scalar, input);
    for (const simd::Target target : simd::supported_targets()) {
        if (seen_tokenize(body, target, input) != ids ||
            seen_detokenize(body, target, input) != texts) {
            fail(input, simd::name_of(target));
        }
    }
}

std::string make_input(std::mt19937_64& random) {
    std::string input;
    for (std::size_t pieces = random() % 24; pieces != 0; --pieces) {
        input += kPieces[random() % std::size(kPieces)];
        if (random() % 16 == 0 && !input.empty()) {
            input[random() % input.size()] = static_cast<char>(random());
        }
    }
    return input;
}

}  // namespace

}  // namespace tokenmill

#ifdef TOKENMILL_LIBFUZZER

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    tokenmill::check(std::string(data, data + size));
    return 0;
}

#else

// fuzz_wire [COUNT [SEED]]
int main(int argc, char** argv) {
    const long count = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 20000;
    std::mt19937_64 random(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1);
    for (long i = 0; i < count; ++i) {
        tokenmill::check(tokenmill::make_input(random));
    }
    std::printf("%ld inputs\n", count);
    return 0;
}

#endif
