// Units into the batch, one at a time. Text compiled once per target, inside its namespace.

// Appends units with the counters in registers; they go back when it ends.
class UnitWriter {
public:
    explicit UnitWriter(encode::WordEncoder& e) noexcept
        : e_(e), shift_(64 - e.tables.bits.words8), n_(e.count), n_longer_(e.longer_count) {}
    ~UnitWriter() {
        e_.count = n_;
        e_.longer_count = n_longer_;
    }
    UnitWriter(const UnitWriter&) = delete;
    UnitWriter& operator=(const UnitWriter&) = delete;

    void append(const std::uint8_t* begin, std::uint64_t size, std::uint64_t piece_flag,
                std::uint64_t first8) noexcept {
        // The compiler would make a jump of this, and one word in ten is longer.
        std::uint64_t is_short = std::uint64_t{0} - std::uint64_t{size <= 8};
        asm("" : "+r"(is_short));
        const std::uint64_t key = keep_bytes(first8, static_cast<unsigned>(size)) & is_short;
        e_.key[n_] = key;
        e_.line[n_] = static_cast<std::uint32_t>(hash_word(key) >> shift_);
        e_.unit[n_] = encode::make_unit(begin, size, piece_flag);
        e_.longer[n_longer_] = static_cast<std::uint16_t>(n_);
        n_longer_ += 1U + static_cast<std::uint32_t>(is_short);
        ++n_;
    }

    // Units that end at the bits of `ends` in the block at `at`; the first starts at `unit`. Where
    // `cuts` has the bit of an end, what ends and what starts there are pieces of a word; `piece`
    // is that flag for `unit`. Needs 8 readable bytes behind the block.
    void append_block(const std::uint8_t* at, std::uint64_t ends, std::uint64_t cuts,
                      const std::uint8_t*& unit, std::uint64_t& piece) noexcept {
        for (; ends != 0; ends &= ends - 1) {
            const unsigned i = trailing_zeros(ends);
            const std::uint64_t is_cut = (cuts >> i & 1) * encode::kUnitPiece;
            append(unit, static_cast<std::uint64_t>(at + i - unit), piece | is_cut,
                   load<std::uint64_t>(unit));
            piece = is_cut;
            unit = at + i;
        }
    }

private:
    encode::WordEncoder& e_;
    const unsigned shift_;
    std::uint32_t n_;
    std::uint32_t n_longer_;
};
