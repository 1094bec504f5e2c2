// pack: ids of documents in files -> ids of rows.
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/error.h"
#include "pack/pack.h"

namespace tokenmill::pack {

namespace {

constexpr std::int64_t kMostBegin = std::int64_t{1} << 60;  // its bytes have a place in a file

void check(const FilePieces& pieces, std::int64_t out_count) {
    const auto& [source, begin, length] = pieces.places;
    const std::size_t count = source.size();
    if (begin.size() != count || length.size() != count || pieces.at.size() != count) {
        throw Error(ErrorCode::BadArgument,
                    "expected one source, begin, length and place for each piece");
    }
    for (std::size_t i = 0; i < count; ++i) {
        const bool has_file =
            source[i] >= 0 && static_cast<std::size_t>(source[i]) < pieces.files.size();
        const bool has_room = pieces.at[i] >= 0 && length[i] >= 0 && begin[i] >= 0 &&
                              begin[i] <= kMostBegin && length[i] <= out_count - pieces.at[i];
        if (!has_file || !has_room) {
            throw Error(ErrorCode::BadArgument, "piece " + std::to_string(i) +
                                                    ": expected ids of a file and room for them");
        }
    }
}

// 0, the error of the system, or -1 if the file ends before the last byte.
int read_all(int file, std::uint8_t* out, std::size_t size, std::int64_t place) {
    while (size > 0) {
        const ssize_t got = pread(file, out, size, place);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got < 0 ? errno : -1;
        }
        out += got;
        size -= static_cast<std::size_t>(got);
        place += got;
    }
    return 0;
}

}  // namespace

FileFault read_pieces(const FilePieces& pieces, std::size_t id_bytes, std::uint8_t* out,
                      std::int64_t out_count) {
    check(pieces, out_count);
    const auto& [source, begin, length] = pieces.places;
    for (std::size_t i = 0; i < source.size();) {
        const std::size_t first = i;
        std::int64_t run = 0;  // ids that follow each other
        do {
            run += length[i++];
        } while (i < source.size() && source[i] == source[first] &&
                 begin[i] == begin[first] + run && pieces.at[i] == pieces.at[first] + run);
        const int error = read_all(pieces.files[static_cast<std::size_t>(source[first])],
                                   out + static_cast<std::size_t>(pieces.at[first]) * id_bytes,
                                   static_cast<std::size_t>(run) * id_bytes,
                                   begin[first] * static_cast<std::int64_t>(id_bytes));
        if (error != 0) {
            return {source[first], error < 0 ? 0 : error};
        }
    }
    return {};
}

}  // namespace tokenmill::pack
