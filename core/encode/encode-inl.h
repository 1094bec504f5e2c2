// encode: the units of a batch -> ids. Text compiled once per target, inside its namespace.
// A unit is a word or, where the junction filter allows a cut, a piece of one. Tables are larger
// than the near caches, so every line is asked for (prefetch) well before it is read, and nothing
// in the common path depends on a jump.

constexpr unsigned kPrefetchAhead = 64;

inline void prefetch(const void* at) noexcept {
    __builtin_prefetch(at, 0, 3);
}

// Units of more than 8 bytes, by the table that may know them.
struct LongerUnits {
    std::uint16_t in16[encode::WordEncoder::kCapacity];
    std::uint16_t in32[encode::WordEncoder::kCapacity];
    std::uint16_t rest[encode::WordEncoder::kCapacity];
    std::uint16_t unknown[encode::WordEncoder::kCapacity];  // need no table
    std::uint64_t key16[2 * encode::WordEncoder::kCapacity];
    std::uint32_t line16[encode::WordEncoder::kCapacity];
    std::uint32_t set32[encode::WordEncoder::kCapacity];
    std::uint32_t n16 = 0;
    std::uint32_t n32 = 0;
    std::uint32_t n_rest = 0;
    std::uint32_t n_unknown = 0;
};

// Asks for the lines of units of 9 to 16 bytes.
inline void find_lines16(const encode::WordEncoder& e, LongerUnits& longer) noexcept {
    const unsigned shift = 64 - e.tables.bits.words16;
    for (std::uint32_t j = 0; j < longer.n16; ++j) {
        const encode::Unit unit = e.unit[longer.in16[j]];
        const std::uint8_t* word = encode::unit_begin(unit);
        const std::uint64_t low = load<std::uint64_t>(word);
        const std::uint64_t high = load_upper(word, encode::unit_size(unit));
        const auto line = static_cast<std::uint32_t>(hash_pair(low, high) >> shift);
        prefetch(&e.tables.lines16[line]);
        longer.key16[std::size_t{2} * j] = low;
        longer.key16[std::size_t{2} * j + 1] = high;
        longer.line16[j] = line;
    }
}

// The same for 17 to 32 bytes.
inline void find_sets32(const encode::WordEncoder& e, LongerUnits& longer) noexcept {
    const unsigned shift = 64 - e.tables.bits.words32;
    for (std::uint32_t j = 0; j < longer.n32; ++j) {
        const encode::Unit unit = e.unit[longer.in32[j]];
        const std::uint32_t size = encode::unit_size(unit);
        std::uint64_t key[4];
        encode::make_key32(encode::unit_begin(unit), size, key);
        const auto set = static_cast<std::uint32_t>(encode::hash_key32(key, size) >> shift);
        const encode::Line32* lines = e.tables.lines32 + std::size_t{2} * set;
        prefetch(lines);
        prefetch(lines + 1);
        longer.set32[j] = set;
    }
}

// Sorts units of more than 8 bytes by table and asks for their lines. Without jumps: every unit is
// written to every list, and one of the counts grows.
inline void sort_longer(const encode::WordEncoder& e, LongerUnits& longer) noexcept {
    const bool has_unknown = e.words.has_unknown();
    for (std::uint32_t j = 0; j < e.longer_count; ++j) {
        const std::uint16_t i = e.longer[j];
        const encode::Unit unit = e.unit[i];
        const std::uint32_t size = encode::unit_size(unit);
        const std::uint8_t* word = encode::unit_begin(unit);
        if (has_unknown && e.words.is_unknown({word, size})) {
            longer.unknown[longer.n_unknown++] = i;
            continue;
        }
        // 9 to 16 bytes without a NUL in the end; 17 to 32
        const std::uint32_t is16 = std::uint32_t{size - 9 < 8} & std::uint32_t{word[size - 1] != 0};
        const std::uint32_t is32 = std::uint32_t{size - 17 < 16};
        longer.in16[longer.n16] = i;
        longer.in32[longer.n32] = i;
        longer.rest[longer.n_rest] = i;
        longer.n16 += is16;
        longer.n32 += is32;
        longer.n_rest += 1 - (is16 | is32);
    }
    find_lines16(e, longer);
    find_sets32(e, longer);
}

