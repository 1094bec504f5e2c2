// Parts of a text, some of them trusted -> the ids of the joined text.
#include <algorithm>

#include "pipeline/pipeline.h"
#include "pipeline/transcode.h"
#include "unicode/unicode.h"

namespace tokenmill::pipeline {

namespace {

// The parts as one text of UTF-8, and where the trusted ones are. Each part is checked and repaired
// by itself, so that bytes of one never complete a character of another.
class JoinedText {
public:
    JoinedText(std::span<const Part> parts, const EncodeKernel& kernel, bool replace)
        : kernel_(kernel), replace_(replace) {
        std::size_t bound = kTranscodeSlack;
        for (const Part& part : parts) {
            bound += utf8_bound(part.text);
        }
        bytes_.reserve(bound);
        for (std::size_t i = 0; i < parts.size(); ++i) {
            add(parts[i], i);
        }
    }

    [[nodiscard]] Text text() const noexcept {
        return {bytes_.data(), bytes_.size(), Text::Encoding::Trusted};
    }
    [[nodiscard]] std::span<const ByteRange> ranges() const noexcept { return ranges_; }

private:
    void add(const Part& part, std::size_t index) {
        const std::size_t begin = bytes_.size();
        append(part.text, index);
        if (!part.is_trusted || bytes_.size() == begin) {
            return;
        }
        if (!ranges_.empty() && ranges_.back().end == begin) {
            ranges_.back().end = bytes_.size();
        } else {
            ranges_.push_back({begin, bytes_.size()});
        }
    }

    void append(const Text& text, std::size_t index) {
        const std::size_t begin = bytes_.size();
        if (text.encoding != Text::Encoding::Utf8 && text.encoding != Text::Encoding::Trusted) {
            bytes_.resize(begin + utf8_bound(text) + kTranscodeSlack);
            const std::size_t size =
                write_utf8(units_of(text), kernel_, replace_, index, bytes_.data() + begin);
            bytes_.resize(begin + size);
            return;
        }
        const Bytes bytes(static_cast<const std::uint8_t*>(text.data), text.size);
        const bool is_good = text.encoding == Text::Encoding::Trusted || bytes.empty() ||
                             kernel_.is_utf8(bytes.data(), bytes.data() + bytes.size());
        if (is_good) {
            bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
        } else if (replace_) {
            unicode::append_repaired(bytes, bytes_);
        } else {
            refuse_bytes(bytes, index);
        }
    }

    const EncodeKernel& kernel_;
    bool replace_;
    std::vector<std::uint8_t> bytes_;
    std::vector<ByteRange> ranges_;
};

}  // namespace

Encoded Model::encode_parts(std::span<const Part> parts, const ControlTokens& control,
                            Options options, std::size_t& leaked) const {
    const JoinedText joined(parts, *kernel_, options.replace_invalid);
    std::size_t put = 0;
    const Trust trust{control, joined.ranges(), put};
    options.trust = &trust;
    const Text text = joined.text();
    options.threads = text.size >= kBigDocument ? options.threads : 1;
    Encoded encoded = encode_batch({&text, 1}, options, {});
    const std::span<const TokenId> ids(encoded.memory.ids.as<TokenId>(), encoded.count);
    leaked = control.count_in(ids) - put;
    return encoded;
}

}  // namespace tokenmill::pipeline
