// What merging starts from: the bytes of a word, or its characters (TM_CHARACTERS). A character
// that the vocabulary does not have becomes its bytes, which merge with nothing.
#pragma once

#include "base/utf8.h"

#if TM_CHARACTERS

// A symbol, and how many places of a word it covers.
struct CharSymbol {
    u32 symbol;
    u32 size;
};

// The character whose first byte is the lowest one, of which `left` bytes belong to the word. Bytes
// after the first of an unknown character become symbols when their own turn comes.
TM_DEVICE CharSymbol char_symbol(const Tables* tables, u32 bytes, u32 left) {
    const u32 lead = bytes & 255;
    u32 code = lead;
    u32 size = 1;
    if (lead >= 0xC0) {
        const u32 a = bytes >> 8 & 63;
        const u32 b = bytes >> 16 & 63;
        const u32 c = bytes >> 24 & 63;
        size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
        code = size == 2   ? (lead & 31) << 6 | a
               : size == 3 ? (lead & 15) << 12 | a << 6 | b
                           : (lead & 7) << 18 | a << 12 | b << 6 | c;
    }
    const bool is_char = !tokenmill::is_continuation(u8(lead)) && size <= left && code < 0x110000;
    const u32 symbol = is_char ? read_table(tables->char_symbols + code) : kNoRank;
    if (symbol != kNoRank) {
        return {symbol, size};
    }
    return {TM_FIRST_BYTE + lead, 1};
}

// The symbol at a place of a miss, which is not inside of a known character.
TM_DEVICE CharSymbol symbol_at(const Tables* tables, const u8* text, uint4 miss, u32 at) {
    const u32 front = in_front(miss);
    const u32 bytes = at < front ? u32(' ') : text_word(text, miss.x + at - front);
    return char_symbol(tables, bytes, symbol_places(miss) - at);
}

// The place of the symbol that covers a place.
TM_DEVICE u32 symbol_over(const Tables* tables, const u8* text, uint4 miss, u32 at) {
    const u32 front = in_front(miss);
    for (u32 back = 0; back < 4 && at >= front + back; ++back) {
        if (!tokenmill::is_continuation(text[miss.x + at - front - back])) {
            return symbol_at(tables, text, miss, at - back).size > back ? at - back : at;
        }
    }
    return at;
}

TM_DEVICE u32 pair_rank(const tokenmill::vocab::PairTable& pairs, u32 left, u32 right) {
    if ((left | right) < 256) {
        const u32 merged = read_table(pairs.byte_pairs + (left << 8 | right));
        return merged < kNoRank ? merged : kNoRank;
    }
    return end_probe(begin_probe(pairs, left, right));
}

// Loads the symbols of a miss; `live` has all of its places, and then only those of symbols.
template <u32 kThreads, typename Live>
TM_DEVICE void load_characters(const Tables* tables, const u8* text, uint4 miss,
                               const tokenmill::vocab::PairTable& pairs,
                               const Symbols<kThreads>& symbols, Live& live) {
    const u32 places = symbol_places(miss);
    u32 last = 0;
    u32 last_symbol = kNoRank;
    for (u32 at = 0; at < places;) {
        const CharSymbol next = symbol_at(tables, text, miss, at);
        if (last_symbol != kNoRank) {
            symbols.set(last, last_symbol, pair_rank(pairs, last_symbol, next.symbol));
        }
        last = at;
        last_symbol = next.symbol;
        for (u32 k = 1; k < next.size; ++k) {
            live.remove(at + k);
            symbols.drop(at + k);
        }
        at += next.size;
    }
    symbols.set(last, last_symbol, kNoRank);
}

#endif
