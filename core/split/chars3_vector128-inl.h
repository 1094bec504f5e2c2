// What is known of the three-byte characters of a block, for targets of 128 bits. Text inside a
// target's namespace, after its paired_in_run; chars3_scalar-inl.h has the meaning. These targets
// have no instruction that moves bits to the ones of a mask, so what is known of a character stays
// at its first byte:
//
//   text     a X . . Y . .      X and Y have three bytes
//   code       x     y          of every byte; only those at first bytes mean something
//   fact       f     g          facts[code], one load for each character
//   left             f          fact, moved up by three: of the character before
//
// `in_doubt` and `paired` are right where the character before has three bytes, too, and nowhere
// else; nor is `paired` where only one of the two is asked for.

constexpr std::ptrdiff_t kReadableBlock = 72;  // bytes of a block that scanners may read

// The characters of a block by the places of their first bytes.
class PlacedChars3 {
public:
    PlacedChars3(const std::uint8_t* bytes, std::uint32_t previous) noexcept {
        for (std::size_t q = 0; q < 64; q += 16) {
            // 1110aaaa 10bbbbbb 10cccccc -> aaaabbbb bbcccccc
            const Vector first = load16(bytes + q);
            const Vector second = load16(bytes + q + 1);
            const Vector third = load16(bytes + q + 2);
            const Vector high = insert_above<4>(shift_down<2>(second), first);
            store_pairs(code_ + kBefore + q, insert_above<6>(third, second), high);
        }
        code_[kBefore - 3] = static_cast<std::uint16_t>(previous);
        std::memset(code_ + kBefore + 64, 0, sizeof(code_) - 2 * (kBefore + 64));
    }

    // Needs: `leads` has the bits of the first bytes.
    void look_up(const std::uint8_t* facts, std::uint64_t leads) noexcept {
        std::memset(fact_, 0, sizeof(fact_));
        fact_[kBefore - 3] = facts[code_[kBefore - 3]];
        BitQueue rest(leads);
        do {  // four without a test; past the last one there is place 64
            for (unsigned k = 0; k < 4; ++k) {
                const std::size_t i = kBefore + rest.take();
                fact_[i] = facts[code_[i]];
            }
        } while (!rest.is_empty());
    }

    [[nodiscard]] Quarters facts() const noexcept { return load_block(fact_ + kBefore); }
    [[nodiscard]] Quarters facts_before() const noexcept { return load_block(fact_ + kBefore - 3); }

    // JunctionFilter::paired of the characters at `asked` with those before them.
    template <typename Junctions>
    [[nodiscard]] std::uint64_t paired(const Junctions& junctions,
                                       std::uint64_t asked) const noexcept {
        if (count_bits(asked) >= kLeastRun) {
            const unsigned first = trailing_zeros(asked) % 3;
            if ((asked & ~(LoneRun::kLeads << first)) == 0) {
                return paired_from(junctions, first) & asked;
            }
        }
        std::uint64_t found = 0;
        for (; asked != 0; asked &= asked - 1) {
            const unsigned i = trailing_zeros(asked);
            const std::uint64_t is_paired =
                junctions.paired(code_[kBefore - 3 + i], code_[kBefore + i]);
            found |= is_paired << i;
        }
        return found;
    }

private:
    static constexpr std::size_t kBefore = 16;  // of which three are used

    // All characters start at `first`, or a multiple of three bytes later.
    template <typename Junctions>
    [[nodiscard]] std::uint64_t paired_from(const Junctions& junctions,
                                            unsigned first) const noexcept {
        std::uint8_t found[2 + 72] = {};
        paired_in_run(code_ + kBefore + first, junctions, found + first);
        return bit_mask<0>(load_block(found));
    }

    alignas(16) std::uint16_t code_[kBefore + 64 + 16];
    alignas(16) std::uint8_t fact_[kBefore + 64 + 16];
};

template <bool kDoubtFirst, typename Junctions>
inline Chars3 look_up_chars3(const std::uint8_t* bytes, std::uint64_t leads, std::uint32_t previous,
                             const std::uint8_t* facts, const Junctions& junctions) noexcept {
    PlacedChars3 chars(bytes, previous);
    chars.look_up(facts, leads);
    const Quarters known = chars.facts();
    const Quarters contexts =
        in_quarters(chars.facts_before(), known, [](Vector left, Vector right) {
            return common_bits(shift_down<split::kFactLeftShift>(left),
                               shift_down<split::kFactRightShift>(right));
        });
    Chars3 out;
    out.letter = leads & bit_mask<0>(known);
    out.unusual = leads & bit_mask<1>(known);
    out.in_doubt = leads & sign_mask(contexts);
    const std::uint64_t follows = leads & (leads << 3 | std::uint64_t{previous != 0});
    out.paired = chars.paired(junctions, follows & (kDoubtFirst ? out.in_doubt : ~out.in_doubt));
    out.last = decode3(bytes + top_bit(leads));
    return out;
}
