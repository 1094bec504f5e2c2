// LineDevice: what is on the device when a block is encoded -> its ids on the host.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/buffer.h"
#include "device/device.h"
#include "device/joined.h"
#include "device/stopwatch.h"

namespace tokenmill::device {

namespace {

constexpr std::size_t kNumber = sizeof(std::uint32_t);

// Which documents have flags, and their texts in `text`, which has those of all documents.
std::vector<pipeline::Text> flagged_texts(std::span<const std::uint32_t> flags,
                                          const std::uint32_t* begins, const std::uint8_t* text,
                                          std::vector<std::size_t>& numbers) {
    std::vector<pipeline::Text> texts;
    for (std::size_t i = 0; i < flags.size(); ++i) {
        if (flags[i] != 0) {
            numbers.push_back(i);
            texts.push_back(
                {text + begins[i], begins[i + 1] - begins[i], pipeline::Text::Encoding::Utf8});
        }
    }
    return texts;
}

}  // namespace

ReplacedIds LineDevice::replace(const pipeline::Model& model, const Lane& lane,
                                const ReadCounts& read, const EncodedCounts& made,
                                pipeline::SpecialMode special,
                                std::vector<std::int64_t>& flags) const {
    const std::size_t documents = read.documents;
    std::vector<std::uint32_t> marks(documents, layout_.failed_flag);
    std::vector<std::uint32_t> begins(documents + 1);
    const auto take = [&](std::vector<std::uint32_t>& numbers, std::uint64_t from) {
        fetch_many(lane, reinterpret_cast<std::uint8_t*>(numbers.data()), from,
                   numbers.size() * kNumber);
    };
    take(begins, lane.doc_begin);
    if (!made.has_failed) {
        take(marks, seat_of(lane).doc_flags);
    }
    PageBuffer text = take_spare(std::max<std::size_t>(read.text_bytes, 1), Spares::Texts);
    fetch_many(lane, text.data(), lane.text, read.text_bytes);
    ReplacedIds replaced;
    const std::vector<pipeline::Text> texts =
        flagged_texts(marks, begins.data(), text.data(), replaced.numbers);
    for (const std::size_t number : replaced.numbers) {
        flags.push_back(marks[number]);
    }
    pipeline::Options options;
    options.special = special;
    replaced.encoded = model.encode_batch(texts, options, {});
    give_spare(std::move(text), read.text_bytes, Spares::Texts);
    return replaced;
}

// Through memory that the device copies to directly; more than fit there in pieces. The lines of
// the block stay where they are: who lent the lane may need them.
void LineDevice::fetch_many(const Lane& lane, std::uint8_t* to, std::uint64_t from,
                            std::size_t size) const {
    for (std::size_t at = 0; at < size; at += lane.numbers_room) {
        const std::size_t some = std::min(lane.numbers_room, size - at);
        fetch(lane, lane.numbers, from + at, some);
        settle(lane);
        std::memcpy(to + at, lane.numbers, some);
    }
}

mill::BlockIds LineDevice::take_ids(const pipeline::Model& model, const Lane& lane,
                                    const ReadCounts& read, const EncodedCounts& made,
                                    const mill::BlockRules& rules,
                                    std::vector<std::int64_t>& flags) const {
    Stopwatch watch;
    const Seat& seat = seat_of(lane);
    ReplacedIds replaced;
    if (made.has_flags) {  // first: it needs the memory that ids come through
        replaced = replace(model, lane, read, made, rules.special, flags);
        watch.lap(spent_.join);
    }
    std::vector<std::uint32_t> begins(read.documents + 1, 0);
    const std::size_t size = made.ids * rules.bits / 8;
    const std::size_t head = begins.size() * kNumber;
    const bool fits = head + size <= lane.numbers_room;
    std::vector<std::uint8_t> many;
    const std::uint8_t* ids = lane.numbers + head;
    if (made.ids != 0) {
        fetch(lane, lane.numbers, seat.doc_ids, head);
        if (fits) {
            fetch(lane, lane.numbers + head, seat.ids, size);
        }
        settle(lane);
        std::memcpy(begins.data(), lane.numbers, head);
        if (!fits) {
            many.resize(size);
            fetch_many(lane, many.data(), seat.ids, size);
            ids = many.data();
        }
    }
    watch.lap(spent_.copy_out);
    mill::BlockIds block = join({ids, begins}, replaced, rules, lane.raw_room);
    if (made.has_flags) {
        give_spare(std::move(replaced.encoded.memory.ids), replaced.encoded.count * sizeof(TokenId),
                   Spares::Ids);
    }
    watch.lap(spent_.join);
    return block;
}

}  // namespace tokenmill::device
