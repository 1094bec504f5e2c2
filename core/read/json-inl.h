// read/json: one line of JSON -> the wanted field, or where the line is wrong. Text compiled once
// per target, inside its namespace, after record-inl.h, which has the grammar.

// The four digits after `\u`; above FFFF if one of them is not a digit.
inline std::uint32_t hex4(const std::uint8_t* at) noexcept {
    const std::uint32_t a = kHexDigits[at[0]];
    const std::uint32_t b = kHexDigits[at[1]];
    const std::uint32_t c = kHexDigits[at[2]];
    const std::uint32_t d = kHexDigits[at[3]];
    return (a | b | c | d) > 15 ? 0x10000U : a << 12 | b << 8 | c << 4 | d;
}

// Bytes of the escape at a backslash; 0 if it is not valid.
inline std::size_t escape_size(const std::uint8_t* at, const std::uint8_t* end) noexcept {
    if (end - at < 2 || kEscapes[at[1]] == 0) {
        return 0;
    }
    if (at[1] != 'u') {
        return 2;
    }
    return end - at >= 6 && hex4(at + 2) < 0x10000U ? 6 : 0;
}

// Writes the character of the escape at `at` and returns the place after it. Half of a surrogate
// pair becomes U+FFFD; `lone` is set to the first one.
inline const std::uint8_t* write_escape(const std::uint8_t* at, const std::uint8_t* end,
                                        std::uint8_t*& out, const std::uint8_t*& lone) noexcept {
    if (at[1] != 'u') {
        *out++ = kEscapes[at[1]];
        return at + 2;
    }
    std::uint32_t code = hex4(at + 2);
    std::size_t size = 6;
    if (is_surrogate(code)) {
        const bool is_pair = is_high_half(code) && end - at >= 12 && at[6] == '\\' &&
                             at[7] == 'u' && is_low_half(hex4(at + 8));
        if (is_pair) {
            code = pair_of(code, hex4(at + 8));
            size = 12;
        } else {
            lone = lone == nullptr ? at : lone;
            code = 0xFFFD;
        }
    }
    out += encode_char(code, out);
    return at + size;
}

inline Unescaped unescape(const std::uint8_t* at, const std::uint8_t* end,
                          std::uint8_t* out) noexcept {
    std::uint8_t* const begin = out;
    const std::uint8_t* lone = nullptr;
    while (at != end) {
        at = copy_plain(at, end, end, out);
        if (at == end) {
            break;
        }
        at = write_escape(at, end, out, lone);
    }
    return {static_cast<std::size_t>(out - begin), lone};
}

// A string from its quote on: leaves `at` after it, or at its fault.
inline bool scan_string(const std::uint8_t*& at, const std::uint8_t* end,
                        const std::uint8_t* readable, Value& found) noexcept {
    found.type = Value::Type::String;
    found.begin = ++at;
    for (;;) {
        at = skip_plain(at, end, readable);
        if (at == end || *at < 0x20) {
            return false;
        }
        if (*at == '"') {
            found.end = at++;
            return true;
        }
        found.has_escapes = true;
        while (at != end && *at == '\\') {  // they often come in runs
            const std::size_t size = escape_size(at, end);
            if (size == 0) {
                return false;
            }
            at += size;
        }
    }
}

// Is the name of a member `wanted`? `scratch` has room for six times its size and 64 bytes.
inline bool is_key(const Value& name, std::string_view wanted, std::uint8_t* scratch) noexcept {
    const auto size = static_cast<std::size_t>(name.end - name.begin);
    if (!name.has_escapes) {
        return size == wanted.size() && std::memcmp(name.begin, wanted.data(), size) == 0;
    }
    if (size > 6 * wanted.size()) {  // six bytes of an escape are at least one of text
        return false;
    }
    const Unescaped text = unescape(name.begin, name.end, scratch);
    return text.lone_surrogate == nullptr && text.size == wanted.size() &&
           std::memcmp(scratch, wanted.data(), text.size) == 0;
}

// How this target scans the strings of a line: in blocks, the field's text written on the way.
class LineStrings {
public:
    LineStrings(const std::uint8_t* end, const std::uint8_t* readable, FieldPath& path,
                std::uint8_t* out) noexcept
        : end_(end), readable_(readable), path_(path), out_(out) {}

