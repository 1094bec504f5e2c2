// Groups of units -> UTF-8. Text inside a target's namespace; the other targets do the same.

constexpr std::ptrdiff_t kAsciiUnits = 16;
template <typename Unit>
constexpr std::ptrdiff_t kGroupUnits = 16;

// Writes kAsciiUnits units if each of them is ASCII, else maybe some garbage.
template <typename Unit>
inline bool write_ascii(const Unit* from, std::uint8_t* out) noexcept {
    std::uint32_t any = 0;
    for (std::ptrdiff_t i = 0; i < kAsciiUnits; ++i) {
        any |= from[i];
        out[i] = static_cast<std::uint8_t>(from[i]);
    }
    return any < 0x80;
}

// Writes kGroupUnits units and returns the bytes they take; 0 if one of them is a surrogate.
template <typename Unit>
inline std::size_t write_group(const Unit* from, std::uint8_t* out) noexcept {
    std::uint8_t* at = out;
    for (std::ptrdiff_t i = 0; i < kGroupUnits<Unit>; ++i) {
        if (is_surrogate(from[i])) {
            return 0;
        }
        at += encode_char(from[i], at);
    }
    return static_cast<std::size_t>(at - out);
}
