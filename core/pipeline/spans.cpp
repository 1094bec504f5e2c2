// spans: ids -> their places in the document.
#include "pipeline/spans.h"

#include <algorithm>
#include <cstring>

#include "base/platform.h"
#include "unicode/unicode.h"

namespace tokenmill::pipeline {

namespace {

constexpr std::uint64_t kHighBits = 0x8080808080808080U;
constexpr std::uint32_t kBlankStandIn = 0x120;  // how byte-level vocabularies write a blank

bool is_ascii(Bytes text) noexcept {
    std::uint64_t seen = 0;
    std::size_t at = 0;
    for (; at + 8 <= text.size(); at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, text.data() + at, 8);
        seen |= word;
    }
    for (; at < text.size(); ++at) {
        seen |= text[at];
    }
    return (seen & kHighBits) == 0;
}

// A bit for each of eight bytes that starts a character: all but 10xxxxxx. Its two top bits decide,
// and the multiplication gathers the top bits of eight bytes in one:
//
//   word     1-------  10------  0-------  11------     ~word | word << 1, at the top bit:
//   leads    .         0         1         1
std::uint64_t lead_bits(const std::uint8_t* at) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    const std::uint64_t leads = (~word | word << 1) & kHighBits;
    return (leads >> 7) * 0x0102040810204080U >> 56;
}

std::size_t token_bytes_size(const vocab::VocabView& vocab, TokenId id) {
    const std::size_t size = vocab.token_text(id).size();
    return size <= 0xFF ? size : 0;
}

// Tokens that continue a word are written with a prefix that is not in the text ("##ing"). The trie
// has them without it, so their depth is their size. A node has no link to its parent, but no two
// nodes have the same base, and the base of the parent is the place of a node less its byte.
void take_sizes_of_trie(const vocab::NodeTables& nodes, std::vector<std::uint8_t>& sizes) {
    const std::uint32_t* const cells = nodes.trie.cells;
    std::vector<std::uint32_t> owners(nodes.size, vocab::Trie::kRoot);  // by base
    for (std::uint32_t node = 0; node < nodes.size; ++node) {
        owners[vocab::SmallTrie::child(cells[node], 0)] = node;
    }
    // Of longer tokens the size is not kept. In a damaged trie a way may lead round in circles.
    constexpr std::size_t kLongest = 0xFF;
    const std::uint32_t continues = nodes.trie.step(vocab::Trie::kRoot, vocab::Trie::kContinues);
    for (std::uint32_t node = 0; node < nodes.size; ++node) {
        if ((cells[node] & vocab::SmallTrie::kToken) == 0) {
            continue;
        }
        std::size_t size = 0;
        std::uint32_t at = node;
        std::uint32_t top = node;
        while (at != vocab::Trie::kRoot && size <= kLongest) {
            top = at;
            ++size;
            const std::uint32_t byte = cells[at] & 0xFFU;
            at = byte <= at ? owners[at - byte] : vocab::Trie::kRoot;
        }
        if (at == vocab::Trie::kRoot && top == continues) {
            sizes[nodes.tokens[node] - 1] = static_cast<std::uint8_t>(size - 1);
        }
    }
}

}  // namespace

// Counts characters only for texts that need it: most are ASCII.
void SpanSource::open(Bytes document, SpanUnit wanted) {
    text = document;
    unit = wanted;
    aligned.clear();
    is_plain = is_ascii(document);
    if (is_plain || wanted != SpanUnit::Characters) {
        return;
    }
    const std::size_t words = document.size() / 64 + 1;
    leads.resize(words);
    before.resize(words);
    std::uint32_t count = 0;
    for (std::size_t word = 0; word < words; ++word) {
        std::uint8_t block[64] = {};
        const std::size_t size = std::min<std::size_t>(64, document.size() - 64 * word);
        const std::uint8_t* at = document.data() + 64 * word;
        if (size < 64) {
            std::memcpy(block, at, size);
            at = block;
        }
        std::uint64_t bits = 0;
        for (unsigned i = 0; i < 8; ++i) {
            bits |= lead_bits(at + std::size_t{8} * i) << 8 * i;
        }
        leads[word] = bits;
        before[word] = count;
        count += ones_of(bits);
    }
}

void SpanState::begin(SpanUnit wanted, Trim trimmed_how, const std::uint8_t* token_sizes,
                      bool drops) {
    unit = wanted;
    trim = trimmed_how;
    sizes = token_sizes;
    has_drops = drops;
    clear();
}

void SpanState::end() {
    begin(SpanUnit::None, Trim::Never, nullptr, false);
    words.kind = Words::None;
}

