// Runs beyond the masks of a tile, followed along the text. One thread of a block does it, and only
// if a run reaches the edge of the masks. A run of more than TM_FARTHEST bytes sends its document
// to the CPU.
#pragma once

#include "tile.h"

// The fields of Edges.
struct Beyond {
    const Tables* tables;
    const Batch* batch;
    Text text;

    TM_DEVICE u32 absorbed_at(u32 position) const {
        u32 answer = 0;
        for (u32 at = position; position - at < TM_FARTHEST; --at) {
            if (begins_document(text, at)) {
                return answer;
            }
            const u32 byte = text.bytes[at];
            const bool is_newline = byte == '\n' || byte == '\r';
            if (!is_newline && !(TM_TAIL == 2 && byte == '/')) {
                return answer;
            }
            const u32 before = char_before(text, at);
            const u32 code = char_at(text, before).code;
            const u32 bits = rule_class(tables, code);
            const bool is_other = (bits & (kLetter | kNumber | kWhite | kHan)) == 0;
            const bool is_doubtful = TM_CASED && is_hard(bits, code);
            if (is_newline && is_other && !is_doubtful) {
                return 1;
            }
            answer = is_newline && is_doubtful ? kUnknown : answer;
        }
        leave_document_at(batch, position, kNoSync);
        return 0;
    }

    TM_DEVICE u32 digits_before(u32 position, u32 group) const {
        u32 count = 0;
        for (u32 at = position; position - at < TM_FARTHEST;) {
            if (begins_document(text, at)) {
                return count % group;
            }
            at = char_before(text, at);
            const u32 code = char_at(text, at).code;
            const u32 bits = rule_class(tables, code);
            if (TM_CASED && is_hard(bits, code)) {
                return kUnknown;
            }
            if ((bits & kNumber) == 0) {
                return count % group;
            }
            ++count;
        }
        leave_document_at(batch, position, kNoSync);
        return 0;
    }

    TM_DEVICE u32 blanks_end(u32 position) const {
        u32 at = position;
        while (at - position < 3 && !begins_document(text, at) && is_continuation(text.bytes[at])) {
            ++at;  // the rest of a blank that starts inside of the masks
        }
        while (at - position < TM_FARTHEST) {
            if (begins_document(text, at)) {
                return kRunEndOfText;
            }
            const u32 byte = text.bytes[at];
            if (byte == '\n' || byte == '\r') {
                return kRunNewline;
            }
            const Char c = char_at(text, at);
            if ((rule_class(tables, c.code) & kWhite) == 0) {
                return kRunText;
            }
            at += c.size;
        }
        leave_document_at(batch, position - 1, kNoSync);
        return kRunText;
    }
};
