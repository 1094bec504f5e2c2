// encode: the rare cases of a batch, one unit at a time.
#include <algorithm>

#include "base/bytes.h"
#include "encode/encode.h"
#include "encode/symbols.h"

namespace tokenmill::encode {

WordEncoder::WordEncoder(const vocab::VocabView& vocabulary, const TableBits& bits)
    : vocab(vocabulary),
      clock(counters),
      tables(WordTables::make_small(bits)),
      merger(vocabulary),
      words(vocabulary),
      sentences(vocabulary, tables),
      large_bits_(bits) {
    std::memset(key, 0, sizeof(key));
    std::memset(line, 0, sizeof(line));
    std::memset(unit, 0, sizeof(unit));
    std::memset(value, 0, sizeof(value));
}

void WordEncoder::set_stop(const Stop* wanted) noexcept {
    stop_ = wanted;
    merger.set_stop(wanted);
    words.set_stop(wanted);
    sentences.set_stop(wanted);
}

// Columns of the batch keep lines of the old tables, which are read or asked for after its last
// unit. Larger tables have these lines, too.
void WordEncoder::grow_tables() {
    if (!has_small_tables_) {
        if (!tables.leave_shared(vocab, tries_ >= kMostTries)) {
            ++tries_;
        }
        return;
    }
    const SharedTables::Opened opened = open_shared();
    if (opened == SharedTables::Opened::NotYet && ++tries_ < kMostTries) {
        return;
    }
    WordTables large =
        opened == SharedTables::Opened::Yes ? WordTables(*shared) : WordTables(vocab, large_bits_);
    large.put_words_of(tables);
    large.evicted += tables.evicted;
    tables = std::move(large);
    has_small_tables_ = false;
}

// What is remembered of a whole text is more than the ids of its words.
SharedTables::Opened WordEncoder::open_shared() noexcept {
    const bool can_share = shared != nullptr && !is_whole_text();
    return can_share ? shared->open() : SharedTables::Opened::Never;
}

// Up to three ids fit into the value itself.
std::uint64_t WordEncoder::side_value(const std::uint32_t* ids, std::uint32_t count_of_ids) {
    if (count_of_ids <= vocab::kInlineIds) {
        return vocab::pack_ids(ids, count_of_ids);
    }
    const std::uint64_t at = side.count();
    std::copy(ids, ids + count_of_ids, side.room(count_of_ids));
    side.take(count_of_ids);
    return vocab::pack_reference(vocab::kTagSide, at, count_of_ids);
}

// Words with bytes that are dropped, with shared ranks or with ends need the slow start.
bool WordEncoder::is_plain(Bytes word) const noexcept {
    if (vocab.maybe_tied(word) || vocab.has_ends()) {
        return false;
    }
    if (vocab.kind() == vocab::ModelKind::Bytes && !vocab.drops_bytes()) {
        return true;
    }
    return vocab.is_merged() && std::none_of(word.begin(), word.end(), [&](std::uint8_t byte) {
               return vocab.is_dropped(byte);
           });
}

// By the way of the vocabulary's kind; short words without ties need no heap and no windows.
void WordEncoder::encode_word(Bytes word) {
    if (is_whole_text()) {
        sentences.look_up(word, long_ids);
        return;
    }
    if (!vocab.is_merged()) {
        words.look_up(word, long_ids);
        return;
    }
    start_symbols(vocab, word, stop_, symbols);
    const bool is_tied = vocab.maybe_tied(word);
    if (symbols.size() <= kShortWord && !is_tied) {
        const auto size = static_cast<std::uint32_t>(symbols.size());
        long_ids.assign(symbols.begin(), symbols.end());
        long_ids.resize(merge_short(vocab.pairs, long_ids.data(), size));
    } else {
        long_ids.clear();
        merger.merge(symbols, is_tied, long_ids);
    }
    to_external(vocab, long_ids);
}

// Lockstep merging needs symbols that all have internal ids, and ranks that are not shared.
bool WordEncoder::start_known(Unit what) {
    constexpr std::uint32_t kMostBytes = 256;
    const Bytes word(unit_begin(what), unit_size(what));
    if (word.size() > kMostBytes || vocab.maybe_tied(word)) {
        return false;
    }
    start_symbols(vocab, word, stop_, symbols);
    return !symbols.empty() && std::find(symbols.begin(), symbols.end(), kUnknown) == symbols.end();
}

bool WordEncoder::answer_from_tables(Bytes word, std::uint64_t& answer) {
    const auto size = static_cast<std::uint32_t>(word.size());
    if (size > 16) {
        std::uint64_t key32[4];
        make_key32(word.data(), size, key32);
        const Line32* const found = tables.find32(key32, size);
        if (found == nullptr) {
            return false;
        }
        answer = side_value(found->ids, peek(found->header) & 255);
        counters.add(Tally::Hit32, 1);
        return true;
    }
    if (word[size - 1] == 0) {
        return false;  // it has no key: see remember()
    }
    const bool is_found = size > 8 ? tables.find16(load<std::uint64_t>(word.data()),
                                                   load_upper(word.data(), size), answer)
                                   : tables.find8(load_short(word.data(), size), answer);
    counters.add(size > 8 ? Tally::Hit16 : Tally::Hit8, std::uint64_t{is_found});
    return is_found;
}

bool WordEncoder::answer_unmerged(Unit what, std::uint64_t& answer) {
    const std::uint32_t size = unit_size(what);
    const Bytes word(unit_begin(what), size);
    if (size <= 32 && answer_from_tables(word, answer)) {
        return true;
    }
    // Short words are in the ring only when the store was full or their key is ambiguous.
    if (size <= WordTables::kLongest &&
        (size > 16 || word[size - 1] == 0 || tables.is_store_full())) {
        std::uint32_t count_of_ids = 0;
        if (const std::uint32_t* ids = tables.find_long(word, hash_long(word), count_of_ids)) {
            answer = side_value(ids, count_of_ids);
            counters.add(Tally::HitLong, 1);
            return true;
        }
    }
    if (vocab.ignore_merges() && vocab.maybe_unreachable(word)) {
        const TokenId whole = vocab.find(word);
        if (whole != vocab::VocabView::kNoToken && !vocab.is_reachable(whole)) {
            answer = resolve_ambiguous(word, is_piece(what), whole);
            counters.add(Tally::HitVocabulary, 1);
            return true;
        }
    }
    return false;
}

// The common case has no loops: their ends are jumps that no CPU foresees.
std::uint64_t WordEncoder::keep_merged(Unit what, std::uint32_t* ids, std::uint32_t n) {
    const Bytes word(unit_begin(what), unit_size(what));
    count_merged(word);
    if (n <= vocab::kInlineIds && word.size() <= 16 && word.back() != 0) {
        const std::uint64_t second = vocab.external[ids[n > 1 ? 1 : 0]];
        const std::uint64_t third = vocab.external[ids[n > 2 ? 2 : 0]];
        const std::uint64_t packed = std::uint64_t{n} << 60 | vocab.external[ids[0]] |
                                     (n > 1 ? second << 20 : 0) | (n > 2 ? third << 40 : 0);
        put_word(word, packed);
        return packed;
    }
    for (std::uint32_t i = 0; i < n; ++i) {
        ids[i] = vocab.external[ids[i]];
    }
    remember(word, ids, n);
    return side_value(ids, n);
}

// Needs: at most 16 bytes, the last of them not 0.
void WordEncoder::put_word(Bytes word, std::uint64_t packed) noexcept {
    const std::size_t size = word.size();
    const std::uint64_t low = load_short(word.data(), size < 8 ? size : 8);
    if (size > 8) {
        tables.put16(low, load_upper(word.data(), size), packed);
    } else {
        tables.put8(low, packed);
    }
}

std::uint64_t WordEncoder::resolve(Unit what) {
    std::uint64_t answer = 0;
    if (answer_unmerged(what, answer)) {
        return answer;
    }
    const Bytes word(unit_begin(what), unit_size(what));
    count_merged(word);
    encode_word(word);
    const auto n = static_cast<std::uint32_t>(long_ids.size());
    remember(word, long_ids.data(), n);
    return side_value(long_ids.data(), n);
}

// A token that merging cannot build: itself as a whole word, merged as a piece of one.
std::uint64_t WordEncoder::resolve_ambiguous(Bytes word, bool piece, TokenId whole) {
    if (!piece) {
        return vocab::pack_ids(&whole, 1);
    }
    encode_word(word);
    return side_value(long_ids.data(), static_cast<std::uint32_t>(long_ids.size()));
}

// Puts a word into the table for its length; into the ring if it has too many ids for that one.
//
//   bytes   1..8   9..16   17..32            up to 1024
//   table   8      16      32 (<= 7 ids)     ring
void WordEncoder::remember(Bytes word, const std::uint32_t* ids, std::uint32_t n) {
    const auto size = static_cast<std::uint32_t>(word.size());
    // A trailing NUL would make a zero-padded key equal to that of a shorter word.
    const bool is_keyed = size <= 16 && word[size - 1] != 0;
    std::uint64_t packed = 0;
    const bool fits = n <= vocab::kInlineIds;
    if (is_keyed && (fits || tables.store(vocab::kTagStored, ids, n, packed))) {
        put_word(word, fits ? vocab::pack_ids(ids, n) : packed);
    } else if (size > 16 && size <= 32 && n <= 7) {
        std::uint64_t key32[4];
        make_key32(word.data(), size, key32);
        tables.put32(key32, size, ids, n);
    } else if (size <= WordTables::kLongest) {
        tables.put_long(word, hash_long(word), ids, n);
    }
}

// Where scores are close, a piece may come out differently alone than inside its word. Such a piece
// is not remembered, and if there is text before it, its whole word is looked up (answer_unsure).
void WordEncoder::look_up_missing(std::span<const std::uint16_t> missing) {
    if (missing.empty()) {
        return;
    }
    unsure.clear();
    Repeats repeats(unit);
    for (std::size_t j = 0; j < missing.size(); ++j) {
        const std::uint16_t index = missing[j];
        if (j + 1 < missing.size()) {
            const Unit next = unit[missing[j + 1]];
            words.prefetch({unit_begin(next), unit_size(next)});
        }
        const Bytes word(unit_begin(unit[index]), unit_size(unit[index]));
        if (const std::uint32_t earlier = repeats.find(index); earlier != Repeats::kNone) {
            value[index] = value[earlier];
            counters.add(Tally::HitBatch, 1);
            continue;
        }
        if (answer_unmerged(unit[index], value[index])) {
            continue;
        }
        count_merged(word);
        words.look_up(word, long_ids);
        if (words.is_sure()) {
            repeats.add(index);
            remember(word, long_ids.data(), static_cast<std::uint32_t>(long_ids.size()));
        } else if ((unit[index] & kCutStart) != 0) {
            unsure.push_back(index);
        }
        value[index] = side_value(long_ids.data(), static_cast<std::uint32_t>(long_ids.size()));
    }
    if (!unsure.empty()) {
        answer_unsure();
    }
}

// Where the word of a unit starts, which may be in an earlier batch.
const std::uint8_t* WordEncoder::word_begin(std::uint32_t index) const noexcept {
    while (index != 0 && (unit[index] & kCutStart) != 0) {
        --index;
    }
    return (unit[index] & kCutStart) != 0 ? open_word : unit_begin(unit[index]);
}

// Looks up the words of unsure units from their start, once for all pieces of a word.
void WordEncoder::answer_unsure() {
    std::sort(unsure.begin(), unsure.end());
    for (std::size_t i = 0; i < unsure.size();) {
        const std::uint8_t* const begin = word_begin(unsure[i]);
        std::size_t next = i + 1;
        while (next < unsure.size() && word_begin(unsure[next]) == begin) {
            ++next;
        }
        const Unit last = unit[unsure[next - 1]];
        const Bytes word(begin, unit_begin(last) + unit_size(last));
        words.look_up(word, long_ids);
        for (; i < next; ++i) {
            value[unsure[i]] = value_within(word, unit[unsure[i]]);
        }
    }
}

// The ids of a piece, out of those of the word that was looked up last.
std::uint64_t WordEncoder::value_within(Bytes word, Unit piece) {
    const auto begin = static_cast<std::uint32_t>(unit_begin(piece) - word.data());
    const std::vector<WordPart>& parts = words.parts();
    const auto before = [&](std::uint32_t place) {
        return std::partition_point(parts.begin(), parts.end(),
                                    [&](const WordPart& part) { return part.begin < place; }) -
               parts.begin();
    };
    const std::ptrdiff_t first = before(begin);
    const std::ptrdiff_t last = before(begin + unit_size(piece));
    return side_value(long_ids.data() + first, static_cast<std::uint32_t>(last - first));
}

void WordEncoder::end_batch() noexcept {
    if (!vocab.is_merged() && count != 0) {
        open_word = (unit[count - 1] & kCutEnd) != 0 ? word_begin(count - 1) : nullptr;
    }
    drop_batch();
}

void WordEncoder::drop_batch() noexcept {
    side.clear();
    count = 0;
    longer_count = 0;
    longer_units.clear();
    first_asked = 0;
}

// For spans, where the sizes of the tokens do not add up to the word.
void WordEncoder::find_parts(Bytes word, std::span<const TokenId> ids,
                             std::vector<WordPart>& parts) {
    if (vocab.is_merged()) {
        measure_parts(vocab, word, ids, parts);
        return;
    }
    if (is_whole_text()) {
        sentences.find_parts(word, parts);
        return;
    }
    words.look_up(word, long_ids);
    parts = words.parts();
}

// Goes around the tables: words this long hardly ever come twice.
void WordEncoder::encode_giant(Bytes word, std::uint64_t cuts) {
    do_step(clock, WorkStage::Merge, word.size(), [&] { encode_giant_now(word, cuts); });
}

void WordEncoder::encode_giant_now(Bytes word, std::uint64_t cuts) {
    long_ids.clear();
    if (is_whole_text()) {
        sentences.look_up(word, long_ids);
        sentences.count(counters);
        counters.add_bytes(WorkStage::Merge, word.size());
        return;
    }
    if (!vocab.is_merged()) {
        count_merged(word);
        const std::uint8_t* const begin = (cuts & kCutStart) != 0 ? open_word : word.data();
        const std::uint8_t* const end = word.data() + word.size();
        words.look_up({begin, end}, long_ids);
        const auto before = static_cast<std::uint32_t>(word.data() - begin);
        const auto first = std::find_if(words.parts().begin(), words.parts().end(),
                                        [&](const WordPart& part) { return part.begin >= before; });
        long_ids.erase(long_ids.begin(), long_ids.begin() + (first - words.parts().begin()));
        open_word = begin;
        return;
    }
    if (cuts == 0 && vocab.ignore_merges()) {
        const TokenId whole = vocab.find(word);
        if (whole != vocab::VocabView::kNoToken) {
            long_ids.push_back(whole);
            counters.add(Tally::HitVocabulary, 1);
            return;
        }
    }
    count_merged(word);
    encode_word(word);
}

}  // namespace tokenmill::encode
