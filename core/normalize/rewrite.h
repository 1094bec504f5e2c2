// normalize/rewrite: one function per kind of step, for text with and without spans.
#pragma once

#include <algorithm>
#include <string_view>
#include <utility>

#include "normalize/charsmap.h"
#include "normalize/forms.h"
#include "normalize/literal.h"
#include "normalize/normalize.h"
#include "normalize/pattern.h"
#include "normalize/scan.h"
#include "normalize/sink.h"
#include "unicode/unicode.h"

namespace tokenmill::normalize {

// Start of the stretch around `suspect`: the last unflagged character before it, which it may
// compose with, or `done`, where the stretch before ended.
[[nodiscard]] inline const std::uint8_t* stretch_begin(const std::uint8_t* done,
                                                       const std::uint8_t* suspect,
                                                       unicode::Flags mask) noexcept {
    const std::uint8_t* at = suspect;
    while (at != done) {
        at = previous_char(at);
        if ((unicode::flags_of(unicode::read_character(at).point) & mask) == 0) {
            break;
        }
    }
    return at;
}

// Rewrites only the stretches around suspects. An unflagged character neither changes nor composes
// with the character before it, so a stretch may start with one and end before one.
template <typename Sink>
void rewrite_form(StepKind kind, unicode::Flags mask, Bytes text, Sink& sink) {
    const std::uint8_t* const end = text.data() + text.size();
    std::vector<FormPart> parts;
    for (const std::uint8_t* done = text.data(); done != end;) {
        const std::uint8_t* const suspect = next_suspect(done, end, mask);
        if (suspect == end) {
            sink.copy(done, end);
            return;
        }
        const std::uint8_t* const begin = stretch_begin(done, suspect, mask);
        sink.copy(done, begin);
        done = skip_flagged(suspect, end, mask);
        make_form(kind, {begin, done}, parts, sink.stop);
        Cursor cursor(begin, done);
        for (const FormPart& part : parts) {
            sink.put(part.point, Sink::kAligned ? cursor.take(part.change) : nullptr);
        }
    }
}

// Calls `write(point, at)` for every character that is not ASCII or has a flag of the mask, and
// copies the others.
template <typename Sink, typename Write>
void rewrite_flagged(unicode::Flags mask, Bytes text, Sink& sink, Write write) {
    const std::uint8_t* const end = text.data() + text.size();
    const std::uint8_t* done = text.data();
    for (const std::uint8_t* at = done; at != end;) {
        const unicode::Character character = unicode::read_character(at);
        if ((unicode::flags_of(character.point) & mask) != 0) {
            sink.copy(done, at);
            write(character.point, at);
            done = at + character.size;
        }
        at += character.size;
    }
    sink.copy(done, end);
}

template <typename Sink>
void rewrite_lowercase(Bytes text, Sink& sink) {
    rewrite_flagged(unicode::kLowers, text, sink, [&sink](char32_t point, const std::uint8_t* at) {
        for (const char32_t part : unicode::lowercase(point)) {
            sink.put(part, at);
        }
    });
}

template <typename Sink>
void remove_flagged(unicode::Flags mask, Bytes text, Sink& sink) {
    rewrite_flagged(mask, text, sink, [](char32_t, const std::uint8_t*) {});
}

template <typename Sink>
void clean(Bytes text, Sink& sink) {
    constexpr unicode::Flags kMask = unicode::kUnclean | unicode::kCleanSpace;
    rewrite_flagged(kMask, text, sink, [&sink](char32_t point, const std::uint8_t* at) {
        if ((unicode::flags_of(point) & unicode::kCleanSpace) != 0) {
            sink.put(' ', at);
        }
    });
}

template <typename Sink>
void space_ideographs(Bytes text, Sink& sink) {
    rewrite_flagged(unicode::kSpaced, text, sink, [&sink](char32_t point, const std::uint8_t* at) {
        sink.put(' ', at);
        sink.put(point, at);
        sink.put(' ', at);
    });
}

// Lists of the reference, which holds them as numbers and not as properties of characters.
[[nodiscard]] inline bool nmt_removes(char32_t point) noexcept {
    return (point >= 0x01 && point <= 0x08) || point == 0x0B || (point >= 0x0E && point <= 0x1F) ||
           point == 0x7F || point == 0x8F || point == 0x9F;
}

[[nodiscard]] inline bool nmt_makes_space(char32_t point) noexcept {
    return point == 0x09 || point == 0x0A || point == 0x0C || point == 0x0D || point == 0x1680 ||
           (point >= 0x200B && point <= 0x200F) || point == 0x2028 || point == 0x2029 ||
           point == 0x2581 || point == 0xFEFF || point == 0xFFFD;
}

template <typename Sink>
void rewrite_nmt(Bytes text, Sink& sink) {
    const std::uint8_t* const end = text.data() + text.size();
    for (const std::uint8_t* at = text.data(); at != end;) {
        const unicode::Character character = unicode::read_character(at);
        if (!nmt_removes(character.point)) {
            sink.put(nmt_makes_space(character.point) ? U' ' : character.point, at);
        }
        at += character.size;
    }
}

// Bytes that are printable in Latin-1 stay; the others become U+0100 and up, in order.
[[nodiscard]] inline char32_t stand_in(std::uint8_t byte) noexcept {
    const bool is_printable = (byte > 0x20 && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
    if (is_printable) {
        return byte;
    }
    const int before = byte <= 0x20 ? 0 : byte <= 0xA0 ? 0x7F - 0x21 : 0x7F - 0x21 + 0xAD - 0xA1;
    return static_cast<char32_t>(0x100 + byte - before);
}

template <typename Sink>
void write_stand_ins(Bytes text, Sink& sink) {
    for (const std::uint8_t& byte : text) {
        sink.put(stand_in(byte), &byte);
    }
}

template <typename Sink>
void strip_ends(const Step& step, Bytes text, Sink& sink) {
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
        const std::uint8_t* const last = previous_char(end);
        if (!unicode::is_white_space(unicode::read_character(last).point)) {
            break;
        }
        end = last;
    }
    sink.copy(begin, end);
}

// `find(from)` returns the next range to replace, or an empty one if there is none.
template <typename Sink, typename Find>
void replace_all(const Step& step, Bytes text, Sink& sink, Find find) {
    std::size_t done = 0;
    for (ByteRange match = find(done); match.begin != match.end; match = find(done)) {
        sink.copy(text.data() + done, text.data() + match.begin);
        sink.write(step.to, text.data() + match.end - 1);
        done = match.end;
    }
    sink.copy(text.data() + done, text.data() + text.size());
}

template <typename Sink>
void replace_literal(const Step& step, Bytes text, Sink& sink) {
    const std::string_view all(reinterpret_cast<const char*>(text.data()), text.size());
    const std::string_view from(reinterpret_cast<const char*>(step.from.data()), step.from.size());
    replace_all(step, text, sink, [all, from](std::size_t done) -> ByteRange {
        const std::size_t at = find_literal(all, from, done);
        return at == std::string_view::npos ? ByteRange{} : ByteRange{at, at + from.size()};
    });
}

template <typename Sink>
void replace_matches(const Step& step, Bytes text, Sink& sink) {
    const Pattern& pattern = *step.pattern;
    replace_all(step, text, sink,
                [&pattern, text](std::size_t done) { return pattern.find(text, done); });
}

template <typename Sink>
void prepend(const Step& step, Bytes text, Sink& sink) {
    if (text.empty()) {
        return;
    }
    // The reference replaces the first character, then inserts it again after the replacement.
    const Bytes first(text.data(), char_size(text[0]));
    sink.write(step.to, text.data());
    sink.write(first, step.to.empty() ? nullptr : text.data());
    sink.copy(text.data() + first.size(), text.data() + text.size());
}

// A character to write, and what it changes (see Cursor).
struct Change {
    char32_t point = 0;
    int change = 0;
};

// Notes that `n_old` characters become `content`. The reference counts what is inserted at its
// last characters, and what is removed at the last character written so far, whatever wrote it.
// It forgets what is removed before anything is written, and its offsets lag from there on.
inline void note_replacement(Bytes content, int n_old, std::vector<Change>& changes) {
    const std::uint8_t* const end = content.data() + content.size();
    int n_new = 0;
    for (const std::uint8_t* at = content.data(); at != end; ++n_new) {
        const unicode::Character character = unicode::read_character(at);
        changes.push_back({character.point, n_new < n_old ? 0 : 1});
        at += character.size;
    }
    if (n_new < n_old && !changes.empty()) {
        changes.back().change += n_new - n_old;
    }
}

// The reference looks up a whole cluster if it has fewer than six bytes. For a longer one, or
// without a hit, it looks up its characters one by one. A hit on a prefix of a cluster replaces all
// of it: U+2460 U+0301 becomes "1" if U+2460 does.
template <typename Sink>
void rewrite_clusters(const CharsMap& map, Bytes text, Sink& sink) {
    constexpr std::ptrdiff_t kMostBytes = 5;
    std::vector<Change> changes;
    const auto write = [&](Bytes content, Bytes key) {
        if constexpr (Sink::kAligned) {
            const auto n_old = count_chars(key.data(), key.size());
            note_replacement(content, static_cast<int>(n_old), changes);
        } else {
            sink.write(content, key.data());
        }
    };
    const std::uint8_t* const end = text.data() + text.size();
    for (const std::uint8_t* at = text.data(); at != end;) {
        const std::uint8_t* const stop = unicode::cluster_end(at, end);
        const std::optional<Bytes> whole =
            stop - at <= kMostBytes ? map.find({at, stop}) : std::nullopt;
        if (whole) {
            write(*whole, {at, stop});
            at = stop;
        }
        while (at != stop) {
            const Bytes one(at, char_size(*at));
            write(map.find(one).value_or(one), one);
            at += one.size();
        }
    }
    Cursor cursor(text.data(), end);
    for (const Change& change : changes) {
        sink.put(change.point, cursor.take(change.change));
    }
}

}  // namespace tokenmill::normalize
