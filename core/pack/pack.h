// pack: lengths of documents -> pieces in rows, and ids of documents -> ids of rows.
//
// The lengths alone decide which token goes into which row, so the ids are moved once, when all is
// decided. Every token of the input is in a row or is counted in `dropped`; one that is in two rows
// is counted in `repeated`. The same lengths always make the same rows. Documents without tokens
// are in no row, but see one_per_row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/types.h"

namespace tokenmill::pack {

using Lengths = std::span<const std::int64_t>;

// Piece p is the tokens begins[p] .. begins[p] + lengths[p] of document documents[p]; the pieces of
// row r are row_pieces[r] .. row_pieces[r + 1].
struct RowPieces {
    std::vector<std::int64_t> documents;
    std::vector<std::int64_t> begins;
    std::vector<std::int64_t> lengths;
    std::vector<std::int64_t> row_pieces{0};
    std::int64_t dropped = 0;
    std::int64_t repeated = 0;

    void add(std::int64_t document, std::int64_t begin, std::int64_t length);
    void end_row() { row_pieces.push_back(static_cast<std::int64_t>(lengths.size())); }
};

enum class LongDocuments : std::uint8_t { Split, Truncate, Drop };
enum class LastRow : std::uint8_t { Keep, Drop };

// best_fit and best_fit_crop keep one number for every length that a row may have left.
constexpr std::int64_t kMaxFitLength = std::int64_t{1} << 24;

// Cuts the stream of all documents, one after the other, into rows of `context_length`; each row
// starts with the last `overlap` tokens of the one before. The last row may be short.
//   lengths 3 4, context_length 4  ->  (0: 0..3, 1: 0..1) (1: 1..4)
[[nodiscard]] RowPieces concat(Lengths lengths, std::int64_t context_length, std::int64_t overlap,
                               LastRow tail);

// Rows row_begin .. row_end of that stream; `lengths` are some of its documents, and their tokens
// start at `stream_begin`. Throws BadArgument if one of the rows needs other documents; `dropped`
// is 0.
[[nodiscard]] RowPieces concat_rows(Lengths lengths, std::int64_t stream_begin,
                                    std::int64_t row_begin, std::int64_t row_end,
                                    std::int64_t context_length, std::int64_t overlap);

// Best-fit decreasing: pieces from long to short (ties: document, then place in it), each into the
// fullest row that still takes it (ties: the row that was filled last), else into a new one.
// Documents longer than a row are cut into full pieces and a rest, or as `longer` demands. Rows are
// in the order of the first document in them, pieces of a row in the order of documents. O(n log
// C).
[[nodiscard]] RowPieces best_fit(Lengths lengths, std::int64_t context_length,
                                 LongDocuments longer);

// Each row is filled with the longest document that fits, of all that are left; when none fits, the
// shortest one that is left is cropped to fill the row exactly and the rest of it dropped (ties:
// the first document). So every piece begins a document, and only the last row filled can be short.
// Rows are in the order of their first pieces' documents, pieces of a row in the order of filling.
[[nodiscard]] RowPieces best_fit_crop(Lengths lengths, std::int64_t context_length, LastRow tail);

// One document per row, the longer ones by `longer`.
[[nodiscard]] RowPieces one_per_row(Lengths lengths, std::int64_t context_length,
                                    LongDocuments longer);

// One document per row, whatever its length; also those without tokens.
[[nodiscard]] RowPieces documents_as_rows(Lengths lengths);

// The arrays of RowPieces.
struct PieceView {
    std::span<const std::int64_t> documents;
    Lengths begins;
    Lengths lengths;
    std::span<const std::int64_t> row_pieces;
};

// Documents on a device: where their first token is, and how many they have. If `framed`, BOS and
// EOS are there too; if not, they are added.
struct PieceSources {
    std::span<const std::uint64_t> addresses;
    Lengths text_lengths;
    std::span<const bool> framed;
};

struct PieceLooks {
    std::int64_t width = 1;   // tokens of a row
    std::int64_t before = 0;  // tokens in front of each document
    bool continue_positions = false;
};

constexpr std::size_t kPieceColumns = 7;
constexpr std::size_t kAddressColumn = 4;
// Writes kPieceColumns numbers for each piece: what a device needs to fill rows.
void piece_table(const PieceView& pieces, const PieceSources& sources, const PieceLooks& looks,
                 std::uint64_t* out);

// Ids of 2 or 4 bytes, as they lie in memory: nothing here looks into them.
struct Ids {
    const std::uint8_t* data = nullptr;
    std::int64_t count = 0;
};

// Writes prefix + document + suffix for each document, back to back. `offsets` has one number more
// than there are documents; `out` has room for all of it, `out_lengths` for one number per
// document.
void frame(Ids ids, std::span<const std::int64_t> offsets, Ids prefix, Ids suffix,
           std::size_t id_bytes, std::uint8_t* out, std::int64_t* out_lengths);

// The ids that frame() writes; throws BadArgument if the offsets do not lie in the ids.
[[nodiscard]] std::int64_t framed_count(Ids ids, std::span<const std::int64_t> offsets, Ids prefix,
                                        Ids suffix);

// DocumentPiece i is the ids begin[i] .. begin[i] + length[i] of sources[source[i]].
struct SourcePlaces {
    std::span<const std::int32_t> source;
    std::span<const std::int64_t> begin;
    std::span<const std::int64_t> length;
};

// Copies the pieces to `out`, back to back, and returns how many ids that were. Throws BadArgument
// before the first is written if a piece lies outside of its source or they exceed `out_count`.
std::int64_t gather(std::span<const Ids> sources, const SourcePlaces& places, std::size_t id_bytes,
                    std::uint8_t* out, std::int64_t out_count);

// Pieces of files: piece i is the ids begin[i] .. begin[i] + length[i] of files[source[i]], a
// descriptor, and goes to `out` from id at[i] on. Pieces that follow each other in both are read at
// once. Throws BadArgument before anything is read if a piece has no file or no room.
struct FilePieces {
    std::span<const int> files;
    SourcePlaces places;
    std::span<const std::int64_t> at;
};
// The file that could not be read to the end of a piece, and the error of the system; -1 and 0 if
// there is none.
struct FileFault {
    std::int64_t source = -1;
    int error = 0;
};
[[nodiscard]] FileFault read_pieces(const FilePieces& pieces, std::size_t id_bytes,
                                    std::uint8_t* out, std::int64_t out_count);

// The checksum of bytes that come in pieces: XXH3 of 128 bits. Up to kShort bytes have another
// algorithm, which is not here: they are held, and the caller has to do it.
class Checksum {
public:
    static constexpr std::size_t kBlock = 1024;
    static constexpr std::size_t kShort = 240;