// Looks all units up in the 8-byte table; the indices of those it lacks go to `missing`. A longer
// unit has key 0, which the first line always holds, so that it needs no test. Slot 3 is read on a
// miss, too (`same | 8`): the value is replaced later.
inline std::uint32_t probe8(encode::WordEncoder& e, std::uint16_t* missing) noexcept {
    const encode::Line8* const lines = e.tables.lines8;
    const std::uint32_t count = e.count;
    std::uint32_t n_missing = 0;
    for (std::uint32_t i = 0; i < count; i += 8) {  // up to seven stale units more: harmless
        std::uint32_t lacking = 0;
        for (std::uint32_t k = 0; k < 8; ++k) {
            prefetch(&lines[e.line[i + k + kPrefetchAhead]]);
            const encode::Line8& line = lines[e.line[i + k]];
            const unsigned same = equal_keys(line.key, e.key[i + k]);
            e.value[i + k] = encode::peek_found(line.value[trailing_zeros(same | 8U)]);
            lacking |= static_cast<std::uint32_t>(same == 0) << k;
        }
        lacking &= static_cast<std::uint32_t>(low_bits(count - i));
        for (; lacking != 0; lacking &= lacking - 1) {
            missing[n_missing++] = static_cast<std::uint16_t>(i + trailing_zeros(lacking));
        }
    }
    return n_missing;
}

// The same for the tables of longer words, and values for those that need no table.
inline void probe_longer(encode::WordEncoder& e, const LongerUnits& longer, std::uint16_t* missing,
                         std::uint32_t& n_missing) {
    for (std::uint32_t j = 0; j < longer.n16; ++j) {
        const encode::Line16& line = e.tables.lines16[longer.line16[j]];
        const std::uint64_t low = longer.key16[std::size_t{2} * j];
        const std::uint64_t high = longer.key16[std::size_t{2} * j + 1];
        // The upper half first, as it is written last; `|` alone does not order its sides.
        const std::uint64_t high0 = encode::peek(line.key[1]) ^ high;
        const std::uint64_t high1 = encode::peek(line.key[3]) ^ high;
        const bool first = ((encode::peek(line.key[0]) ^ low) | high0) == 0;
        const bool second = ((encode::peek(line.key[2]) ^ low) | high1) == 0;
        const std::uint16_t i = longer.in16[j];
        e.value[i] = encode::peek(line.value[static_cast<std::uint32_t>(!first)]);
        missing[n_missing] = i;
        n_missing += static_cast<std::uint32_t>(!first) & static_cast<std::uint32_t>(!second);
    }
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
    if (__builtin_expect(count > kAtOnce, 0)) {
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

// Asks for the lines that probe8 reads first; the work on longer units gives them time to come.
inline void prefetch_first(const encode::WordEncoder& e) noexcept {
    for (std::uint32_t i = 0; i < (e.count < kPrefetchAhead ? e.count : kPrefetchAhead); ++i) {
        prefetch(&e.tables.lines8[e.line[i]]);
    }
}

// Fills e.value for every gathered unit.
inline void answer_batch(encode::WordEncoder& e) {
    LongerUnits longer;
    prefetch_first(e);
    sort_longer(e, longer);
    std::uint16_t missing[encode::WordEncoder::kCapacity + 1];
    std::uint32_t n_missing = probe8(e, missing);
    probe_longer(e, longer, missing, n_missing);
    resolve_missing(e, missing, n_missing);
}

// A unit that must not be looked up in the 8-byte table: a NUL makes its padded key ambiguous.
inline void append_unkeyed(encode::WordEncoder& e, const std::uint8_t* begin, std::uint64_t size,
                           std::uint64_t cuts) noexcept {
    const std::uint32_t n = e.count;
    e.key[n] = 0;
    e.line[n] = 0;
    e.unit[n] = encode::make_unit(begin, size, cuts);
    e.longer[e.longer_count++] = static_cast<std::uint16_t>(n);
    e.count = n + 1;
}
