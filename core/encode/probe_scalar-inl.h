// encode: units of the batch -> values of the 8-byte table. Text inside a target's namespace, after
// ahead-inl.h.

// Looks all units up in the 8-byte table; the indices of those it lacks go to `missing`. A longer
// unit has key 0, which the first line always holds, so that it needs no test. Slot 3 is read on a
// miss, too (`same | 8`): the value is replaced later.
inline std::uint32_t probe8(encode::WordEncoder& e, std::uint16_t* missing) noexcept {
    constexpr unsigned kFound = 16;  // a bit that adding kFound - 1 gives to all masks but 0
    const auto* const lines = reinterpret_cast<const std::uint8_t*>(e.tables.lines8);
    const std::uint32_t count = e.count;
    std::uint32_t n_missing = 0;
    for (std::uint32_t i = 0; i < count; i += 8) {  // up to seven stale units more: harmless
        const std::uint32_t* const line_of = e.line + i;
        const std::uint64_t* const key_of = e.key + i;
        std::uint64_t* const value_of = e.value + i;
        unsigned found = kFound;
        TOKENMILL_UNROLL_8
        for (std::size_t k = 0; k < 8; ++k) {
            prefetch_line(lines + line_of[k + kPrefetchAhead]);
            const std::uint8_t* const line = lines + line_of[k];
            const unsigned same =
                equal_keys(reinterpret_cast<const std::uint64_t*>(line), key_of[k]);
            const std::uint8_t* slot = line + std::size_t{8} * trailing_zeros(same | 8U);
            value_of[k] = encode::peek_found(
                *reinterpret_cast<const std::uint64_t*>(slot + offsetof(encode::Line8, value)));
            found &= same + (kFound - 1);
            TOKENMILL_KEEP(found);  // now, or the compiler keeps eight masks in memory
        }
        // Asked again for both key and value: another worker may have filled the place meanwhile.
        for (std::uint32_t k = 0; found == 0 && k < 8 && i + k < count; ++k) {
            const auto* const line = reinterpret_cast<const encode::Line8*>(lines + line_of[k]);
            const unsigned same = equal_keys(line->key, key_of[k]);
            value_of[k] = encode::peek_found(line->value[std::size_t{trailing_zeros(same | 8U)}]);
            missing[n_missing] = static_cast<std::uint16_t>(i + k);
            n_missing += std::uint32_t{same == 0};
        }
    }
    return n_missing;
}
