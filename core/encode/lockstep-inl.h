// encode: short words -> merged ids, several words at once. Text compiled once per target, inside
// its namespace. A merge needs two look-ups in a table that no cache holds whole; while one word
// waits for its lines, the others continue. Each step has two rounds: the first chooses every
// word's next merge and asks for the lines, the second reads them. The only jump that depends on
// the data is "this word is done" (log 2026-11-15).

constexpr std::uint32_t kNoSymbol = vocab::kIdMask;  // pairs with nothing

// The rank of the pair with this key, for `lane`. A full line may continue in the next one, which
// is rare enough for a jump.
TOKENMILL_INLINE std::uint32_t rank_of(const vocab::PairTable& pairs, std::uint64_t key,
                                       std::uint64_t line, unsigned lane) noexcept {
    const std::uint64_t* slots = pairs.slots + vocab::PairTable::kLine * line;
    const unsigned same = equal_slots(slots, key);
    const auto made =
        static_cast<std::uint32_t>(slots[trailing_zeros(same | 0x80U)]) & vocab::kIdMask;
    std::uint32_t missing = 0U - std::uint32_t{same == 0};
    TOKENMILL_KEEP(missing);  // the compiler would make a jump of this
    if (unlikely((missing & static_cast<std::uint32_t>(slots[7] != 0)) != 0)) {
        const std::uint32_t found = pairs.find(key, (line + 1) & pairs.mask);
        return found == vocab::kNoMerge ? kNoRank : found << kLaneBits | lane;
    }
    return (made << kLaneBits | lane) | missing;
}

// An unfinished word, and the merge that was chosen for it.
template <unsigned kGroups>
struct WordInStep {
    Lanes<kGroups> ranks;
    std::uint64_t alive;  // bit i: symbol i is not merged away
    std::uint64_t key_before;
    std::uint64_t key_at;
    std::uint32_t line_before;
    std::uint32_t line_at;
    std::uint32_t index;  // which word of the list
    std::uint32_t at;
    std::uint32_t gone;
    std::uint32_t before;
    // The first and the last are sentinels that pair with nothing: every symbol has neighbours.
    std::uint32_t symbol[16 * kGroups + 2];
};

// Words that wait to be merged in step, as symbols.
template <unsigned kGroups>
struct StepList {
    static constexpr std::uint32_t kRoom = 64;
    static constexpr unsigned kLongest = kGroups == 4 ? 62 : 16 * kGroups;  // `alive` has two more

    std::uint32_t count = 0;
    std::uint16_t unit[kRoom];  // index in the batch
    std::uint8_t size[kRoom];
    std::uint32_t symbols[kRoom][16 * kGroups];

    // Needs: room, and at most kLongest symbols. Asks for the lines that start_word reads.
    void add(const vocab::PairTable& pairs, std::uint16_t unit_index, const std::uint32_t* word,
             std::size_t word_size) noexcept {
        std::uint32_t* to = symbols[count];
        to[0] = word[0];
        for (std::size_t i = 1; i < word_size; ++i) {
            to[i] = word[i];
            const std::uint64_t key = vocab::PairTable::key_of(word[i - 1], word[i]);
            prefetch_line(pairs.slots + vocab::PairTable::kLine * pairs.line_of(key));
        }
        unit[count] = unit_index;
        size[count++] = static_cast<std::uint8_t>(word_size);
    }
};

// A word of at least two bytes -> the symbols that merging continues from: pairs of bytes that
// surely merge are merged (vocab/sure_pair.h), which is about half of all merges. Without jumps.
// Returns how many symbols; there is room for one for each byte.
//
//   bytes     t   h   e   n
//   pairs      th  he  en            "he" is less than all that could take "h" or "e"
//   symbols   t   he      n
inline unsigned merge_sure_pairs(const vocab::SurePair* pairs, const std::uint8_t* word,
                                 unsigned size, std::uint32_t* symbols) noexcept {
    constexpr vocab::SurePair kNone = ~vocab::SurePair{0};
    vocab::SurePair before = kNone;
    vocab::SurePair pair = pairs[word[0] << 8U | word[1]];
    std::uint32_t was_sure = 0;  // then this byte is part of the symbol before it
    unsigned count = 0;
    for (unsigned i = 0; i + 1 < size; ++i) {
        const vocab::SurePair after = i + 2 < size ? pairs[word[i + 1] << 8U | word[i + 2]] : kNone;
        const std::uint32_t made = vocab::made_of(pair);
        const std::uint32_t is_sure =
            ((made - vocab::least_left_of(before)) & (made - vocab::least_right_of(after))) >> 31;
        symbols[count] = word[i] ^ ((word[i] ^ made) & (0U - is_sure));
        count += 1 - was_sure;
        was_sure = is_sure;
        before = pair;
        pair = after;
    }
    symbols[count] = word[size - 1];
    return count + 1 - was_sure;
}

