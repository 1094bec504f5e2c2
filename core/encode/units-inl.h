// encode: text of units -> columns of the batch. Text compiled once per target, inside its
// namespace, and followed by the target's own append_ends.

// Appends units with the counters in registers; they go back when it ends.
struct UnitWriter {
    explicit UnitWriter(encode::WordEncoder& encoder) noexcept
        : e(encoder),
          shift(encode::Line8::shift_of(encoder.tables.bits.words8)),
          n(encoder.count),
          n_longer(encoder.longer_count) {}
    ~UnitWriter() {
        e.count = n;
        e.longer_count = n_longer;
    }
    UnitWriter(const UnitWriter&) = delete;
    UnitWriter& operator=(const UnitWriter&) = delete;

    void append(const std::uint8_t* begin, std::uint64_t size, std::uint64_t cuts,
                std::uint64_t first8) noexcept {
        // The compiler would make a jump of this, and one word in ten is longer.
        std::uint64_t is_short = std::uint64_t{0} - std::uint64_t{size <= 8};
        TOKENMILL_KEEP(is_short);
        const std::uint64_t key = keep_bytes(first8, static_cast<unsigned>(size)) & is_short;
        e.key[n] = key;
        e.line[n] = static_cast<std::uint32_t>(hash_word(key) >> shift & encode::Line8::kFirstByte);
        e.unit[n] = encode::make_unit(begin, size, cuts);
        e.longer[n_longer] = static_cast<std::uint16_t>(n);
        n_longer += 1U + static_cast<std::uint32_t>(is_short);
        ++n;
    }

    // A unit whose ids are known: key 0 finds a value, which is replaced.
    void append_known() noexcept {
        e.key[n] = 0;
        e.line[n] = 0;
        e.unit[n] = 0;
        ++n;
    }

    encode::WordEncoder& e;
    const unsigned shift;
    std::uint32_t n;
    std::uint32_t n_longer;
};

// The unit that a block continues, or that starts with it.
struct OpenUnit {
    const std::uint8_t* begin;
    std::uint64_t cut_start;  // kCutStart or 0
};
constexpr std::ptrdiff_t kLongestOpen = 64;  // bytes before a block; a longer one is appended alone