    [[nodiscard]] std::uint32_t levels() const noexcept {
        return static_cast<std::uint32_t>(path_.keys.size());
    }
    bool is_field(const Value& name, std::uint32_t level) noexcept {
        return is_key(name, path_.rests[level], path_.key_text.data());
    }
    bool is_step(const Value& name, std::uint32_t level) noexcept {
        return is_key(name, path_.keys[level], path_.key_text.data());
    }
    void note(std::uint32_t level, const Value& found) noexcept {
        path_.found[level] = found;
        if (found.type == Value::Type::String) {
            path_.written = &path_.found[level];
        }
    }
    void forget(std::uint32_t level) noexcept {
        for (; level < path_.keys.size(); ++level) {
            path_.found[level].type = Value::Type::None;
        }
    }
    static constexpr bool may_continue() noexcept { return true; }

    bool scan(const std::uint8_t*& at, Value& found) noexcept {
        return scan_string(at, end_, readable_, found);
    }

    // The field's text is written over that of an earlier one.
    bool scan_field(const std::uint8_t*& place, Value& found) noexcept {
        found.type = Value::Type::String;
        const std::uint8_t* const end = end_;  // locals: `out` may alias anything
        const std::uint8_t* at = place + 1;
        std::uint8_t* out = out_;
        found.begin = at;
        path_.text.lone_surrogate = nullptr;
        for (;;) {
            at = copy_plain(at, end, readable_, out);
            if (at == end || *at != '\\') {
                break;
            }
            while (at != end && *at == '\\') {
                if (escape_size(at, end) == 0) {
                    place = at;
                    return false;
                }
                at = write_escape(at, end, out, path_.text.lone_surrogate);
            }
        }
        place = at;
        if (at == end || *at != '"') {
            return false;
        }
        found.end = place++;
        path_.text.size = static_cast<std::size_t>(out - out_);
        return true;
    }

private:
    const std::uint8_t* const end_;
    const std::uint8_t* const readable_;
    FieldPath& path_;
    std::uint8_t* const out_;
};

inline Scan scan_line(const std::uint8_t* begin, const std::uint8_t* end,
                      const std::uint8_t* readable, FieldPath& path, std::uint8_t* out) noexcept {
    for (Value& found : path.found) {
        found.type = Value::Type::None;
    }
    path.written = nullptr;
    while (begin != end && is_white(*begin)) {
        ++begin;
    }
    LineStrings strings(end, readable, path, out);
    RecordWalk<LineStrings> walk(begin, end, strings);
    const bool is_good = walk.run();
    return {is_good ? nullptr : walk.place(), begin != end && *begin == '{'};
}

// Which members of one object are wanted: keys are compared, nothing is written.
class MemberStrings {
public:
    MemberStrings(const std::uint8_t* end, Members& members) noexcept
        : end_(end), members_(members) {}

    static constexpr std::uint32_t levels() noexcept { return 1; }
    bool is_field(const Value& name, std::uint32_t /*level*/) noexcept {
        for (wanted_ = 0; wanted_ < members_.names.size(); ++wanted_) {
            if (is_key(name, members_.names[wanted_], members_.key_text.data())) {
                return true;
            }
        }
        return false;
    }
    static constexpr bool is_step(const Value& /*name*/, std::uint32_t /*level*/) noexcept {
        return false;
    }
    void note(std::uint32_t /*level*/, const Value& found) noexcept {
        members_.found[wanted_] = found;
    }
    static constexpr void forget(std::uint32_t /*level*/) noexcept {}
    static constexpr bool may_continue() noexcept { return true; }
    bool scan(const std::uint8_t*& at, Value& found) noexcept {
        return scan_string(at, end_, end_, found);
    }
    bool scan_field(const std::uint8_t*& at, Value& found) noexcept { return scan(at, found); }

private:
    const std::uint8_t* const end_;
    Members& members_;
    std::size_t wanted_ = 0;  // of the key that was seen last
};

inline Scan scan_members(const std::uint8_t* begin, const std::uint8_t* end,
                         Members& members) noexcept {
    while (begin != end && is_white(*begin)) {
        ++begin;
    }
    MemberStrings strings(end, members);
    RecordWalk<MemberStrings> walk(begin, end, strings);
    const bool is_good = walk.run();
    return {is_good ? nullptr : walk.place(), begin != end && *begin == '{'};
}
