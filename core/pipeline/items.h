// items: one document as a list of ranges and known ids, for several workers. Internal to pipeline.
#pragma once

#include <memory>
#include <vector>

#include "pipeline/worker.h"

namespace tokenmill::pipeline {

// A range of text to encode, or one known id.
struct Item {
    TextRange text;
    SpanRange place;  // of the text, if spans are wanted
    TokenId id = 0;
    FixedSpan span;  // of the id, if spans are wanted
    bool is_id = false;

    [[nodiscard]] std::size_t size() const noexcept {
        return static_cast<std::size_t>(text.stop - text.begin);
    }
};

// A sink of DocumentReader that keeps what it gets, so that workers can share one document. It owns
// the memory its items point into, except for the caller's text.
class ItemList {
public:
    // A list that moved would leave its items pointing at the span source of the old one.
    ItemList() = default;
    ItemList(const ItemList&) = delete;
    ItemList& operator=(const ItemList&) = delete;

    [[nodiscard]] std::uint8_t* take_memory(std::size_t size) {
        return memory_.emplace_back(std::make_unique_for_overwrite<std::uint8_t[]>(size)).get();
    }
    void give_back(std::size_t /*size*/) const noexcept {}  // each piece is an allocation
    [[nodiscard]] SpanSource& open_source() noexcept { return source_; }
    void range(const TextRange& text, const SpanRange& place) {
        items_.push_back({text, place, 0, {}, false});
    }
    void id(TokenId id, const FixedSpan& span) { items_.push_back({{}, {}, id, span, true}); }

    // Cuts ranges longer than `size` bytes where a scan may start, so that workers can share them.
    void cut(const split::SplitView& split, std::size_t size, const Stop* stop);
    void clear() noexcept { items_.clear(); }

    [[nodiscard]] const std::vector<Item>& items() const noexcept { return items_; }

private:
    std::vector<std::unique_ptr<std::uint8_t[]>> memory_;
    SpanSource source_;
    std::vector<Item> items_;
};

}  // namespace tokenmill::pipeline