template <unsigned kGroups>
TOKENMILL_INLINE void start_word(const vocab::PairTable& pairs, const StepList<kGroups>& list,
                                 std::uint32_t index, WordInStep<kGroups>& word) noexcept {
    const unsigned size = list.size[index];
    const std::uint32_t* symbols = list.symbols[index];
    alignas(64) std::uint32_t ranks[16 * kGroups];
    std::memset(ranks, 0xFF, sizeof(ranks));  // kNoRank
    word.symbol[0] = kNoSymbol;
    word.symbol[1] = symbols[0];
    for (unsigned i = 1; i < size; ++i) {
        word.symbol[i + 1] = symbols[i];
        const std::uint64_t key = vocab::PairTable::key_of(symbols[i - 1], symbols[i]);
        ranks[i - 1] = rank_of(pairs, key, pairs.line_of(key), i - 1);
    }
    word.index = index;
    word.ranks = Lanes<kGroups>::of_ranks(ranks);
    word.alive = low_bits(size + 2);
    word.symbol[size + 1] = kNoSymbol;
}

// Merges the pair of the least rank and asks for the lines of its new neighbours:
//
//   symbol   ^  t  h  e  n  $          ^ $: sentinels
//   alive    1  1  1  1  1  1
//               at gone                 "t" + "h" becomes `made`
//   alive    1  1  0  1  1  1           `before` is ^, the one after `gone` is e
template <unsigned kGroups>
TOKENMILL_INLINE void choose_merge(const vocab::PairTable& pairs, WordInStep<kGroups>& word,
                                   std::uint32_t least) noexcept {
    const std::uint32_t made = least >> kLaneBits;
    const unsigned at = (least & ((1U << kLaneBits) - 1)) + 1;
    std::uint64_t above = word.alive & (~std::uint64_t{1} << at);
    const unsigned gone = trailing_zeros(above);
    above &= above - 1;
    const unsigned before = top_bit(word.alive & low_bits(at));
    word.alive ^= std::uint64_t{1} << gone;
    word.symbol[at] = made;
    word.at = at;
    word.gone = gone;
    word.before = before;
    word.key_before = vocab::PairTable::key_of(word.symbol[before], made);
    word.key_at = vocab::PairTable::key_of(made, word.symbol[trailing_zeros(above)]);
    word.line_before = static_cast<std::uint32_t>(pairs.line_of(word.key_before));
    word.line_at = static_cast<std::uint32_t>(pairs.line_of(word.key_at));
    prefetch_line(pairs.slots + vocab::PairTable::kLine * word.line_before);
    prefetch_line(pairs.slots + vocab::PairTable::kLine * word.line_at);
}

template <unsigned kGroups>
TOKENMILL_INLINE void finish_merge(const vocab::PairTable& pairs,
                                   WordInStep<kGroups>& word) noexcept {
    const std::uint32_t rank_before =
        rank_of(pairs, word.key_before, word.line_before, word.before - 1);
    const std::uint32_t rank_at = rank_of(pairs, word.key_at, word.line_at, word.at - 1);
    word.ranks.update(word.gone - 1, word.before - 1, rank_before, word.at - 1, rank_at);
}

// Replaces the symbols of every word of the list by what they merge to, and calls done(index in the
// list) for it, in any order. A word that is done is replaced by the next of the list, so that the
// number in step stays the same.
template <unsigned kGroups, typename Done>
void merge_in_step(const vocab::PairTable& pairs, StepList<kGroups>& list, Done done) {
    constexpr std::uint32_t kAtOnce = kGroups == 1 ? 12 : kGroups == 2 ? 8 : 6;
    WordInStep<kGroups> words[kAtOnce];
    std::uint32_t started = 0;
    std::uint32_t running = 0;
    while (running < kAtOnce && started < list.count) {
        start_word(pairs, list, started++, words[running++]);
    }
    const auto finish = [&](const WordInStep<kGroups>& word) {
        const std::uint64_t ends = std::uint64_t{1} << top_bit(word.alive) | 1U;
        const unsigned count =
            pick_symbols(word.ranks, word.symbol, word.alive ^ ends, list.symbols[word.index]);
        list.size[word.index] = static_cast<std::uint8_t>(count);
        done(word.index);
    };
    while (running != 0) {
        for (std::uint32_t k = 0; k < running;) {
            const std::uint32_t least = words[k].ranks.least();
            if (likely(least != kNoRank)) {
                choose_merge(pairs, words[k], least);
                ++k;
                continue;
            }
            finish(words[k]);
            if (started < list.count) {
                start_word(pairs, list, started++, words[k]);
            } else if (--running != k) {
                words[k] = words[running];
            }
        }
        for (std::uint32_t k = 0; k < running; ++k) {
            finish_merge(pairs, words[k]);
        }
    }
}