    Checksum() noexcept;
    void update(Bytes data) noexcept;
    [[nodiscard]] std::uint64_t size_bytes() const noexcept { return size_; }
    // All bytes, if they are few.
    [[nodiscard]] Bytes short_bytes() const noexcept { return {held_ + 64, waiting_}; }
    // The high and the low half, of more than kShort bytes.
    [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> digest() const noexcept;

private:
    std::uint64_t lanes_[8];
    std::uint64_t size_ = 0;
    std::size_t waiting_ = 0;
    std::uint8_t held_[64 + kBlock] = {};  // the 64 bytes before those that wait, and those
};

// Copies pieces of files to the end of another one, back to back, and adds them to its checksum:
// in steps that stay in the cache. The fault names the file that could not be read; if `out` could
// not be written, that is files.size().
[[nodiscard]] FileFault copy_pieces(std::span<const int> files, const SourcePlaces& places,
                                    std::size_t id_bytes, int out, Checksum& checksum);

// Appends bytes to a file and adds them to its checksum, in steps that stay in the cache. Returns 0
// or the error of the system.
[[nodiscard]] int append_bytes(Bytes data, int out, Checksum& checksum);

// Writes rows of `lengths[i]` ids that lie back to back as rows of `length` ids, filled up with the
// `id_bytes` bytes of `pad`. Throws BadArgument if a row is longer or the ids are not theirs.
void fill_rows(Ids ids, Lengths lengths, std::int64_t length, const std::uint8_t* pad,
               std::size_t id_bytes, std::uint8_t* out);

}  // namespace tokenmill::pack
