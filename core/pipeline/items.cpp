// items: one document as a list of ranges and known ids, for several workers.
#include "pipeline/items.h"

namespace tokenmill::pipeline {

namespace {

// How far to look for a place to cut: text without one, such as base64, must not be read twice.
constexpr std::size_t kCutSearch = std::size_t{1} << 16;

// The next place at or after `from`, and close to it, where a scan may start; null if there is
// none. Whether it may start depends on the characters on both sides alone (SplitView::is_sync).
const std::uint8_t* find_cut(const split::SplitView& split, const std::uint8_t* from,
                             const std::uint8_t* end) {
    while (from < end && is_continuation(*from)) {  // to the start of a character
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

// Only `begin` and `stop` change: a piece still looks ahead into the one after it, up to `end`.
void ItemList::cut(const split::SplitView& split, std::size_t size, const Stop* stop) {
    std::vector<Item> pieces;
    for (Item item : items_) {
        const std::uint8_t* from = item.text.begin + (item.is_id ? 0 : size);
        while (!item.is_id && item.text.stop - from > static_cast<std::ptrdiff_t>(size)) {
            check_stop(stop);
            const std::uint8_t* at = find_cut(split, from, item.text.stop);
            if (at == nullptr) {
                from += size;  // none nearby: make this piece longer and try again
                continue;
            }
            Item head = item;
            head.text.stop = at;
            pieces.push_back(head);
            item.text.begin = at;
            from = at + size;
        }
        pieces.push_back(item);
    }
    items_ = std::move(pieces);
}

}  // namespace tokenmill::pipeline
