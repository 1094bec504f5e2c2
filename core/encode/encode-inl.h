// encode: the units of a batch -> ids. Text compiled once per target, inside its namespace.
// A unit is a word or, where the junction filter allows a cut, a piece of one. Tables are larger
// than the near caches, so every line is asked for (prefetch) well before it is read, and nothing
// in the common path depends on a jump.

// Makes keys of 9 to 16 bytes for the units that were appended without one. Without jumps: a unit
// is written to both lists, and one of the counts grows. A key with a lower half of 0 is left to
// the others: another worker may write the two halves of such a key while they are compared.
TOKENMILL_NOINLINE inline void make_keys16(encode::WordEncoder& e) noexcept {
    encode::LongerUnits& longer = e.longer_units;
    const unsigned shift = 64 - e.tables.bits.words16;
    std::uint32_t n16 = longer.n16;
    std::uint32_t n_others = longer.n_others;
    for (std::uint32_t j = 0; j < e.longer_count; ++j) {
        const std::uint16_t i = e.longer[j];
        const encode::Unit unit = e.unit[i];
        const std::uint32_t size = encode::unit_size(unit);
        const std::uint8_t* const word = encode::unit_begin(unit);
        const std::uint64_t low = load<std::uint64_t>(word);
        const std::uint64_t last8 = load<std::uint64_t>(word + size - 8);
        const std::uint64_t high = last8 >> ((128 - 8 * size) & 63);  // as load_upper
        const std::uint32_t is16 =
            std::uint32_t{size <= 16} & std::uint32_t{last8 >> 56 != 0} & std::uint32_t{low != 0};
        longer.key16[std::size_t{2} * n16] = low;
        longer.key16[std::size_t{2} * n16 + 1] = high;
        longer.line16[n16] = static_cast<std::uint32_t>(hash_pair(low, high) >> shift);
        longer.in16[n16] = i;
        longer.others[n_others] = i;
        n16 += is16;
        n_others += 1 - is16;
    }
    e.longer_count = 0;
    longer.n16 = n16;
    longer.n_others = n_others;
}

// Words whose ids are known because no character of theirs is go to the others.
inline void drop_unknown16(const encode::WordEncoder& e, encode::LongerUnits& longer) noexcept {
    std::uint32_t kept = longer.asked16;
    for (std::uint32_t j = kept; j < longer.n16; ++j) {
        const std::uint16_t i = longer.in16[j];
        if (e.words.is_unknown({encode::unit_begin(e.unit[i]), encode::unit_size(e.unit[i])})) {
            longer.others[longer.n_others++] = i;
            continue;
        }
        longer.in16[kept] = i;
        longer.key16[std::size_t{2} * kept] = longer.key16[std::size_t{2} * j];
        longer.key16[std::size_t{2} * kept + 1] = longer.key16[std::size_t{2} * j + 1];
        longer.line16[kept++] = longer.line16[j];
    }
    longer.n16 = kept;
}

// Asks for the lines of units of 9 to 16 bytes.
inline void ask_lines16(encode::WordEncoder& e, encode::LongerUnits& longer) noexcept {
    if (e.longer_count != 0) {
        make_keys16(e);
    }
    if (e.words.has_unknown()) {
        drop_unknown16(e, longer);
    }
    for (std::uint32_t j = longer.asked16; j < longer.n16; ++j) {
        prefetch_line(&e.tables.lines16[longer.line16[j]]);
    }
    longer.asked16 = longer.n16;
}

// The same for 17 to 32 bytes.
inline void find_sets32(const encode::WordEncoder& e, encode::LongerUnits& longer,
                        std::uint32_t first) noexcept {
    for (std::uint32_t j = first; j < longer.n32; ++j) {
        const encode::Unit unit = e.unit[longer.in32[j]];
        const std::uint32_t size = encode::unit_size(unit);
        std::uint64_t key[4];
        encode::make_key32(encode::unit_begin(unit), size, key);
        const std::uint32_t set = e.tables.set_to_read(encode::hash_key32(key, size));
        const encode::Line32* lines = e.tables.lines32 + std::size_t{2} * set;
        prefetch_line(lines);
        prefetch_line(lines + 1);
        longer.set32[j] = set;
    }
}

