// incoming: text that is appended to a session -> whole characters in UTF-8.
#include "pipeline/incoming.h"

#include <algorithm>

#include "base/utf8.h"
#include "pipeline/transcode.h"
#include "unicode/unicode.h"

namespace tokenmill::pipeline {

namespace {

// Memory of a vector for transcode().
struct VectorSink {
    std::vector<std::uint8_t>& out;
    std::size_t begin;

    std::uint8_t* take_memory(std::size_t size) {
        begin = out.size();
        out.resize(begin + size);
        return out.data() + begin;
    }
    void give_back(std::size_t) const noexcept {}
};

}  // namespace

std::size_t unfinished_size(Bytes bytes) noexcept {
    const std::size_t most = std::min<std::size_t>(bytes.size(), 3);
    for (std::size_t size = 1; size <= most; ++size) {
        const std::uint8_t* const at = bytes.data() + bytes.size() - size;
        if (is_continuation(*at)) {
            continue;
        }
        const bool is_open =
            is_lead(*at) && char_size(*at) > size && (size == 1 || may_follow(*at, at[1]));
        return is_open ? size : 0;
    }
    return 0;
}

// Strings are whole characters; bytes may end inside one.
Incoming IncomingReader::read(const Text& text, const Incoming& before) {
    const Bytes pending(before.pending.data(), before.pending_size);
    const bool is_bytes = text.encoding == Text::Encoding::Utf8;
    const auto* const data = static_cast<const std::uint8_t*>(text.data);
    if (text.size == 0) {
        return {{}, before.pending, before.pending_size};
    }
    if (is_bytes && pending.empty()) {
        return read_bytes({data, text.size}, 0);
    }
    if (text.encoding == Text::Encoding::Trusted && pending.empty()) {
        return {{data, text.size}, {}, 0};
    }
    buffer_.assign(pending.begin(), pending.end());
    if (is_bytes || text.encoding == Text::Encoding::Trusted) {
        buffer_.insert(buffer_.end(), data, data + text.size);
    } else {
        VectorSink sink{buffer_, 0};
        const Bytes made = transcode(text, kernel_, replace_invalid_, Error::kNowhere, sink);
        buffer_.resize(sink.begin + made.size());
        if (pending.empty()) {
            return {buffer_, {}, 0};
        }
    }
    return read_bytes(buffer_, pending.size());
}

// `held`: how many of the bytes came with an earlier call.
Incoming IncomingReader::read_bytes(Bytes bytes, std::size_t held) {
    Incoming incoming;
    incoming.pending_size = unfinished_size(bytes);
    const Bytes whole = bytes.first(bytes.size() - incoming.pending_size);
    std::copy(bytes.begin() + static_cast<std::ptrdiff_t>(whole.size()), bytes.end(),
              incoming.pending.begin());
    incoming.text = whole;
    if (whole.empty() || kernel_.is_utf8(whole.data(), whole.data() + whole.size())) {
        return incoming;
    }
    if (!replace_invalid_) {
        const std::size_t at = unicode::find_fault(whole).offset;
        throw Error(ErrorCode::InvalidUtf8, "expected UTF-8, got byte " + std::to_string(whole[at]),
                    at > held ? at - held : 0);
    }
    std::vector<std::uint8_t> repaired;
    unicode::append_repaired(whole, repaired);
    buffer_.swap(repaired);
    incoming.text = buffer_;
    return incoming;
}

}  // namespace tokenmill::pipeline
