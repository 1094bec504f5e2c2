#include "pipeline/plan.h"

namespace tokenmill::pipeline {

namespace {

constexpr std::size_t kTaskBytes = std::size_t{1} << 19;
constexpr std::size_t kBigDocument = std::size_t{1} << 20;
constexpr std::size_t kCutSearch = std::size_t{1} << 16;

// The next place at or behind `from`, and not far from it, where a scan may start; else null.
const std::uint8_t* find_cut(const split::SplitView& split, const std::uint8_t* from,
                             const std::uint8_t* end) {
    while (from < end && is_continuation(*from)) {
        ++from;
    }
    const std::uint8_t* limit =
        static_cast<std::size_t>(end - from) > kCutSearch ? from + kCutSearch : end;
    while (from < limit) {
        const TmU32 size = char_size(*from);
        const std::uint32_t left = decode_char(from, size);
        from += size;
        if (from < end && split.is_sync(left, decode_char(from, char_size(*from)))) {
            return from;
        }
    }
    return nullptr;
}

}  // namespace

void cut_items(const split::SplitView& split, std::vector<Item>& items) {
    std::vector<Item> pieces;
    for (Item item : items) {
        const std::uint8_t* from = item.begin + (item.is_id ? 0 : kTaskBytes);
        while (!item.is_id && item.stop - from > std::ptrdiff_t{kTaskBytes}) {
            const std::uint8_t* at = find_cut(split, from, item.stop);
            if (at == nullptr) {
                from += kTaskBytes;  // nowhere near: a longer piece, and another try
                continue;
            }
            Item head = item;
            head.stop = at;
            pieces.push_back(head);
            item.begin = at;
            from = at + kTaskBytes;
        }
        pieces.push_back(item);
    }
    items = std::move(pieces);
}

Plan::Plan(const Model& model, std::span<const Text> texts, const Options& options)
    : model_(model), texts_(texts), options_(options) {
    Task task;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
        bound_ += DocumentReader::bound_of(model_, texts_[i]);
        // Words are numbered over a whole document.
        if (options_.threads > 1 && texts_[i].size >= kBigDocument && !options_.words) {
            close(task, i);
            plan_big(i);
            task.first = i + 1;
            bytes = 0;
            continue;
        }
        bytes += texts_[i].size;
        if (bytes >= kTaskBytes) {
            close(task, i + 1);
            bytes = 0;
        }
    }
    close(task, texts_.size());
}

void Plan::close(Task& task, std::size_t last) {
    if (task.first < last) {
        task.last = last;
        tasks_.push_back(task);
    }
    task.first = last;
}

void Plan::read_big(std::size_t document, BigDocument& big) {
    try {
        Model::Lease lease(model_);
        lease.worker().reserve(0);
        DocumentReader(model_, lease.worker(), options_)
            .list_items(texts_[document], document, big.own, big.source, big.items);
    } catch (...) {
        big.failure = std::current_exception();
        big.items.clear();
    }
}

void Plan::plan_big(std::size_t document) {
    big_.push_back(std::make_unique<BigDocument>());
    BigDocument& big = *big_.back();
    read_big(document, big);
    cut_items(model_.split(), big.items);
    Task task;
    task.big = &big;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < big.items.size(); ++i) {
        bytes += static_cast<std::size_t>(big.items[i].stop - big.items[i].begin) + 16;
        if (bytes >= kTaskBytes) {
            task.last = i + 1;
            task.ends_document = false;
            tasks_.push_back(task);
            task.first = i + 1;
            bytes = 0;
        }
    }
    task.last = big.items.size();
    task.ends_document = true;
    tasks_.push_back(task);
}

}  // namespace tokenmill::pipeline
