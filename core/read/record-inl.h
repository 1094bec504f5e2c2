// read/record: the grammar of a line of JSON, and which of its values is the wanted field. The line
// is checked in full, in one pass without recursion. The only source of these rules: compiled once
// for every target of the CPU, inside its namespace after read/value.h, and for the device.
//
// `Strings` is what differs: how strings are scanned, and what is done with the field.
//   bool scan(at, found)          a string from its quote on: leaves `at` after it, or at its fault
//   bool scan_field(at, found)    the same for the field itself
//   TmU32 levels()                keys of the field's path
//   bool is_field(name, level)    at that level, is it the rest of the path with its dots?
//   bool is_step(name, level)     does it lead one level down?
//   void note(level, found)       the field's value at a level; a later one replaces it
//   void forget(level)            no value at this level or below it
//   bool may_continue()           false gives up: the line is left to another reader

// Walks over one line. `tracked_` of the containers around the current place, counted from the
// outermost, are objects on the field's path.
template <typename Strings>
class RecordWalk {
public:
    TOKENMILL_HD RecordWalk(const TmU8* begin, const TmU8* end, Strings& strings)
        : at_(begin), end_(end), strings_(strings) {}

    // True if the line is one value; if not, place() is where it stops being JSON.
    TOKENMILL_HD bool run() {
        want_ = Want::Descend;  // the line itself is the object of level 0
        if (!value()) {
            return false;
        }
        while (depth_ != 0) {
            if (!member() || !strings_.may_continue()) {
                return false;
            }
        }
        skip_white();
        return at_ == end_;
    }

    [[nodiscard]] TOKENMILL_HD const TmU8* place() const { return at_; }

private:
    enum class Want : TmU8 { Nothing, Field, Descend };
    static constexpr TmU32 kNoLevel = ~TmU32{0};

    TOKENMILL_HD void skip_white() {
        while (at_ != end_ && is_white(*at_)) {
            ++at_;
        }
    }
    [[nodiscard]] TOKENMILL_HD bool in_object() const {
        return (objects_[(depth_ - 1) / 64] >> ((depth_ - 1) % 64) & 1) != 0;
    }

    // One member or element, or the end of the innermost container.
    TOKENMILL_HD bool member() {
        skip_white();
        if (at_ == end_) {
            return false;
        }
        const bool is_object = in_object();
        if (*at_ == (is_object ? TmU8{'}'} : TmU8{']'})) {
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

    TOKENMILL_HD void close() {
        ++at_;
        tracked_ -= tracked_ == depth_ ? 1 : 0;
        --depth_;
        is_first_ = false;
    }

    TOKENMILL_HD bool open(bool is_object, Want want) {
        if (depth_ == kMaxDepth) {
            return false;
        }
        ++at_;
        const TmU64 bit = TmU64{1} << (depth_ % 64);
        TmU64& word = objects_[depth_ / 64];
        word = is_object ? word | bit : word & ~bit;
        tracked_ += is_object && want == Want::Descend ? 1 : 0;
        ++depth_;
        is_first_ = true;
        return true;
    }

    // A key and its colon.
    TOKENMILL_HD bool key() {
        skip_white();
        if (at_ == end_ || *at_ != '"') {
            return false;
        }
        Value name;
        if (!strings_.scan(at_, name)) {
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
    TOKENMILL_HD Want want_of(const Value& name) {
        const TmU32 level = tracked_ - 1;
        if (strings_.is_field(name, level)) {
            return Want::Field;
        }
        if (level + 1 == strings_.levels() || !strings_.is_step(name, level)) {
            return Want::Nothing;
        }
        strings_.forget(level + 1);
        return Want::Descend;
    }

    TOKENMILL_HD bool value() {
        const Want want = want_;
        want_ = Want::Nothing;
        skip_white();
        if (at_ == end_) {
            return false;
        }
        Value found;
        found.type = Value::Type::Other;
        found.begin = at_;
        // Before it is scanned: `tracked_` is that of the object around it until then.
        const TmU32 level = want == Want::Field ? tracked_ - 1 : kNoLevel;
        const bool is_good = scan_value(found, want, level);
        if (level != kNoLevel) {
            strings_.note(level, found);
        }
        return is_good;
    }

    TOKENMILL_HD bool scan_value(Value& found, Want want, TmU32 level) {
        switch (*at_) {
            case '"':
                return level != kNoLevel ? strings_.scan_field(at_, found)
                                         : strings_.scan(at_, found);
            case '{':
            case '[':
                return open(*at_ == '{', want);
            case 'n':
                found.type = Value::Type::Null;
                return literal("null");
            case 't':
                return literal("true");
            case 'f':
                return literal("false");
            case 'N':
                return literal("NaN");
            case 'I':
                return literal("Infinity");
            default:
                return number();
        }
    }

    template <TmU32 kSize>
    TOKENMILL_HD bool literal(const char (&word)[kSize]) {
        constexpr int kLetters = int(kSize) - 1;  // without its zero
        if (end_ - at_ < kLetters) {
            return false;
        }
        for (int i = 0; i < kLetters; ++i) {
            if (at_[i] != TmU8(word[i])) {
                return false;
            }
        }
        at_ += kLetters;
        return true;
    }

    TOKENMILL_HD bool number() {
        if (*at_ == '-') {
            ++at_;
            if (at_ != end_ && *at_ == 'I') {
                return literal("Infinity");
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
    TOKENMILL_HD void exponent() {
        const bool has_sign = end_ - at_ >= 2 && (at_[1] == '+' || at_[1] == '-');
        const TmU8* digits = at_ + (has_sign ? 2 : 1);
        if (digits != end_ && is_digit(*digits)) {
            at_ = digits;
            skip_digits();
        }
    }

    TOKENMILL_HD void skip_digits() {
        while (at_ != end_ && is_digit(*at_)) {
            ++at_;
        }
    }

    const TmU8* at_;
    const TmU8* const end_;
    Strings& strings_;
    TmU32 depth_ = 0;
    TmU32 tracked_ = 0;
    bool is_first_ = false;
    Want want_ = Want::Nothing;
    TmU64 objects_[kMaxDepth / 64] = {};  // bit i: the container at depth i + 1 is an object
};
