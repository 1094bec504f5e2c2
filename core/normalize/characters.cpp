// normalize: a program -> what it makes of every character alone.
#include <algorithm>

#include "base/utf8.h"
#include "normalize/memo.h"
#include "normalize/normalize.h"

namespace tokenmill::normalize {

CharRewrites rewrite_characters(const Program& program) {
    CharRewrites rewrites;
    Buffer text;
    for (char32_t point = 0; point < 0x110000; ++point) {
        if (point >= 0xD800 && point < 0xE000) {
            continue;
        }
        std::uint8_t bytes[4];
        const Bytes original(bytes, encode_char(point, bytes));
        const bool is_slow =
            std::any_of(program.groups.begin(), program.groups.end(), [&](const StepGroup& group) {
                return group.memo == nullptr || group.memo->entry(point).is_slow != 0;
            });
        run(program, original, text);
        if (!std::equal(text.begin(), text.end(), original.begin(), original.end())) {
            rewrites.codes.push_back(point);
            rewrites.bytes.insert(rewrites.bytes.end(), text.begin(), text.end());
            rewrites.ends.push_back(static_cast<std::uint32_t>(rewrites.bytes.size()));
        }
        if (is_slow) {
            rewrites.slow.push_back(point);
        }
    }
    return rewrites;
}

}  // namespace tokenmill::normalize
