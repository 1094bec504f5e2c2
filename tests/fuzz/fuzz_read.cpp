// Lines of JSON, made and then damaged: every target must find what the scalar one finds, and read
// no byte outside of the buffer, which the sanitizers see.
#include <cstring>
#include <string>

#include "pieces.h"
#include "read/read.h"

namespace tokenmill {

namespace {

using fuzz::fail;

constexpr const char* kPieces[] = {"{\"text\":\"",
                                   "\"}",
                                   "\",\"meta\":{\"text\":\"",
                                   "\"}}",
                                   "{",
                                   "}",
                                   "[",
                                   "]",
                                   ",",
                                   ":",
                                   "\"",
                                   "\\",
                                   "\\n",
                                   "\\u00e9",
                                   "\\ud83d\\ude00",
                                   "\\ud800",
                                   "\n",
                                   " ",
                                   "null",
                                   "true",
                                   "-1.5e3",
                                   "NaN",
                                   "\"text\":",
                                   "\"meta\":",
                                   "\xC3\xA9",
                                   "\xE2\x82\xAC",
                                   "\xFF",
                                   "\x01",
                                   "a",
                                   "plain words here ",
                                   "a run that is longer than a block of sixty-four bytes, so that "
                                   "whole blocks are copied at once"};

bool same_bad(const std::vector<read::BadLine>& a, const std::vector<read::BadLine>& b) {
    if (a.size() != b.size()) {
        return false;
    }
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i].line != b[i].line || a[i].begin != b[i].begin || a[i].length != b[i].length ||
            a[i].fault != b[i].fault || a[i].reason != b[i].reason) {
            return false;
        }
    }
    return true;
}

void check(const std::string& input, const read::Rules& rules) {
    const auto memory = fuzz::exact_copy(input);
    const Bytes buffer(memory.get(), input.size());
    read::JsonlDocuments expected = read::read_jsonl(buffer, rules, simd::Target::Scalar);
    const PageBuffer wanted = expected.texts.take_memory();
    for (const simd::Target target : simd::supported_targets()) {
        read::JsonlDocuments found = read::read_jsonl(buffer, rules, target);
        const PageBuffer text = found.texts.take_memory();
        const bool is_same =
            found.texts.offsets == expected.texts.offsets && found.lines == expected.lines &&
            found.begins == expected.begins && same_bad(found.bad, expected.bad) &&
            found.line_count == expected.line_count && found.blank_lines == expected.blank_lines &&
            found.repaired_utf8 == expected.repaired_utf8 &&
            found.repaired_surrogates == expected.repaired_surrogates &&
            (found.texts.used() == 0 ||
             std::memcmp(text.data(), wanted.data(), found.texts.used()) == 0);
        if (!is_same) {
            fail(input, simd::name_of(target));
        }
    }
    if (static_cast<std::int64_t>(expected.lines.size() + expected.bad.size()) +
            expected.blank_lines !=
        expected.line_count) {
        fail(input, "lines are lost");
    }
}

void check_all(const std::string& input) {
    for (const char* field : {"text", "meta.text"}) {
        check(input, {field, 1 << 20, 1 << 20, false, false});
        check(input, {field, 30, 100, true, true});
    }
}

}  // namespace

}  // namespace tokenmill

#ifdef TOKENMILL_LIBFUZZER

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    tokenmill::check_all(std::string(data, data + size));
    return 0;
}

#else

int main(int argc, char** argv) {
    return tokenmill::fuzz::run(argc, argv, tokenmill::kPieces, 40, tokenmill::check_all);
}

#endif