void SpanState::clear() {
    ranges.clear();
    fixed.clear();
    next_range = next_fixed = text_ids = open_ = 0;
    words.count = 0;
}

// Sources are used again: their vectors keep their memory.
SpanSource& SpanState::open_source() {
    if (open_ == sources_.size()) {
        sources_.push_back(std::make_unique<SpanSource>());
    }
    return *sources_[open_++];
}

void SpanState::end_batch() {
    if (!ranges.empty()) {  // its text may continue in the next batch
        ranges.front() = ranges.back();
        ranges.front().first_unit = 0;
        ranges.resize(1);
    }
    if (open_ > 1) {
        std::swap(sources_[0], sources_[open_ - 1]);
        open_ = 1;
    }
    fixed.clear();
    next_range = next_fixed = 0;
}

// The general way, for any range; places-inl.h has quicker ones for most.
Place place_of(const SpanRange& range, const std::uint8_t* begin,
               const std::uint8_t* end) noexcept {
    const SpanSource& source = *range.source;
    const auto floor = static_cast<std::ptrdiff_t>(range.floor);
    const auto first = static_cast<std::size_t>(std::max(begin - range.begin, floor));
    const auto last = static_cast<std::size_t>(std::max(end - range.begin, floor + 1)) - 1;
    std::size_t from = range.origin + first;
    std::size_t to = range.origin + last + 1;
    if (range.aligned != nullptr) {
        from = range.origin + range.aligned[first].begin;
        to = range.origin + range.aligned[last].end;
    } else if (!source.is_plain) {
        while (is_continuation(source.text[from])) {
            --from;
        }
        while (to < source.text.size() && is_continuation(source.text[to])) {
            ++to;
        }
    }
    if (source.is_plain || source.unit == SpanUnit::Bytes) {
        return {static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to)};
    }
    return {source.rank(from), source.rank(to)};
}

// In characters a blank is one; in bytes it may be up to three.
Place trimmed(const SpanSource& source, Place place, std::uint32_t lead,
              std::uint32_t tail) noexcept {
    if (source.is_plain || source.unit == SpanUnit::Characters) {
        place.begin = std::min(place.begin + lead, place.end);
        if (place.end >= tail) {
            place.end = std::max(place.end - tail, place.begin);
        }
        return place;
    }
    const Bytes text = source.text;
    for (; lead > 0 && place.begin < place.end; --lead) {
        do {
            ++place.begin;
        } while (place.begin < text.size() && is_continuation(text[place.begin]));
    }
    std::uint32_t end = place.end;
    for (; tail > 0 && end > 0; --tail) {
        do {
            --end;
        } while (is_continuation(text[end]));
    }
    if (tail == 0) {
        place.end = std::max(end, place.begin);
    }
    return place;
}

void count_blanks(Bytes text, std::uint32_t& lead, std::uint32_t& tail) noexcept {
    const auto is_blank = [](std::uint32_t code) {
        return code == kBlankStandIn || unicode::is_white_space(code);
    };
    const std::uint8_t* at = text.data();
    const std::uint8_t* const end = at + text.size();
    for (lead = 0; at != end; ++lead) {
        const unicode::Character character = unicode::read_character(at);
        if (!is_blank(character.point)) {
            break;
        }
        at += character.size;
    }
    at = end;
    for (tail = 0; at != text.data(); ++tail) {
        at = previous_char(at);
        if (!is_blank(unicode::read_character(at).point)) {
            break;
        }
    }
}

// The common case of SpanRun: most tokens stand for as many bytes of text as they have.
std::vector<std::uint8_t> token_sizes(const vocab::VocabView& vocab) {
    std::vector<std::uint8_t> sizes(vocab.token_count());
    for (TokenId id = 0; id < sizes.size(); ++id) {
        sizes[id] = static_cast<std::uint8_t>(token_bytes_size(vocab, id));
    }
    if (vocab.kind() == vocab::ModelKind::WordPiece) {
        take_sizes_of_trie(vocab.nodes(), sizes);
    }
    const vocab::Scalars& scalars = vocab.scalars();
    if (scalars.first_byte_id != 0) {
        for (std::uint32_t byte = 0; byte < 256; ++byte) {
            const TokenId id = vocab.external[scalars.first_byte_id + byte];
            // Merging starts from bytes; a look-up makes each of them stand for all unknown text.
            sizes[id] = vocab.kind() == vocab::ModelKind::Characters ? 1 : 0;
        }
    }
    if (scalars.unk_id < sizes.size()) {
        sizes[scalars.unk_id] = 0;
    }
    return sizes;
}

}  // namespace tokenmill::pipeline
