#include "split/added.h"

#include <algorithm>

#include "split/split.h"

namespace tokenmill::split {

namespace {

constexpr std::uint8_t kWhiteBit = 1;
constexpr std::uint8_t kWordBit = 2;

[[noreturn]] void corrupt(const char* problem) {
    throw Error(ErrorCode::CorruptModel, std::string("added tokens: ") + problem);
}

struct BuildNode {
    std::vector<std::pair<std::uint8_t, std::size_t>> children;  // sorted by byte
    std::uint32_t token = 0;
};

// Adds a text to the trie, with the children of each node in order.
void insert(std::vector<BuildNode>& nodes, const std::vector<std::uint8_t>& text,
            std::uint32_t token) {
    std::size_t at = 0;
    for (const std::uint8_t byte : text) {
        auto& children = nodes[at].children;
        const auto place = std::lower_bound(
            children.begin(), children.end(), byte,
            [](const auto& child, std::uint8_t wanted) { return child.first < wanted; });
        if (place == children.end() || place->first != byte) {
            const std::size_t made = nodes.size();
            children.insert(place, {byte, made});
            nodes.emplace_back();
            at = made;
        } else {
            at = place->second;
        }
    }
    nodes[at].token = token;  // of two equal texts the later one counts
}

// Breadth first, so that the children of a node are neighbours and their bytes can be searched.
void write_trie(const std::vector<BuildNode>& nodes, std::uint32_t nodes_id, std::uint32_t edges_id,
                BlobWriter& out) {
    std::vector<AddedNode> flat;
    std::vector<std::uint8_t> edges = {0};
    std::vector<std::size_t> order = {0};
    for (std::size_t i = 0; i < order.size(); ++i) {
        const BuildNode& node = nodes[order[i]];
        flat.push_back({static_cast<std::uint32_t>(order.size()),
                        static_cast<std::uint32_t>(node.children.size()), node.token});
        for (const auto& [byte, child] : node.children) {
            edges.push_back(byte);
            order.push_back(child);
        }
    }
    out.add(nodes_id, flat);
    out.add(edges_id, edges);
}

}  // namespace

void compile_added(const std::vector<AddedText>& texts, std::span<const std::uint32_t> white_ranges,
                   std::span<const std::uint32_t> word_ranges, BlobWriter& out) {
    std::vector<BuildNode> raw(1);
    std::vector<BuildNode> normal(1);
    std::vector<AddedToken> tokens;
    for (const AddedText& text : texts) {
        tokens.push_back(text.token);
        if (!text.content.empty()) {
            const bool is_normal = (text.token.flags & kNormalized) != 0;
            insert(is_normal ? normal : raw, text.content,
                   static_cast<std::uint32_t>(tokens.size()));
        }
    }
    out.add(kAddedInfo, tokens);
    write_trie(raw, kAddedNodes, kAddedEdges, out);
    write_trie(normal, kNormalNodes, kNormalEdges, out);
    // Two sets of code points become one class table: ranges of equal bits.
    std::vector<std::uint8_t> bits(0x110000, 0);
    const auto mark = [&](std::span<const std::uint32_t> ranges, std::uint8_t bit) {
        for (std::size_t i = 0; i + 1 < ranges.size(); i += 2) {
            for (std::uint32_t c = ranges[i]; c < ranges[i + 1] && c < bits.size(); ++c) {
                bits[c] = static_cast<std::uint8_t>(bits[c] | bit);
            }
        }
    };
    mark(white_ranges, kWhiteBit);
    mark(word_ranges, kWordBit);
    std::vector<std::uint32_t> ranges;
    for (std::uint32_t begin = 0; begin < bits.size();) {
        std::uint32_t end = begin + 1;
        while (end < bits.size() && bits[end] == bits[begin]) {
            ++end;
        }
        ranges.insert(ranges.end(), {begin, end, bits[begin]});
        begin = end;
    }
    write_classes(ranges, kAddedWhite, kAddedWhite + 1, kAddedWhite + 2, out);
}

AddedMatcher::AddedMatcher(std::span<const AddedNode> nodes, std::span<const std::uint8_t> edges)
    : nodes_(nodes), edges_(edges) {
    if (nodes.empty() || edges.size() != nodes.size()) {
        corrupt("a trie of impossible size");
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const AddedNode& node = nodes[i];
        if (node.child_count > 256 || node.first_child > nodes.size() ||
            node.child_count > nodes.size() - node.first_child ||
            (node.child_count != 0 && node.first_child <= i)) {
            corrupt("a trie node leads out of the table");
        }
    }
    std::uint8_t prefix[3] = {};
    add_to_filter(0, 0, prefix);
}

// Adds all texts below a node. A bucket is chosen by the first two bytes: texts that start alike
// share one, so that buckets mix as little as possible.
void AddedMatcher::add_to_filter(std::uint32_t node, unsigned depth, std::uint8_t* prefix) {
    const bool is_end = node != 0 && nodes_[node].token != 0;
    if (depth == 3 || is_end) {
        unsigned bucket = depth > 0 ? prefix[0] % 8U : 0;
        bucket = depth > 1 ? (bucket * 5U + prefix[1]) % 8U : bucket;
        const auto bit = static_cast<std::uint8_t>(1U << bucket);
        for (unsigned i = 0; i < 3; ++i) {
            for (unsigned nibble = 0; nibble < 16; ++nibble) {
                const bool any = i >= depth;  // a shorter text: what follows it does not matter
                filter_.low[i][nibble] |= any || (prefix[i] & 15U) == nibble ? bit : 0;
                filter_.high[i][nibble] |= any || prefix[i] >> 4U == nibble ? bit : 0;
            }
        }
        return;
    }
    for (std::uint32_t k = 0; k < nodes_[node].child_count; ++k) {
        const std::uint32_t child = nodes_[node].first_child + k;
        prefix[depth] = edges_[child];
        add_to_filter(child, depth + 1, prefix);
    }
}

std::size_t AddedMatcher::longest(const std::uint8_t* at, const std::uint8_t* end,
                                  std::uint32_t& token) const noexcept {
    std::size_t found = 0;
    std::uint32_t node = 0;
    for (const std::uint8_t* p = at; p < end;) {
        const std::uint8_t* const first = edges_.data() + nodes_[node].first_child;
        const std::uint8_t* const last = first + nodes_[node].child_count;
        const std::uint8_t* const place = std::lower_bound(first, last, *p);
        if (place == last || *place != *p) {
            break;
        }
        node = static_cast<std::uint32_t>(place - edges_.data());
        ++p;
        if (nodes_[node].token != 0) {
            found = static_cast<std::size_t>(p - at);
            token = nodes_[node].token;
        }
    }
    return found;
}

AddedView::AddedView(const BlobReader& blob)
    : raw(blob.get<AddedNode>(kAddedNodes), blob.get<std::uint8_t>(kAddedEdges)),
      normal(blob.get<AddedNode>(kNormalNodes), blob.get<std::uint8_t>(kNormalEdges)),
      tokens(blob.get<AddedToken>(kAddedInfo)),
      classes_(read_classes(blob, kAddedWhite, kAddedWhite + 1, kAddedWhite + 2)) {
    for (const auto id : {kAddedNodes, kNormalNodes}) {
        for (const AddedNode& node : blob.get<AddedNode>(id)) {
            if (node.token > tokens.size()) {
                corrupt("a trie names a token that does not exist");
            }
        }
    }
}

// A candidate of the filter is checked in the trie. What was visited is not searched again, taken
// or not; a single word that touches another is not visited.
template <typename Visit>
void AddedView::scan(const AddedMatcher& matcher, Bytes text, ByteRange range,
                     FindCandidate find_candidate, const Visit& visit) const {
    const std::uint8_t* const first = text.data();
    const std::uint8_t* const end = first + range.end;
    for (const std::uint8_t* at = first + range.begin; at < end;) {
        at = find_candidate(matcher.filter(), at, end);
        std::uint32_t token = 0;
        const std::size_t size = at < end ? matcher.longest(at, end, token) : 0;
        if (size == 0) {
            ++at;
            continue;
        }
        const auto begin = static_cast<std::size_t>(at - first);
        at += size;
        if ((tokens[token - 1].flags & kSingleWord) == 0 || is_alone(text, begin, begin + size)) {
            visit(begin, begin + size, token);
        }
    }
}

// What a token strips on its left was text before it, never a part of the token before (`done`).
void AddedView::take(Segmenting& cut, std::size_t begin, std::size_t stop,
                     std::uint32_t token) const {
    const std::uint32_t flags = tokens[token - 1].flags;
    if ((flags & kStripLeft) != 0) {
        begin = strip_left(cut.text, begin, cut.done);
    }
    if ((flags & kStripRight) != 0) {
        if (stop < cut.white.begin || stop > cut.white.end) {  // else the run just walked
            cut.white = {stop, strip_right(cut.text, stop)};
        }
        stop = cut.white.end;
    }
    if (begin >= stop) {
        return;  // the token before it has taken all of its characters
    }
    if (cut.done < begin) {
        cut.out.push_back({cut.done, begin, 0});
    }
    cut.out.push_back({begin, stop, token});
    cut.done = stop;
}

void AddedView::finish(Segmenting& cut) {
    if (cut.done < cut.text.size()) {
        cut.out.push_back({cut.done, cut.text.size(), 0});
    }
}

void AddedView::find_added_tokens(const AddedMatcher& matcher, Bytes text, std::uint32_t skip_flags,
                                  FindCandidate find_candidate, std::vector<Segment>& out) const {
    Segmenting cut{text, out};
    scan(matcher, text, {0, text.size()}, find_candidate,
         [&](std::size_t begin, std::size_t end, std::uint32_t token) {
             if ((tokens[token - 1].flags & skip_flags) == 0) {
                 take(cut, begin, end, token);
             }
         });
    finish(cut);
}

void AddedView::find_control_tokens(const AddedMatcher& matcher, Bytes text, const Trusted& trusted,
                                    FindCandidate find_candidate, std::vector<Segment>& out) const {
    for (const ByteRange& range : trusted.ranges) {
        scan(matcher, text, range, find_candidate,
             [&](std::size_t begin, std::size_t end, std::uint32_t token) {
                 if (trusted.control[token - 1] != 0) {
                     out.push_back({begin, end, token});
                 }
             });
    }
}

void AddedView::find_around(const AddedMatcher& matcher, Bytes text, std::span<const Segment> known,
                            const Trusted& trusted, FindCandidate find_candidate,
                            std::vector<Segment>& out) const {
    Segmenting cut{text, out};
    const auto scan_others = [&](ByteRange range) {
        scan(matcher, text, range, find_candidate,
             [&](std::size_t begin, std::size_t end, std::uint32_t token) {
                 if (trusted.control[token - 1] == 0) {
                     take(cut, begin, end, token);
                 }
             });
    };
    std::size_t from = 0;
    for (const Segment& token : known) {
        scan_others({from, token.begin});
        take(cut, token.begin, token.end, token.token);
        from = token.end;
    }
    scan_others({from, text.size()});
    finish(cut);
}

// No word character directly before or after [begin, end).
bool AddedView::is_alone(Bytes text, std::size_t begin, std::size_t end) const noexcept {
    const auto is_word = [&](std::size_t at) {
        const TmU32 size = char_size(text[at]);
        return (classes_.of(decode_char(text.data() + at, size)) & kWordBit) != 0;
    };
    std::size_t before = begin;
    if (before > 0) {
        do {
            --before;
        } while (before > 0 && is_continuation(text[before]));
    }
    return (begin == 0 || !is_word(before)) && (end == text.size() || !is_word(end));
}

// Start of the white space that ends at `begin`, at least `limit`.
std::size_t AddedView::strip_left(Bytes text, std::size_t begin, std::size_t limit) const noexcept {
    while (begin > limit) {
        std::size_t before = begin - 1;
        while (before > limit && is_continuation(text[before])) {
            --before;
        }
        const TmU32 size = char_size(text[before]);
        if ((classes_.of(decode_char(text.data() + before, size)) & kWhiteBit) == 0) {
            break;
        }
        begin = before;
    }
    return std::max(begin, limit);
}

// End of the white space that starts at `end`.
std::size_t AddedView::strip_right(Bytes text, std::size_t end) const noexcept {
    while (end < text.size()) {
        const TmU32 size = char_size(text[end]);
        if ((classes_.of(decode_char(text.data() + end, size)) & kWhiteBit) == 0) {
            break;
        }
        end += size;
    }
    return end;
}

}  // namespace tokenmill::split
