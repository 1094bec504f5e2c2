// encode: a word -> the symbols that merging starts from; and back.
#include "encode/symbols.h"

#include <algorithm>

#include "base/utf8.h"

namespace tokenmill::encode {

namespace {

// An unknown character becomes its bytes, or one unknown token (with its unknown neighbours if they
// are fused), or nothing.
void append_unknown(const vocab::VocabView& vocab, Bytes character,
                    std::vector<std::uint32_t>& symbols) {
    const vocab::Scalars& scalars = vocab.scalars();
    if (scalars.first_byte_id != 0) {
        for (const std::uint8_t byte : character) {
            symbols.push_back(scalars.first_byte_id + byte);
        }
    } else if (scalars.unk_id != vocab::VocabView::kNoToken) {
        const bool is_fused =
            scalars.fuse_unk != 0 && !symbols.empty() && symbols.back() == kUnknown;
        if (!is_fused) {
            symbols.push_back(kUnknown);
        }
    }
}

// The symbol of a byte or a character at the end of a word, or kNoMerge. The vocabulary has it
// under its text and kWordEnd.
std::uint32_t last_symbol_of(const vocab::VocabView& vocab, Bytes character) noexcept {
    std::uint8_t written[8] = {};
    std::copy(character.begin(), character.end(), written);
    written[character.size()] = vocab::kWordEnd;
    const TokenId id = vocab.find({written, character.size() + 1});
    return id == vocab::VocabView::kNoToken ? vocab::kNoMerge : vocab.internal[id];
}

// The symbol of any character, or kNoMerge.
std::uint32_t symbol_of(const vocab::VocabView& vocab, Bytes character, bool is_last) noexcept {
    if (is_last && vocab.has_ends()) {
        return last_symbol_of(vocab, character);
    }
    if (character.size() == 1) {
        const bool is_known = vocab.external[character[0]] != vocab::VocabView::kNoToken;
        return is_known ? character[0] : vocab::kNoMerge;
    }
    if (character[0] >= 0xE0 && character[0] < 0xF0 && character.size() == 3) {
        return vocab.char_symbols[decode3(character.data())];
    }
    if (character[0] >= 0xC0 && character[0] < 0xE0 && character.size() == 2) {
        return vocab.char_symbols[(character[0] & 31U) << 6 | (character[1] & 63U)];
    }
    const TokenId id = vocab.find(character);
    return id == vocab::VocabView::kNoToken ? vocab::kNoMerge : vocab.internal[id];
}

// Bytes of `text` that a byte or an unknown at its start stands for; 0 if its start is known.
std::size_t unknown_size(const vocab::VocabView& vocab, Bytes text) noexcept {
    if (text.empty()) {
        return 0;
    }
    if (is_continuation(text[0])) {
        return 1;  // inside a character that became its bytes
    }
    const vocab::Scalars& scalars = vocab.scalars();
    std::size_t size = 0;
    while (size < text.size()) {
        const std::size_t more = std::min<std::size_t>(char_size(text[size]), text.size() - size);
        const bool is_last = size + more == text.size();
        if (symbol_of(vocab, text.subspan(size, more), is_last) != vocab::kNoMerge) {
            break;
        }
        if (scalars.first_byte_id != 0) {
            return 1;
        }
        size += more;
        if (scalars.fuse_unk == 0) {
            break;
        }
    }
    return size;
}

// How many bytes of UTF-8 the printable character has that byte-level vocabularies write for a
// byte.
std::uint64_t stand_in_size(std::uint8_t byte) noexcept {
    return byte > 0x20 && byte < 0x7F ? 1 : 2;
}

// Bytes that the vocabulary lacks are dropped. The reference then assigns the tokens to the start
// of the word, and counts in bytes of the printable characters that bytes are written as.
void measure_stand_ins(const vocab::VocabView& vocab, Bytes word, std::span<const TokenId> ids,
                       std::vector<WordPart>& parts) {
    std::uint32_t at = 0;     // a byte of the word,
    std::uint64_t start = 0;  // where its character starts,
    std::uint64_t place = 0;  // and where the next token does
    const auto go_to = [&](std::uint64_t target) {
        while (at + 1 < word.size() && start + stand_in_size(word[at]) <= target) {
            start += stand_in_size(word[at++]);
        }
        return at;
    };
    for (const TokenId id : ids) {
        const std::uint32_t begin = go_to(place);
        for (const std::uint8_t byte : vocab.token_bytes(id)) {
            place += stand_in_size(byte);
        }
        parts.push_back({begin, go_to(place - 1) + 1});
    }
}

// `is_whole`: the end of the text is the end of a word.
void append_characters(const vocab::VocabView& vocab, Bytes word, bool is_whole,
                       std::vector<std::uint32_t>& symbols) {
    for (std::size_t at = 0; at < word.size();) {
        const std::size_t size = std::min<std::size_t>(char_size(word[at]), word.size() - at);
        const Bytes character = word.subspan(at, size);
        const bool is_last = is_whole && at + size == word.size();
        const std::uint32_t symbol = symbol_of(vocab, character, is_last);
        if (symbol == vocab::kNoMerge) {
            append_unknown(vocab, character, symbols);
        } else {
            symbols.push_back(symbol);
        }
        at += size;
    }
}

// Bytes that no token covers vanish; the last one may have a form of its own.
void append_bytes(const vocab::VocabView& vocab, Bytes word, bool is_whole,
                  std::vector<std::uint32_t>& symbols) {
    for (const std::uint8_t byte : word) {
        if (!vocab.is_dropped(byte)) {
            symbols.push_back(byte);
        }
    }
    if (is_whole && vocab.has_ends() && !symbols.empty()) {
        const std::uint32_t last = last_symbol_of(vocab, word.last(1));
        symbols.back() = last == vocab::kNoMerge ? symbols.back() : last;
    }
}

}  // namespace

// Part by part, so that a call can be stopped within a word of megabytes.
void start_symbols(const vocab::VocabView& vocab, Bytes word, const Stop* stop,
                   std::vector<std::uint32_t>& symbols) {
    symbols.clear();
    const bool has_characters = vocab.kind() == vocab::ModelKind::Characters;
    for (std::size_t begin = 0; begin < word.size();) {
        std::size_t end = std::min(word.size(), begin + StopPoints::kBytes);
        while (end < word.size() && is_continuation(word[end])) {
            ++end;
        }
        const Bytes part = word.subspan(begin, end - begin);
        const bool is_whole = end == word.size();
        if (has_characters) {
            append_characters(vocab, part, is_whole, symbols);
        } else {
            append_bytes(vocab, part, is_whole, symbols);
        }
        begin = end;
        check_stop(stop);
    }
}

// Symbols that merging starts from count as one, even a byte that stands for an unknown character.
std::size_t symbol_count(const vocab::VocabView& vocab, std::uint32_t internal) noexcept {
    if (internal == kUnknown || internal < vocab.scalars().first_merged) {
        return 1;
    }
    const Bytes text = vocab.token_text(vocab.external[internal]);
    if (vocab.kind() == vocab::ModelKind::Bytes) {
        return text.size();
    }
    return static_cast<std::size_t>(count_chars(text.data(), text.size()));
}

// A token whose bytes end in kWordEnd ended a word, so its last symbol is the one of an end.
void append_symbols(const vocab::VocabView& vocab, std::uint32_t internal,
                    std::vector<std::uint32_t>& symbols) {
    if (internal == kUnknown || internal < vocab.scalars().first_merged) {
        symbols.push_back(internal);
        return;
    }
    const TokenId id = vocab.external[internal];
    const Bytes text = vocab.token_text(id);
    const bool is_whole = text.size() < vocab.token_bytes(id).size();
    if (vocab.kind() == vocab::ModelKind::Bytes) {
        append_bytes(vocab, text, is_whole, symbols);
    } else {
        append_characters(vocab, text, is_whole, symbols);
    }
}

// Walks the word along the ids: each takes the bytes of its token, or those of an unknown
// character.
void measure_parts(const vocab::VocabView& vocab, Bytes word, std::span<const TokenId> ids,
                   std::vector<WordPart>& parts) {
    parts.clear();
    if (vocab.kind() == vocab::ModelKind::Bytes) {
        measure_stand_ins(vocab, word, ids, parts);
        return;
    }
    const auto size = static_cast<std::uint32_t>(word.size());
    std::uint32_t at = 0;
    for (const TokenId id : ids) {
        const std::size_t unknown = unknown_size(vocab, word.subspan(at));
        const std::size_t more = unknown != 0 ? unknown : vocab.token_text(id).size();
        const auto end = static_cast<std::uint32_t>(std::min<std::size_t>(at + more, size));
        parts.push_back({at, end});
        at = end;
    }
}

void to_external(const vocab::VocabView& vocab, std::vector<std::uint32_t>& ids) noexcept {
    for (std::uint32_t& id : ids) {
        id = id == kUnknown ? vocab.unk_id() : vocab.external[id];
    }
}

}  // namespace tokenmill::encode
