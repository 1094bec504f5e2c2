#include <algorithm>

#include "read/kernel.h"

namespace tokenmill::read {

ObjectCheck read_object(Bytes body, std::span<const std::string_view> names, std::span<Value> found,
                        simd::Target target) {
    std::size_t longest = 0;
    for (const std::string_view name : names) {
        longest = std::max(longest, name.size());
    }
    // An escape of six bytes is at least one of a name.
    Members members = {names, found, std::vector<std::uint8_t>(6 * longest + kUnescapeSlack)};
    const Scan scan =
        kernel_of(target).scan_members(body.data(), body.data() + body.size(), members);
    return {scan.fault, scan.is_object};
}

Unescaped unescape(const Value& string, std::uint8_t* out, simd::Target target) noexcept {
    return kernel_of(target).unescape(string.begin, string.end, out);
}

bool is_utf8(Bytes bytes, simd::Target target) noexcept {
    return kernel_of(target).is_utf8(bytes.data(), bytes.data() + bytes.size());
}

}  // namespace tokenmill::read
