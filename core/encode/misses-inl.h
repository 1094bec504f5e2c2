// encode: units that no table knows -> values. Short ones are merged in step, the others one at a
// time. Text compiled once per target, inside its namespace.

// Merges a list that is full, or what is left of it in the end.
template <unsigned kGroups, template <unsigned> typename List>
inline void merge_list(encode::WordEncoder& e, List<kGroups>& list) {
    const auto done = [&](std::uint32_t index, std::uint32_t* ids, std::uint32_t count) {
        e.value[list.unit[index]] = e.keep_merged(e.unit[list.unit[index]], ids, count);
    };
    merge_in_step<kGroups>(e.vocab.pairs, list, done);
    list.count = 0;
}

// Copies a unit with zeros after it, so that lanes may load more than the unit has.
template <unsigned kGroups>
inline void add_to_list(encode::WordEncoder& e, StepList<kGroups>& list, std::uint16_t unit) {
    const std::uint32_t size = encode::unit_size(e.unit[unit]);
    const std::uint8_t* word = encode::unit_begin(e.unit[unit]);
    std::uint8_t* to = list.bytes[list.count];
    if (size <= 8) {
        const std::uint64_t bytes[2] = {load_short(word, size), 0};
        std::memcpy(to, bytes, 16);
    } else if (size <= 16) {
        const std::uint64_t bytes[2] = {load<std::uint64_t>(word), load_upper(word, size)};
        std::memcpy(to, bytes, 16);
    } else {
        std::memcpy(to, word, size);
    }
    list.unit[list.count] = unit;
    list.size[list.count] = static_cast<std::uint8_t>(size);
    if (++list.count == StepList<kGroups>::kRoom) {
        merge_list(e, list);
    }
}

template <unsigned kGroups>
inline void add_to_list(encode::WordEncoder& e, SymbolList<kGroups>& list, std::uint16_t unit) {
    list.add(e.vocab.pairs, unit, e.symbols);
    if (list.count == SymbolList<kGroups>::kRoom) {
        merge_list(e, list);
    }
}

// Units of a vocabulary over characters that are not ASCII alone.
inline void resolve_wide(encode::WordEncoder& e, const std::uint16_t* wide, std::uint32_t count) {
    SymbolList<1> up_to_16;
    SymbolList<2> up_to_32;
    for (std::uint32_t j = 0; j < count; ++j) {
        const encode::Unit unit = e.unit[wide[j]];
        if (e.answer_unmerged(unit, e.value[wide[j]])) {
            continue;
        }
        if (!e.start_known(unit) || e.symbols.size() > SymbolList<2>::kLongest) {
            e.value[wide[j]] = e.resolve(unit);
        } else if (e.symbols.size() <= SymbolList<1>::kLongest) {
            add_to_list(e, up_to_16, wide[j]);
        } else {
            add_to_list(e, up_to_32, wide[j]);
        }
    }
    merge_list(e, up_to_16);
    merge_list(e, up_to_32);
}

// Lists by length, so that words merged in step take about equally long.
inline void resolve_missing(encode::WordEncoder& e, const std::uint16_t* missing,
                            std::uint32_t count) {
    if (!e.vocab.is_merged()) {
        e.look_up_missing({missing, count});
        return;
    }
    StepList<1> up_to_16;
    StepList<2> up_to_32;
    StepList<4> up_to_62;
    std::uint16_t wide[encode::WordEncoder::kCapacity];
    std::uint32_t n_wide = 0;
    const bool has_characters = e.vocab.kind() == vocab::ModelKind::Characters;
    for (std::uint32_t j = 0; j < count; ++j) {
        const std::uint16_t unit = missing[j];
        const std::uint32_t size = encode::unit_size(e.unit[unit]);
        const Bytes word(encode::unit_begin(e.unit[unit]), size);
        if (size > StepList<4>::kLongest || size < 2 || !e.is_plain(word)) {
            if (has_characters && size > 1) {
                wide[n_wide++] = unit;
            } else {
                e.value[unit] = e.resolve(e.unit[unit]);
            }
        } else if (!e.answer_unmerged(e.unit[unit], e.value[unit])) {
            if (size <= 16) {
                add_to_list(e, up_to_16, unit);
            } else if (size <= 32) {
                add_to_list(e, up_to_32, unit);
            } else {
                add_to_list(e, up_to_62, unit);
            }
        }
    }
    merge_list(e, up_to_16);
    merge_list(e, up_to_32);
    merge_list(e, up_to_62);
    if (n_wide != 0) {
        resolve_wide(e, wide, n_wide);
    }
}
