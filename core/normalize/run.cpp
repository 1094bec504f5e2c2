#include "normalize/forms.h"
#include "normalize/normalize.h"
#include "normalize/scan.h"
#include "unicode/unicode.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace tokenmill::normalize {

namespace {

using Buffer = std::vector<std::uint8_t>;

// Start of the stretch around `suspect`: the last unflagged character before it, which it may melt
// into, or `done`, where the stretch before ended.
const std::uint8_t* stretch_begin(const std::uint8_t* done, const std::uint8_t* suspect,
                                  unicode::Flags mask) noexcept {
    const std::uint8_t* at = suspect;
    while (at != done) {
        at = unicode::previous_character(at);
        if ((unicode::flags_of(unicode::read_character(at).point) & mask) == 0) {
            break;
        }
    }
    return at;
}

// Rewrites only the stretches around suspects. An unflagged character neither changes nor melts
// into what stands before it, so a stretch may begin with one and end before one.
void rewrite_form(Kind kind, Bytes text, Buffer& out) {
    const unicode::Flags mask = mask_of(kind);
    const std::uint8_t* const end = text.data() + text.size();
    std::vector<Part> parts;
    for (const std::uint8_t* done = text.data(); done != end;) {
        const std::uint8_t* const suspect = next_suspect(done, end, mask);
        if (suspect == end) {
            out.insert(out.end(), done, end);
            return;
        }
        const std::uint8_t* const begin = stretch_begin(done, suspect, mask);
        out.insert(out.end(), done, begin);
        done = skip_flagged(suspect, end, mask);
        append_form(kind, {begin, done}, parts, out);
    }
}

void append_ascii_lowercase(const std::uint8_t* begin, const std::uint8_t* end, Buffer& out) {
    const std::size_t old_size = out.size();
    out.resize(old_size + static_cast<std::size_t>(end - begin));
    std::transform(begin, end, out.data() + old_size, [](std::uint8_t byte) {
        const bool is_capital = static_cast<std::uint8_t>(byte - 'A') < 26;
        return static_cast<std::uint8_t>(is_capital ? byte + 0x20 : byte);
    });
}

void rewrite_lowercase(Bytes text, Buffer& out) {
    const std::uint8_t* const end = text.data() + text.size();
    for (const std::uint8_t* done = text.data(); done != end;) {
        const std::uint8_t* const capital = next_suspect(done, end, unicode::kLowers);
        append_ascii_lowercase(done, capital, out);
        done = capital;
        if (capital != end) {
            const unicode::Character character = unicode::read_character(capital);
            for (const char32_t point : unicode::lowercase(character.point)) {
                append_character(point, out);
            }
            done += character.size;
        }
    }
}

void remove_marks(Bytes text, Buffer& out) {
    const std::uint8_t* const end = text.data() + text.size();
    for (const std::uint8_t* done = text.data(); done != end;) {
        const std::uint8_t* const mark = next_suspect(done, end, unicode::kMark);
        out.insert(out.end(), done, mark);
        done = skip_flagged(mark, end, unicode::kMark);
    }
}

void strip_ends(const Step& step, Bytes text, Buffer& out) {
    const std::uint8_t* begin = text.data();
    const std::uint8_t* end = begin + text.size();
    while (step.left && begin != end) {
        const unicode::Character first = unicode::read_character(begin);
        if (!unicode::is_white_space(first.point)) {
            break;
        }
        begin += first.size;
    }
    while (step.right && begin != end) {
        const std::uint8_t* const last = unicode::previous_character(end);
        if (!unicode::is_white_space(unicode::read_character(last).point)) {
            break;
        }
        end = last;
    }
    out.insert(out.end(), begin, end);
}

void replace_all(const Step& step, Bytes text, Buffer& out) {
    const std::string_view all(reinterpret_cast<const char*>(text.data()), text.size());
    const std::string_view from(reinterpret_cast<const char*>(step.from.data()), step.from.size());
    std::size_t done = 0;
    for (std::size_t at = all.find(from); at != std::string_view::npos; at = all.find(from, done)) {
        out.insert(out.end(), text.data() + done, text.data() + at);
        out.insert(out.end(), step.to.begin(), step.to.end());
        done = at + from.size();
    }
    out.insert(out.end(), text.data() + done, text.data() + text.size());
}

void prepend(const Step& step, Bytes text, Buffer& out) {
    if (!text.empty()) {
        out.insert(out.end(), step.to.begin(), step.to.end());
    }
    out.insert(out.end(), text.begin(), text.end());
}

// Appends the text as rewritten by one step.
void run_step(const Step& step, Bytes text, Buffer& out) {
    switch (step.kind) {
        case Kind::Nfc:
        case Kind::Nfd:
        case Kind::Nfkc:
        case Kind::Nfkd:
            return rewrite_form(step.kind, text, out);
        case Kind::Lowercase:
            return rewrite_lowercase(text, out);
        case Kind::StripAccents:
            return remove_marks(text, out);
        case Kind::Strip:
            return strip_ends(step, text, out);
        case Kind::Replace:
            return replace_all(step, text, out);
        case Kind::Prepend:
            return prepend(step, text, out);
    }
}

}  // namespace

void run(const Program& program, Bytes text, std::vector<std::uint8_t>& out) {
    out.clear();
    out.reserve(text.size() + text.size() / 8);
    if (program.steps.empty()) {
        out.assign(text.begin(), text.end());
        return;
    }
    run_step(program.steps.front(), text, out);
    Buffer next;
    for (std::size_t index = 1; index < program.steps.size(); ++index) {
        next.clear();
        run_step(program.steps[index], out, next);
        std::swap(out, next);
    }
}

}  // namespace tokenmill::normalize
