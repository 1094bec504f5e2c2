// encode: what the lanes_<target>-inl.h share. Text inside a target's namespace, before them.

constexpr unsigned kLaneBits = 6;
constexpr std::uint32_t kNoRank = 0xFFFFFFFFU;
