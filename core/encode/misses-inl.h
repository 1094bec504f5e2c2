// encode: units that no table knows -> values. Short ones are merged in step, the others one at a
// time. Text compiled once per target, inside its namespace.

constexpr std::uint32_t kMostPlainBytes = 2 * StepList<4>::kLongest;  // two for each symbol

// Merges a list that is full, or what is left of it in the end.
template <unsigned kGroups>
inline void merge_list(encode::WordEncoder& e, StepList<kGroups>& list) {
    const std::uint32_t* const external = e.vocab.external.data();
    merge_in_step<kGroups>(e.vocab.pairs, list, [&](std::uint32_t index) {
        // The first, one in the middle and the last: most words have no others.
        const std::uint32_t* const ids = list.symbols[index];
        const std::uint32_t count = list.size[index];
        prefetch_line(external + ids[0]);
        prefetch_line(external + ids[count / 2]);
        prefetch_line(external + ids[count - 1]);
    });
    for (std::uint32_t j = 0; j < list.count; ++j) {
        const std::uint16_t unit = list.unit[j];
        e.value[unit] = e.keep_merged(e.unit[unit], list.symbols[j], list.size[j]);
    }
    list.count = 0;
}

template <unsigned kGroups>
inline void add_to_list(encode::WordEncoder& e, StepList<kGroups>& list, std::uint16_t unit,
                        const std::uint32_t* symbols, std::size_t count) {
    list.add(e.vocab.pairs, unit, symbols, count);
    if (list.count == StepList<kGroups>::kRoom) {
        merge_list(e, list);
    }
}

// Lists by length, so that words merged in step take about equally long.
struct StepLists {
    static constexpr unsigned kLongest = StepList<4>::kLongest;
    StepList<1> up_to_16;
    StepList<2> up_to_32;
    StepList<4> up_to_62;

    // Needs: 1 to kLongest symbols.
    void add(encode::WordEncoder& e, std::uint16_t unit, const std::uint32_t* symbols,
             std::size_t count) {
        if (count <= StepList<1>::kLongest) {
            add_to_list(e, up_to_16, unit, symbols, count);
        } else if (count <= StepList<2>::kLongest) {
            add_to_list(e, up_to_32, unit, symbols, count);
        } else {
            add_to_list(e, up_to_62, unit, symbols, count);
        }
    }
    void merge(encode::WordEncoder& e) {
        merge_list(e, up_to_16);
        merge_list(e, up_to_32);
        merge_list(e, up_to_62);
    }
};

// Units of a vocabulary over characters that are not ASCII alone.
inline void resolve_wide(encode::WordEncoder& e, StepLists& lists, const std::uint16_t* wide,
                         std::uint32_t count) {
    for (std::uint32_t j = 0; j < count; ++j) {
        const encode::Unit unit = e.unit[wide[j]];
        if (e.answer_unmerged(unit, e.value[wide[j]])) {
            continue;
        }
        if (!e.start_known(unit) || e.symbols.size() > StepLists::kLongest) {
            e.value[wide[j]] = e.resolve(unit);
        } else {
            lists.add(e, wide[j], e.symbols.data(), e.symbols.size());
        }
    }
}

// Words of the batch that are merged once for all their units: one new word in four comes again in
// the same batch. Only words that wait to be merged are here, because the ids of a token that
// merging cannot build depend on the cuts next to it.
class WaitingWords {
public:
    explicit WaitingWords(const encode::Unit* units) noexcept : repeats_(units) {}

    // Is an equal word waiting already? If not, this one waits.
    bool has(std::uint16_t unit) noexcept {
        const std::uint32_t earlier = repeats_.find(unit);
        if (earlier == encode::Repeats::kNone) {
            repeats_.add(unit);
            return false;
        }
        again_[count_] = unit;
        first_[count_++] = static_cast<std::uint16_t>(earlier);
        return true;
    }
    // The words are merged: their other units get the same values.
    void copy_values(encode::WordEncoder& e) const noexcept {
        for (std::uint32_t j = 0; j < count_; ++j) {
            e.value[again_[j]] = e.value[first_[j]];
        }
        e.counters.add(Tally::HitBatch, count_);
    }

private:
    encode::Repeats repeats_;
    std::uint16_t again_[encode::WordEncoder::kCapacity];
    std::uint16_t first_[encode::WordEncoder::kCapacity];
    std::uint32_t count_ = 0;
};

// A word that is merged from its bytes as they are.
inline void resolve_plain(encode::WordEncoder& e, StepLists& lists, std::uint16_t unit) {
    std::uint32_t symbols[kMostPlainBytes];
    const unsigned count =
        merge_sure_pairs(e.vocab.sure_pairs.data(), encode::unit_begin(e.unit[unit]),
                         encode::unit_size(e.unit[unit]), symbols);
    if (count <= StepLists::kLongest) {
        lists.add(e, unit, symbols, count);
    } else {
        e.value[unit] = e.resolve(e.unit[unit]);
    }
}

inline void resolve_missing(encode::WordEncoder& e, const std::uint16_t* missing,
                            std::uint32_t count) {
    if (count == 0) {
        return;
    }
    if (!e.vocab.is_merged()) {
        e.look_up_missing({missing, count});
        return;
    }
    StepLists lists;
    WaitingWords waiting(e.unit);
    std::uint16_t wide[encode::WordEncoder::kCapacity];
    std::uint32_t n_wide = 0;
    const bool has_characters = e.vocab.kind() == vocab::ModelKind::Characters;
    for (std::uint32_t j = 0; j < count; ++j) {
        const std::uint16_t unit = missing[j];
        const std::uint32_t size = encode::unit_size(e.unit[unit]);
        const Bytes word(encode::unit_begin(e.unit[unit]), size);
        if (size > kMostPlainBytes || size < 2 || !e.is_plain(word)) {
            if (has_characters && size > 1) {
                wide[n_wide++] = unit;
            } else {
                e.value[unit] = e.resolve(e.unit[unit]);
            }
        } else if (!e.answer_unmerged(e.unit[unit], e.value[unit]) && !waiting.has(unit)) {
            resolve_plain(e, lists, unit);
        }
    }
    resolve_wide(e, lists, wide, n_wide);
    lists.merge(e);
    waiting.copy_values(e);
}
