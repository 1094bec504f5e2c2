#include <algorithm>
#include <cstring>
#include <span>
#include <string>

#include "base/error.h"
#include "mill/mill.h"

namespace tokenmill::mill {

namespace {

class JsonlMill {
public:
    JsonlMill(const pipeline::Model& model, Bytes buffer, const JsonlRules& rules)
        : model_(model), buffer_(buffer), rules_(rules) {
        options_.special = rules.special;
    }

    JsonlIds run() && {
        const std::uint8_t* const end = buffer_.data() + buffer_.size();
        for (const std::uint8_t* at = buffer_.data(); at != end;) {
            const std::uint8_t* stop = step_end(at, end);
            add_lines({at, stop});
            at = stop;
        }
        return std::move(out_);
    }

private:
    // Whole lines, about a step of them.
    [[nodiscard]] const std::uint8_t* step_end(const std::uint8_t* at,
                                               const std::uint8_t* end) const {
        if (static_cast<std::size_t>(end - at) <= rules_.step_bytes) {
            return end;
        }
        const std::uint8_t* from = at + rules_.step_bytes;
        const void* newline = std::memchr(from, '\n', static_cast<std::size_t>(end - from));
        return newline == nullptr ? end : static_cast<const std::uint8_t*>(newline) + 1;
    }

    void add_lines(Bytes lines) {
        read::JsonlDocuments found = read::read_jsonl(lines, rules_.read, model_.target());
        const std::size_t used = found.texts.used();
        const std::vector<std::int64_t> offsets = std::move(found.texts.offsets);
        PageBuffer memory = found.texts.take_memory();
        encode(memory.data(), offsets);
        give_spare(std::move(memory), used, Spares::Texts);
        add_places(found, lines.data() - buffer_.data());
    }

    // The reader has checked that the texts are UTF-8.
    void encode(const std::uint8_t* text, const std::vector<std::int64_t>& offsets) {
        texts_.clear();
        for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
            texts_.push_back({text + offsets[i],
                              static_cast<std::size_t>(offsets[i + 1] - offsets[i]),
                              pipeline::Text::Encoding::Trusted});
        }
        if (texts_.empty()) {
            return;
        }
        pipeline::Encoded encoded = model_.encode_batch(texts_, options_, {});
        const std::span<const TokenId> ids(encoded.memory.ids.as<TokenId>(), encoded.count);
        const std::span<const std::int64_t> ends(encoded.offsets.get(), texts_.size() + 1);
        if (rules_.bits == 16) {
            append<std::uint16_t>(ids, ends);
        } else {
            append<std::uint32_t>(ids, ends);
        }
        give_spare(std::move(encoded.memory.ids), ids.size_bytes(), Spares::Ids);
    }

    template <typename Id>
    void append(std::span<const TokenId> ids, std::span<const std::int64_t> offsets) {
        const std::size_t around = rules_.before.size() + rules_.after.size();
        const std::size_t more = ids.size() + (offsets.size() - 1) * around;
        reserve((out_.count + more) * sizeof(Id));
        Id* out = out_.ids.as<Id>() + out_.count;
        const auto copy = [&out](const TokenId* from, std::size_t count) {
            out = std::transform(from, from + count, out,
                                 [](TokenId id) { return static_cast<Id>(id); });
        };
        for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
            const auto length = static_cast<std::size_t>(offsets[i + 1] - offsets[i]);
            copy(rules_.before.data(), rules_.before.size());
            copy(ids.data() + offsets[i], length);
            copy(rules_.after.data(), rules_.after.size());
            out_.lengths.push_back(static_cast<std::int64_t>(length + around));
        }
        out_.count += more;
    }

    // The first guess fits most texts, and is the same for all blocks: so memory is used again.
    void reserve(std::size_t size_bytes) {
        if (size_bytes <= out_.ids.size_bytes()) {
            return;
        }
        const std::size_t used = out_.count * rules_.bits / 8;
        PageBuffer larger = take_spare(
            std::max({size_bytes, 2 * out_.ids.size_bytes(), buffer_.size() * rules_.bits / 16}),
            Spares::Framed);
        if (used != 0) {
            std::memcpy(larger.data(), out_.ids.data(), used);
            give_spare(std::move(out_.ids), used, Spares::Framed);
        }
        out_.ids = std::move(larger);
    }

    // Lines and places count from the first line of the buffer.
    void add_places(const read::JsonlDocuments& found, std::ptrdiff_t begin) {
        read::JsonlDocuments& all = out_.documents;
        for (std::size_t i = 0; i < found.lines.size(); ++i) {
            all.lines.push_back(found.lines[i] + all.line_count);
            all.begins.push_back(found.begins[i] + begin);
        }
        for (read::BadLine bad : found.bad) {
            bad.line += all.line_count;
            bad.begin += begin;
            all.bad.push_back(bad);
        }
        all.line_count += found.line_count;
        all.blank_lines += found.blank_lines;
        all.repaired_utf8 += found.repaired_utf8;
        all.repaired_surrogates += found.repaired_surrogates;
    }

    const pipeline::Model& model_;
    const Bytes buffer_;
    const JsonlRules& rules_;
    pipeline::Options options_;
    std::vector<pipeline::Text> texts_;
    JsonlIds out_;
};

}  // namespace

JsonlIds encode_jsonl(const pipeline::Model& model, Bytes buffer, const JsonlRules& rules) {
    if (rules.bits == 16 && model.max_id() > 0xFFFF) {
        throw Error(ErrorCode::IdTooLargeForU16, std::to_string(model.max_id()));
    }
    return JsonlMill(model, buffer, rules).run();
}

}  // namespace tokenmill::mill
