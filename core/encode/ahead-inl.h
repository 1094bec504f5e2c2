// encode: asking for lines of tables before they are read. Text compiled once per target, inside
// its namespace.

constexpr unsigned kPrefetchAhead = 96;
