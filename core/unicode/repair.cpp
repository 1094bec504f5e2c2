#include "unicode/repair.h"

#include "base/utf8.h"

namespace tokenmill::unicode {

Fault find_fault(Bytes text, std::size_t from) noexcept {
    for (std::size_t at = from; at < text.size();) {
        if (text[at] < 0x80) {
            ++at;
            continue;
        }
        const std::uint8_t lead = text[at];
        const std::size_t whole = is_lead(lead) ? char_size(lead) : 0;
        std::size_t size = 1;
        while (size < whole && at + size < text.size()) {
            const std::uint8_t byte = text[at + size];
            if (size == 1 ? !may_follow(lead, byte) : !is_continuation(byte)) {
                break;
            }
            ++size;
        }
        if (size != whole) {
            return {at, size};
        }
        at += size;
    }
    return {text.size(), 0};
}

void append_repaired(Bytes text, std::vector<std::uint8_t>& out) {
    static constexpr std::uint8_t kReplacement[3] = {0xEF, 0xBF, 0xBD};
    for (std::size_t at = 0; at < text.size();) {
        const Fault fault = find_fault(text, at);
        out.insert(out.end(), text.begin() + static_cast<std::ptrdiff_t>(at),
                   text.begin() + static_cast<std::ptrdiff_t>(fault.offset));
        if (fault.size == 0) {
            return;
        }
        out.insert(out.end(), kReplacement, kReplacement + 3);
        at = fault.offset + fault.size;
    }
}

}  // namespace tokenmill::unicode