// The others: of more than 16 bytes, or without a key for the two smaller tables.
TOKENMILL_NOINLINE inline void ask_others(encode::WordEncoder& e,
                                          encode::LongerUnits& longer) noexcept {
    const bool has_unknown = e.words.has_unknown();
    const std::uint32_t first32 = longer.n32;
    for (std::uint32_t j = longer.asked_others; j < longer.n_others; ++j) {
        const std::uint16_t i = longer.others[j];
        const std::uint32_t size = encode::unit_size(e.unit[i]);
        if (has_unknown && e.words.is_unknown({encode::unit_begin(e.unit[i]), size})) {
            longer.unknown[longer.n_unknown++] = i;
            continue;
        }
        const std::uint32_t is32 = std::uint32_t{size - 17 < 16};  // 17 to 32 bytes
        longer.in32[longer.n32] = i;
        longer.rest[longer.n_rest] = i;
        longer.n32 += is32;
        longer.n_rest += 1 - is32;
    }
    longer.asked_others = longer.n_others;
    find_sets32(e, longer, first32);
}

inline void ask_longer(encode::WordEncoder& e) noexcept {
    ask_lines16(e, e.longer_units);
    if (e.longer_units.asked_others != e.longer_units.n_others) {
        ask_others(e, e.longer_units);
    }
}

// Asks for the lines that probe8 reads first.
inline void ask_first(encode::WordEncoder& e) noexcept {
    const std::uint32_t end = e.count < kPrefetchAhead ? e.count : kPrefetchAhead;
    for (; e.first_asked < end; ++e.first_asked) {
        prefetch_line(reinterpret_cast<const std::uint8_t*>(e.tables.lines8) +
                      e.line[e.first_asked]);
    }
}

// Both while the batch is gathered: the requests of a batch are more than a core has places for, so
// they are made a few at a time, between blocks of text.
inline void ask_early(encode::WordEncoder& e) noexcept {
    constexpr std::uint32_t kAtOnce = 16;
    if (e.longer_count + e.longer_units.n16 >= e.longer_units.asked16 + kAtOnce) {
        ask_longer(e);
        ask_first(e);
    }
}

// The same for the tables of longer words, and values for those that need no table.
inline void probe_longer(encode::WordEncoder& e, std::uint16_t* missing, std::uint32_t& n_missing) {
    const encode::LongerUnits& longer = e.longer_units;
    const std::uint32_t missing8 = n_missing;
    for (std::uint32_t j = 0; j < longer.n16; ++j) {
        const encode::Line16& line = e.tables.lines16[longer.line16[j]];
        const unsigned same = equal_pairs(line.key, longer.key16 + std::size_t{2} * j);
        const std::uint16_t i = longer.in16[j];
        e.value[i] = encode::peek_found(line.value[std::size_t{(same & 1) ^ 1}]);
        missing[n_missing] = i;
        n_missing += std::uint32_t{same == 0};
    }
    const std::uint32_t missing16 = n_missing;
    for (std::uint32_t j = 0; j < longer.n32; ++j) {
        const std::uint16_t i = longer.in32[j];
        const std::uint32_t size = encode::unit_size(e.unit[i]);
        std::uint64_t key[4];
        encode::make_key32(encode::unit_begin(e.unit[i]), size, key);
        const encode::Line32* set = e.tables.lines32 + std::size_t{2} * longer.set32[j];
        const encode::Line32* hit = nullptr;
        for (unsigned way = 0; way < 2; ++way) {
            if (encode::peek(set[way].header) >> 8 == size && equal_key32(set[way].key, key)) {
                hit = set + way;
            }
        }
        if (hit != nullptr) {
            e.value[i] = e.side_value(hit->ids, encode::peek(hit->header) & 255);
        } else {
            missing[n_missing++] = i;
        }
    }
    e.counters.add(Tally::Hit16, longer.n16 - (missing16 - missing8));
    if ((longer.n32 | longer.n_unknown) != 0) {
        e.counters.add(Tally::Hit32, longer.n32 - (n_missing - missing16));
        e.counters.add(Tally::HitVocabulary, longer.n_unknown);
    }
    for (std::uint32_t j = 0; j < longer.n_unknown; ++j) {
        e.value[longer.unknown[j]] = e.words.unknown_value();
    }
    for (std::uint32_t j = 0; j < longer.n_rest; ++j) {
        missing[n_missing++] = longer.rest[j];
    }
}

