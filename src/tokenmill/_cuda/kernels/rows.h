// fill_rows: ids of documents -> a table of rows. The host decided which piece goes where, from
// lengths alone; here every place of the table is computed on its own from the piece that it is in.
//
//   places       0 1 2 3 4 5 6 7 | 8 9 ...       rows of 8
//   pieces       a a a b b . . . | c c ...       piece_place 0 3 8, piece_length 3 2 ...
//   segment_ids  1 1 1 2 2 0 0 0 | 1 1 ...       the rest of a row is padding
#pragma once

enum : u32 {
    kRowThreads = 256,
    kRowTile = 2048,  // places of a block
};

// The last piece in [first, end) that starts at or before `place`; `first` must.
TM_DEVICE u32 piece_of(const u64* piece_place, u32 first, u32 end, u64 place) {
    while (end - first > 1) {
        const u32 middle = first + (end - first) / 2;
        if (piece_place[middle] <= place) {
            first = middle;
        } else {
            end = middle;
        }
    }
    return first;
}

// The token `inside` a piece: BOS, an id of the document's text, or EOS.
TM_DEVICE u32 row_token(const Rows& rows, u32 piece, u64 inside) {
    const u64 framed = rows.piece_frame[piece] + inside;
    if (framed < rows.bos_count) {
        return u32(rows.bos);
    }
    const u64 at = framed - rows.bos_count;
    if (at >= rows.piece_text[piece]) {
        return u32(rows.eos);
    }
    return *reinterpret_cast<const u32*>(rows.piece_ids[piece] + at * sizeof(u32));
}

TM_DEVICE u64 row_label(const Rows& rows, u32 piece, u64 inside) {
    const bool shifted = (rows.options & kShiftedLabels) != 0;
    const bool at_border = shifted ? inside + 1 == rows.piece_length[piece] : inside == 0;
    return at_border ? rows.ignore : row_token(rows, piece, shifted ? inside + 1 : inside);
}

TM_DEVICE void put(void* column, u64 place, u64 value, bool wide) {
    if (column == nullptr) {
        return;
    }
    if (wide) {
        static_cast<u64*>(column)[place] = value;
    } else {
        static_cast<u32*>(column)[place] = u32(value);
    }
}

TM_DEVICE void fill_place(const Rows& rows, u32 piece, u64 place) {
    const bool wide = (rows.options & kWide) != 0;
    const u64 inside = place - rows.piece_place[piece];
    const bool is_token = inside < rows.piece_length[piece];
    put(rows.input_ids, place, is_token ? row_token(rows, piece, inside) : rows.pad, wide);
    if (rows.labels != nullptr) {
        put(rows.labels, place, is_token ? row_label(rows, piece, inside) : rows.ignore, wide);
    }
    put(rows.position_ids, place, is_token ? rows.piece_position[piece] + inside : 0, wide);
    put(rows.segment_ids, place, is_token ? rows.piece_segment[piece] : 0, false);
    put(rows.attention_mask, place, is_token ? 1 : 0, wide);
}

// fill_rows: Rows -> its columns.
//
// A block owns kRowTile neighbouring places, a thread every kRowThreads-th of them, so that writes
// are next to each other. Two threads find the pieces of the first and the last place; after the
// barrier each thread searches only between those. Every place is written once: no atomics.
TM_KERNEL(kRowThreads) fill_rows(const Tables*, const Rows* given) {
    TM_SHARED u32 range[2];  // the pieces of the first and of the last place
    const Rows rows = *given;
    const u64 begin = u64(TM_BLOCK) * kRowTile;
    if (begin >= rows.places) {
        return;
    }
    const u64 end = begin + kRowTile < rows.places ? begin + kRowTile : rows.places;
    TM_THREADS(t, 2) {
        range[t] = piece_of(rows.piece_place, 0, u32(rows.pieces), t == 0 ? begin : end - 1);
    }
    TM_SYNC();
    TM_THREADS(t, kRowThreads) {
        for (u64 place = begin + t; place < end; place += kRowThreads) {
            fill_place(rows, piece_of(rows.piece_place, range[0], range[1] + 1, place), place);
        }
    }
}
