// split/chars3: the three-byte characters of a block -> what the tables know of them. The functions
// are in chars3_<target>-inl.h. Text inside a target's namespace.

// One bit a character, at its first byte. With kDoubtFirst only characters in doubt go through the
// junction filter: in a vocabulary over characters these are the ones that some token holds with a
// neighbour.
struct Chars3 {
    std::uint64_t letter = 0;
    std::uint64_t unusual = 0;  // its other class bits matter too
    // Only where a character of three bytes comes directly before. Where `in_doubt` alone decides,
    // `paired` may be 0.
    std::uint64_t paired = 0;    // the junction filter has it with the character before
    std::uint64_t in_doubt = 0;  // a token may hold a part of it with a part of the one before
    std::uint32_t last = 0;      // code point of the last one
};

// Neighbouring three-byte characters that are units by themselves, whatever their neighbours are.
// In a script that the vocabulary hardly knows most of a text is like that, and needs no masks.
struct LoneRun {
    static constexpr unsigned kMost = 21;
    static constexpr unsigned kFew = 8;                          // 4 and 12 are as fast
    static constexpr std::uint64_t kLeads = 0x1249249249249249;  // bits 0, 3 ... 60

    // The run at the start of a block; `leads` are the first bytes of its three-byte characters.
    template <typename StandsAlone>
    void read(const std::uint8_t* at, std::uint64_t leads, StandsAlone stands_alone) noexcept {
        const std::uint64_t others = kLeads & ~leads;
        const unsigned most = others == 0 ? kMost : trailing_zeros(others) / 3;
        for (count = 0; count < most; ++count) {
            codes[count] = static_cast<std::uint16_t>(decode3(at + std::size_t{3} * count));
            if (!stands_alone(codes[count])) {
                return;
            }
        }
    }

    unsigned count;
    std::uint16_t codes[kMost];
};
