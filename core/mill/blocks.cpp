#include <algorithm>
#include <cstring>
#include <string>

#include "base/error.h"
#include "mill/mill.h"

namespace tokenmill::mill {

namespace {

// Encodes texts and joins their ids, some texts at a time.
class Joiner {
public:
    // `expected_bytes` of text will come.
    Joiner(const pipeline::Model& model, const BlockRules& rules, std::size_t expected_bytes)
        : model_(model), rules_(rules), expected_bytes_(expected_bytes) {
        if (rules.bits == 16 && model.max_id() > 0xFFFF) {
            throw Error(ErrorCode::IdTooLargeForU16, std::to_string(model.max_id()));
        }
        options_.special = rules.special;
        options_.counts = &counted_;
    }

    // What was done since the last border, apart from encoding, belongs to this stage.
    void lap(WorkStage stage) noexcept {
        const Ticks now = read_ticks();
        values_.add_ticks(stage, ticks_between(last_, now));
        last_ = now;
    }
    void add_bytes(WorkStage stage, std::uint64_t bytes) noexcept {
        values_.add_bytes(stage, bytes);
    }
    // Adds all that was counted since the joiner was made.
    void count_to(CallCounts* counts) noexcept {
        if (counts != nullptr) {
            lap(WorkStage::Other);
            values_ += counted_.values;
            counts->end_call(ticks_between(began_, last_), 1, values_);
        }
    }

    void add(const std::uint8_t* text, std::span<const std::int64_t> offsets) {
        texts_.clear();
        for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
            texts_.push_back({text + offsets[i],
                              static_cast<std::size_t>(offsets[i + 1] - offsets[i]),
                              pipeline::Text::Encoding::Trusted});
        }
        if (texts_.empty()) {
            return;
        }
        lap(WorkStage::Other);
        pipeline::Encoded encoded = model_.encode_batch(texts_, options_, {});
        last_ = read_ticks();
        const std::span<const TokenId> ids(encoded.memory.ids.as<TokenId>(), encoded.count);
        const std::span<const std::int64_t> ends(encoded.offsets.get(), offsets.size());
        if (rules_.bits == 16) {
            append<std::uint16_t>(ids, ends);
        } else {
            append<std::uint32_t>(ids, ends);
        }
        give_spare(std::move(encoded.memory.ids), ids.size_bytes(), Spares::Ids);
        lap(WorkStage::Emit);
    }

    [[nodiscard]] BlockIds take() noexcept { return std::move(out_); }

private:
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

    // The first guess fits most texts, and is the same for most blocks: so memory is used again.
    void reserve(std::size_t size_bytes) {
        if (size_bytes <= out_.ids.size_bytes()) {
            return;
        }
        const std::size_t used = out_.count * rules_.bits / 8;
        PageBuffer larger = take_spare(
            std::max({size_bytes, 2 * out_.ids.size_bytes(), expected_bytes_ * rules_.bits / 16}),
            Spares::Framed);
        if (used != 0) {
            std::memcpy(larger.data(), out_.ids.data(), used);
            give_spare(std::move(out_.ids), used, Spares::Framed);
        }
        out_.ids = std::move(larger);
    }

    const pipeline::Model& model_;
    const BlockRules& rules_;
    const std::size_t expected_bytes_;
    pipeline::Options options_;
    std::vector<pipeline::Text> texts_;
    BlockIds out_;
    CallCounts counted_;    // by the engine
    CounterValues values_;  // by this
    const Ticks began_ = read_ticks();
    Ticks last_ = began_;
};

// The end of whole lines, about `step_bytes` of them.
const std::uint8_t* step_end(const std::uint8_t* at, const std::uint8_t* end,
                             std::size_t step_bytes) {
    if (static_cast<std::size_t>(end - at) <= step_bytes) {
        return end;
    }
    const std::uint8_t* from = at + step_bytes;
    const void* newline = std::memchr(from, '\n', static_cast<std::size_t>(end - from));
    return newline == nullptr ? end : static_cast<const std::uint8_t*>(newline) + 1;
}

// Adds what was found `begin` bytes after the first line.
void add_places(read::JsonlDocuments& all, const read::JsonlDocuments& found,
                std::ptrdiff_t begin) {
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

}  // namespace

JsonlIds encode_jsonl(const pipeline::Model& model, Bytes buffer, const BlockRules& rules,
                      CallCounts* counts) {
    Joiner joiner(model, rules, buffer.size());
    JsonlIds out;
    const std::uint8_t* const end = buffer.data() + buffer.size();
    for (const std::uint8_t* at = buffer.data(); at != end;) {
        const std::uint8_t* stop = step_end(at, end, rules.step_bytes);
        joiner.lap(WorkStage::Other);
        read::JsonlDocuments found = read::read_jsonl({at, stop}, rules.read, model.target());
        joiner.lap(WorkStage::Parse);
        joiner.add_bytes(WorkStage::Parse, static_cast<std::uint64_t>(stop - at));
        const std::size_t used = found.texts.used();
        PageBuffer memory = found.texts.take_memory();
        joiner.add(memory.data(), found.texts.offsets);
        give_spare(std::move(memory), used, Spares::Texts);
        add_places(out.documents, found, at - buffer.data());
        at = stop;
    }
    out.block = joiner.take();
    joiner.count_to(counts);
    return out;
}

BlockIds encode_texts(const pipeline::Model& model, const std::uint8_t* text,
                      std::span<const std::int64_t> offsets, const BlockRules& rules,
                      CallCounts* counts) {
    Joiner joiner(model, rules,
                  offsets.empty() ? 0 : static_cast<std::size_t>(offsets.back() - offsets.front()));
    for (std::size_t first = 0; first + 1 < offsets.size();) {
        const auto stop = offsets[first] + static_cast<std::int64_t>(rules.step_bytes);
        std::size_t last = first + 1;
        while (last + 1 < offsets.size() && offsets[last] < stop) {
            ++last;
        }
        joiner.add(text, offsets.subspan(first, last - first + 1));
        first = last;
    }
    joiner.count_to(counts);
    return joiner.take();
}

}  // namespace tokenmill::mill
