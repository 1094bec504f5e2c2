#include "encode/symbols.h"

#include <algorithm>

namespace tokenmill::encode {

namespace {

std::size_t char_bytes(std::uint8_t lead) noexcept {
    return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

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

void append_characters(const vocab::VocabView& vocab, Bytes word,
                       std::vector<std::uint32_t>& symbols) {
    for (std::size_t at = 0; at < word.size();) {
        const std::size_t size = std::min(char_bytes(word[at]), word.size() - at);
        const Bytes character = word.subspan(at, size);
        std::uint32_t symbol = vocab::kNoMerge;
        if (size == 1) {
            symbol = vocab.external[word[at]] == vocab::VocabView::kNoToken ? symbol : word[at];
        } else {
            const TokenId id = vocab.find(character);
            symbol = id == vocab::VocabView::kNoToken ? symbol : vocab.internal[id];
        }
        if (symbol == vocab::kNoMerge) {
            append_unknown(vocab, character, symbols);
        } else {
            symbols.push_back(symbol);
        }
        at += size;
    }
}

}  // namespace

void start_symbols(const vocab::VocabView& vocab, Bytes word, std::vector<std::uint32_t>& symbols) {
    symbols.clear();
    if (vocab.kind() == vocab::Kind::Characters) {
        append_characters(vocab, word, symbols);
        return;
    }
    for (const std::uint8_t byte : word) {
        if (!vocab.is_dropped(byte)) {
            symbols.push_back(byte);
        }
    }
}

std::size_t symbol_count(const vocab::VocabView& vocab, std::uint32_t internal) noexcept {
    if (internal == kUnknown || internal < vocab.scalars().first_merged) {
        return 1;
    }
    const Bytes text = vocab.token_bytes(vocab.external[internal]);
    if (vocab.kind() == vocab::Kind::Bytes) {
        return text.size();
    }
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](std::uint8_t byte) { return (byte & 0xC0) != 0x80; }));
}

void append_symbols(const vocab::VocabView& vocab, std::uint32_t internal,
                    std::vector<std::uint32_t>& symbols) {
    if (internal == kUnknown || internal < vocab.scalars().first_merged) {
        symbols.push_back(internal);
        return;
    }
    const Bytes text = vocab.token_bytes(vocab.external[internal]);
    if (vocab.kind() == vocab::Kind::Bytes) {
        symbols.insert(symbols.end(), text.begin(), text.end());
    } else {
        append_characters(vocab, text, symbols);
    }
}

void to_external(const vocab::VocabView& vocab, std::vector<std::uint32_t>& ids) noexcept {
    for (std::uint32_t& id : ids) {
        id = id == kUnknown ? vocab.unk_id() : vocab.external[id];
    }
}

}  // namespace tokenmill::encode
