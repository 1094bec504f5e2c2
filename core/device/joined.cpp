#include "device/joined.h"

#include <algorithm>
#include <cstring>

namespace tokenmill::device {

namespace {

// Writes documents one after the other, each with the ids around it.
template <typename Id>
class Writer {
public:
    Writer(const mill::BlockRules& rules, std::size_t ids, std::size_t documents,
           std::size_t most_bytes) {
        narrow(rules.before, before_);
        narrow(rules.after, after_);
        const std::size_t all = ids + documents * (before_.size() + after_.size());
        const std::size_t size = all * sizeof(Id);
        // Ids of hundreds of blocks wait for their shards, all in memory that is new at first, and
        // many threads that fault on small pages stop each other.
        std::size_t touched = 0;
        out_.ids = take_spare(std::max({size, most_bytes / 2 * sizeof(Id), std::size_t{1}}),
                              Spares::Framed, touched, Pages::Large);
        if (touched < size) {
            touch_pages(out_.ids.data() + touched, size - touched);
        }
        out_.lengths.reserve(documents);
        at_ = out_.ids.template as<Id>();
    }

    void add_device(const Id* ids, std::size_t count) {
        Id* const begin = begin_document();
        std::memcpy(at_, ids, count * sizeof(Id));
        at_ += count;
        end_document(begin);
    }

    void add_replaced(std::span<const TokenId> ids) {
        Id* const begin = begin_document();
        for (const TokenId id : ids) {
            *at_++ = static_cast<Id>(id);
        }
        end_document(begin);
    }

    [[nodiscard]] mill::BlockIds take() {
        out_.count = static_cast<std::size_t>(at_ - out_.ids.template as<Id>());
        return std::move(out_);
    }

private:
    static void narrow(const std::vector<TokenId>& ids, std::vector<Id>& out) {
        out.reserve(ids.size());
        for (const TokenId id : ids) {
            out.push_back(static_cast<Id>(id));
        }
    }

    Id* begin_document() {
        Id* const begin = at_;
        at_ = std::copy(before_.begin(), before_.end(), at_);
        return begin;
    }

    void end_document(const Id* begin) {
        at_ = std::copy(after_.begin(), after_.end(), at_);
        out_.lengths.push_back(at_ - begin);
    }

    std::vector<Id> before_;
    std::vector<Id> after_;
    mill::BlockIds out_;
    Id* at_ = nullptr;
};

// The device gives a document that it leaves to the CPU any number of ids: they are not used.
template <typename Id>
mill::BlockIds join_as(const DeviceIds& device, const ReplacedIds& replaced,
                       const mill::BlockRules& rules, std::size_t most_bytes) {
    const std::size_t documents = device.begins.size() - 1;
    const auto* const ids = reinterpret_cast<const Id*>(device.ids);
    Writer<Id> writer(rules, device.begins.back() + replaced.encoded.count, documents, most_bytes);
    std::size_t next = 0;
    for (std::size_t i = 0; i < documents; ++i) {
        if (next < replaced.numbers.size() && replaced.numbers[next] == i) {
            const std::int64_t* const ends = replaced.encoded.offsets.get() + next;
            writer.add_replaced({replaced.encoded.memory.ids.as<TokenId>() + ends[0],
                                 static_cast<std::size_t>(ends[1] - ends[0])});
            ++next;
            continue;
        }
        writer.add_device(ids + device.begins[i], device.begins[i + 1] - device.begins[i]);
    }
    return writer.take();
}

}  // namespace

mill::BlockIds join(const DeviceIds& device, const ReplacedIds& replaced,
                    const mill::BlockRules& rules, std::size_t most_bytes) {
    return rules.bits == 16 ? join_as<std::uint16_t>(device, replaced, rules, most_bytes)
                            : join_as<std::uint32_t>(device, replaced, rules, most_bytes);
}

}  // namespace tokenmill::device