// Writes ids that do not fit into the value: stored, ambiguous, or of this batch alone.
//
//   kTagAmbiguous   stored:  id as a whole word | n | n ids as a piece of a word
inline std::uint32_t* write_referenced(const encode::WordEncoder& e, std::uint32_t index,
                                       std::uint64_t value, std::uint32_t* out) noexcept {
    const std::uint32_t tag = vocab::value_tag(value);
    const std::uint64_t at = vocab::reference_position(value);
    const std::uint32_t* ids = (tag == vocab::kTagSide ? e.side.data() : e.tables.stored) + at;
    std::uint32_t count = vocab::reference_count(value);
    if (tag == vocab::kTagAmbiguous) {
        if (!encode::is_piece(e.unit[index])) {
            *out = ids[0];
            return out + 1;
        }
        count = ids[1];
        ids += 2;
    }
    constexpr std::size_t kAtOnce = encode::kIdsAtOnce;
    std::memcpy(out, ids, kAtOnce * sizeof(std::uint32_t));
    if (unlikely(count > kAtOnce)) {
        std::memcpy(out + kAtOnce, ids + kAtOnce, (count - kAtOnce) * sizeof(std::uint32_t));
    }
    return out + count;
}

inline std::uint32_t* write_ids(const encode::WordEncoder& e, std::uint32_t begin,
                                std::uint32_t end, std::uint32_t* out) noexcept {
    for (std::uint32_t i = begin; i < end;) {
        i = write_inline_ids(e.value, i, end, out);
        for (std::uint32_t k = 0; k < 4 && i < end; ++k, ++i) {
            const std::uint64_t value = e.value[i];
            if (vocab::value_tag(value) > vocab::kInlineIds) {
                out = write_referenced(e, i, value, out);
            } else {
                store_inline_ids(out, value);
                out += vocab::value_tag(value);
            }
        }
    }
    return out;
}

// How many ids a unit was answered with.
inline std::uint32_t count_ids(const encode::WordEncoder& e, std::uint32_t index) noexcept {
    const std::uint64_t value = e.value[index];
    const std::uint32_t tag = vocab::value_tag(value);
    if (tag <= vocab::kInlineIds) {
        return tag;
    }
    if (tag != vocab::kTagAmbiguous) {
        return vocab::reference_count(value);
    }
    const std::uint32_t* ids = e.tables.stored + vocab::reference_position(value);
    return encode::is_piece(e.unit[index]) ? ids[1] : 1;
}

// Fills e.value for every gathered unit. Those that are not to be looked up (Worker::fixed) count
// as found.
inline void answer_batch(encode::WordEncoder& e) {
    ask_first(e);
    ask_longer(e);
    std::uint16_t missing[encode::WordEncoder::kCapacity + 1];
    std::uint32_t n_missing = probe8(e, missing);
    e.counters.add(Tally::Hit8, e.count - e.longer_units.count() - n_missing);
    probe_longer(e, missing, n_missing);
    e.choose_batch(n_missing);
    e.clock.lap(WorkStage::LookUp);
    resolve_missing(e, missing, n_missing);
    e.clock.lap(WorkStage::Merge);
}

// A unit that must not be looked up in the 8-byte table: a NUL makes its padded key ambiguous.
inline void append_unkeyed(encode::WordEncoder& e, const std::uint8_t* begin, std::uint64_t size,
                           std::uint64_t cuts) noexcept {
    const std::uint32_t n = e.count;
    e.key[n] = 0;
    e.line[n] = 0;
    e.unit[n] = encode::make_unit(begin, size, cuts);
    e.longer_units.others[e.longer_units.n_others++] = static_cast<std::uint16_t>(n);
    e.count = n + 1;
}
