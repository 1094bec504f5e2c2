// read/json: one line of JSON -> the wanted field, or where the line is wrong. The line is checked
// in full, in one pass without recursion. Text compiled once per target, inside its namespace.

inline bool is_white(std::uint8_t c) noexcept {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}
inline bool is_digit(std::uint8_t c) noexcept {
    return c >= '0' && c <= '9';
}

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
    if (code >> 11 == 0x1B) {  // D800 to DFFF
        const bool is_pair = code < 0xDC00 && end - at >= 12 && at[6] == '\\' && at[7] == 'u' &&
                             hex4(at + 8) >> 10 == 0x37;
        if (is_pair) {
            code = 0x10000 + ((code & 0x3FF) << 10 | (hex4(at + 8) & 0x3FF));
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

// Walks over one line without recursion. `tracked_` of the containers around the current place,
// counted from the outermost, are objects on the field's path.
class LineWalk {
public:
    LineWalk(const std::uint8_t* begin, const std::uint8_t* end, const std::uint8_t* readable,
             FieldPath& path, std::uint8_t* out) noexcept
        : at_(begin), end_(end), readable_(readable), path_(path), out_(out) {}

    bool run() noexcept {
        want_ = Want::Descend;  // the line itself is the object of level 0
        if (!value()) {
            return false;
        }
        while (depth_ != 0) {
            if (!member()) {
                return false;
            }
        }
        skip_white();
        return at_ == end_;
    }

    [[nodiscard]] const std::uint8_t* place() const noexcept { return at_; }

private:
    enum class Want : std::uint8_t { Nothing, Field, Descend };

    void skip_white() noexcept {
        while (at_ != end_ && is_white(*at_)) {
            ++at_;
        }
    }
    [[nodiscard]] bool in_object() const noexcept {
        return (objects_[(depth_ - 1) / 64] >> ((depth_ - 1) % 64) & 1) != 0;
    }

    // One member or element, or the end of the innermost container.
    bool member() noexcept {
        skip_white();
        if (at_ == end_) {
            return false;
        }
        const bool is_object = in_object();
        const std::uint8_t closing = is_object ? std::uint8_t{'}'} : std::uint8_t{']'};
        if (*at_ == closing) {
            close();
            return true;
        }
        if (!is_first_) {
            if (*at_ != ',') {
                return false;
            }
            ++at_;
        }
        is_first_ = false;
        return is_object ? key() && value() : value();
    }

    void close() noexcept {
        ++at_;
        tracked_ -= tracked_ == depth_ ? 1 : 0;
        --depth_;
        is_first_ = false;
    }

    bool open(bool is_object, Want want) noexcept {
        if (depth_ == kMaxDepth) {
            return false;
        }
        ++at_;
        const std::uint64_t bit = std::uint64_t{1} << (depth_ % 64);
        std::uint64_t& word = objects_[depth_ / 64];
        word = is_object ? word | bit : word & ~bit;
        tracked_ += is_object && want == Want::Descend ? 1 : 0;
        ++depth_;
        is_first_ = true;
        return true;
    }

    // A key and its colon.
    bool key() noexcept {
        skip_white();
        if (at_ == end_ || *at_ != '"') {
            return false;
        }
        Value name;
        if (!string(name)) {
            return false;
        }
        want_ = depth_ == tracked_ ? want_of(name) : Want::Nothing;
        skip_white();
        if (at_ == end_ || *at_ != ':') {
            return false;
        }
        ++at_;
        return true;
    }

    // A key that comes again replaces the value of the one before.
    Want want_of(const Value& name) noexcept {
        const std::size_t level = tracked_ - 1;
        if (is_key(name, path_.rests[level])) {
            return Want::Field;
        }
        if (level + 1 == path_.keys.size() || !is_key(name, path_.keys[level])) {
            return Want::Nothing;
        }
        for (std::size_t deeper = level + 1; deeper < path_.keys.size(); ++deeper) {
            path_.found[deeper].type = Value::Type::None;
        }
        return Want::Descend;
    }

    bool is_key(const Value& name, const std::string& wanted) noexcept {
        const auto size = static_cast<std::size_t>(name.end - name.begin);
        if (!name.has_escapes) {
            return size == wanted.size() && std::memcmp(name.begin, wanted.data(), size) == 0;
        }
        if (size > 6 * wanted.size()) {  // six bytes of an escape are at least one of text
            return false;
        }
        const Unescaped text = unescape(name.begin, name.end, path_.key_text.data());
        return text.lone_surrogate == nullptr && text.size == wanted.size() &&
               std::memcmp(path_.key_text.data(), wanted.data(), text.size) == 0;
    }

    bool value() noexcept {
        const Want want = want_;
        want_ = Want::Nothing;
        skip_white();
        if (at_ == end_) {
            return false;
        }
        Value found;
        found.type = Value::Type::Other;
        found.begin = at_;
        bool is_good = false;
        // Scanned before it is noted: `tracked_` is that of the object around it until then.
        Value* const note = want == Want::Field ? &path_.found[tracked_ - 1] : nullptr;
        switch (*at_) {
            case '"':
                is_good = note != nullptr ? field_string(found) : string(found);
                break;
            case '{':
            case '[':
                is_good = open(*at_ == '{', want);
                break;
            case 'n':
                found.type = Value::Type::Null;
                is_good = literal("null", 4);
                break;
            case 't':
                is_good = literal("true", 4);
                break;
            case 'f':
                is_good = literal("false", 5);
                break;
            case 'N':
                is_good = literal("NaN", 3);
                break;
            case 'I':
                is_good = literal("Infinity", 8);
                break;
            default:
                is_good = number();
        }
        if (note != nullptr) {
            *note = found;
            path_.written = found.type == Value::Type::String ? note : path_.written;
        }
        return is_good;
    }

    bool literal(const char* word, std::size_t size) noexcept {
        if (static_cast<std::size_t>(end_ - at_) < size || std::memcmp(at_, word, size) != 0) {
            return false;
        }
        at_ += size;
        return true;
    }

    bool number() noexcept {
        if (*at_ == '-') {
            ++at_;
            if (at_ != end_ && *at_ == 'I') {
                return literal("Infinity", 8);
            }
        }
        if (at_ == end_ || !is_digit(*at_)) {
            return false;
        }
        if (*at_ == '0') {
            ++at_;
        } else {
            skip_digits();
        }
        if (end_ - at_ >= 2 && *at_ == '.' && is_digit(at_[1])) {
            ++at_;
            skip_digits();
        }
        if (at_ != end_ && (*at_ | 0x20) == 'e') {
            exponent();
        }
        return true;
    }

    // Without digits it is not an exponent, and the `e` is the error after the number.
    void exponent() noexcept {
        const bool has_sign = end_ - at_ >= 2 && (at_[1] == '+' || at_[1] == '-');
        const std::uint8_t* digits = at_ + (has_sign ? 2 : 1);
        if (digits != end_ && is_digit(*digits)) {
            at_ = digits;
            skip_digits();
        }
    }

    void skip_digits() noexcept {
        while (at_ != end_ && is_digit(*at_)) {
            ++at_;
        }
    }

    // A string from its quote on; stops at what is wrong.
    bool string(Value& found) noexcept {
        found.type = Value::Type::String;
        found.begin = ++at_;
        for (;;) {
            at_ = skip_plain(at_, end_, readable_);
            if (at_ == end_ || *at_ < 0x20) {
                return false;
            }
            if (*at_ == '"') {
                found.end = at_++;
                return true;
            }
            found.has_escapes = true;
            while (at_ != end_ && *at_ == '\\') {  // they often come in runs
                const std::size_t size = escape_size(at_, end_);
                if (size == 0) {
                    return false;
                }
                at_ += size;
            }
        }
    }

    // The same for the field itself: its text is written on the way, over that of an earlier one.
    bool field_string(Value& found) noexcept {
        found.type = Value::Type::String;
        const std::uint8_t* const end = end_;  // locals: `out` may alias anything
        const std::uint8_t* at = at_ + 1;
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
                    at_ = at;
                    return false;
                }
                at = write_escape(at, end, out, path_.text.lone_surrogate);
            }
        }
        at_ = at;
        if (at == end || *at != '"') {
            return false;
        }
        found.end = at_++;
        path_.text.size = static_cast<std::size_t>(out - out_);
        return true;
    }

    const std::uint8_t* at_;
    const std::uint8_t* const end_;
    const std::uint8_t* const readable_;
    FieldPath& path_;
    std::uint8_t* const out_;
    unsigned depth_ = 0;
    unsigned tracked_ = 0;
    bool is_first_ = false;
    Want want_ = Want::Nothing;
    std::uint64_t objects_[kMaxDepth / 64] =
        {};  // bit i: the container at depth i + 1 is an object
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
    LineWalk walk(begin, end, readable, path, out);
    const bool is_good = walk.run();
    return {is_good ? nullptr : walk.place(), begin != end && *begin == '{'};
}
