// Bodies of requests, made and then damaged: every target must find what the scalar one finds, read
// no byte outside of the body, which the sanitizers see, and write what it read.
#include <memory>
#include <string>

#include "pieces.h"
#include "wire/wire.h"

namespace tokenmill {

namespace {

using fuzz::fail;

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
                                   "\r\n\r\n",
                                   "POST / HTTP/1.1\r\n",
                                   "content-length: 2\r\n",
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

// All values of a body, and all parts of a request, which lie inside of it.
std::string seen_document(Bytes body, simd::Target target, const std::string& input) {
    const wire::JsonDocument found = wire::read_document(body, target);
    std::string all = seen(found.fault);
    for (const wire::JsonNode& node : found.nodes) {
        all += std::to_string(static_cast<int>(node.type)) + ":" + std::to_string(node.size);
        if (node.type == wire::JsonType::String) {
            read::Value string;
            string.type = read::Value::Type::String;
            string.has_escapes = node.has_escapes;
            string.begin = body.data() + node.begin;
            string.end = string.begin + node.size;
            all += text_of(string, target, input);
        }
    }
    return all;
}

void check_request(Bytes body, const std::string& input) {
    const auto found = wire::read_whole_request(body, 100);
    if (!found) {
        return;
    }
    if (found->path.empty() || found->body.size() > 100 ||
        found->body.data() + found->body.size() != body.data() + body.size()) {
        fail(input, "a request is not whole");
    }
}

void check(const std::string& input) {
    const auto memory = fuzz::exact_copy(input);
    const Bytes body(memory.get(), input.size());
    const std::string ids = seen_tokenize(body, simd::Target::Scalar, input);
    const std::string texts = seen_detokenize(body, simd::Target::Scalar, input);
    const std::string values = seen_document(body, simd::Target::Scalar, input);
    check_request(body, input);
    for (const simd::Target target : simd::supported_targets()) {
        if (seen_tokenize(body, target, input) != ids ||
            seen_detokenize(body, target, input) != texts ||
            seen_document(body, target, input) != values) {
            fail(input, simd::name_of(target));
        }
    }
}

}  // namespace

}  // namespace tokenmill

#ifdef TOKENMILL_LIBFUZZER

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    tokenmill::check(std::string(data, data + size));
    return 0;
}

#else

int main(int argc, char** argv) {
    return tokenmill::fuzz::run(argc, argv, tokenmill::kPieces, 24, tokenmill::check);
}

#endif
