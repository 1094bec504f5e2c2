// transcode: which bytes of four code points count. Text inside a target's namespace, for targets
// that pick them with a shuffle of 16 bytes.

// For four code points of four bytes each: the bytes that count, in order. A row is named by the
// low bits of the four sizes less one, and then the high bits.
struct PackTable {
    std::uint8_t pick[256][16];
    std::uint8_t size[256];
};
constexpr PackTable make_pack_table() {
    PackTable table{};
    for (unsigned row = 0; row < 256; ++row) {
        unsigned size = 0;
        for (unsigned i = 0; i < 4; ++i) {
            const unsigned bytes = 1 + (row >> i & 1) + 2 * (row >> (4 + i) & 1);
            for (unsigned k = 0; k < bytes; ++k) {
                table.pick[row][size++] = static_cast<std::uint8_t>(4 * i + k);
            }
        }
        table.size[row] = static_cast<std::uint8_t>(size);
    }
    return table;
}
constexpr PackTable kPack = make_pack_table();
