// pack: ids of documents in files -> ids of rows.
#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file_io.h"
#include "pack/pack.h"

namespace tokenmill::pack {

namespace {

constexpr std::int64_t kMostBegin = std::int64_t{1} << 60;  // its bytes have a place in a file
constexpr std::size_t kStep = std::size_t{1} << 18;

void check(const SourcePlaces& places, std::size_t files) {
    const auto& [source, begin, length] = places;
    if (begin.size() != source.size() || length.size() != source.size()) {
        throw Error(ErrorCode::BadArgument,
                    "expected one source, begin, length and place for each piece");
    }
    for (std::size_t i = 0; i < source.size(); ++i) {
        const bool has_file = source[i] >= 0 && static_cast<std::size_t>(source[i]) < files;
        if (!has_file || begin[i] < 0 || begin[i] > kMostBegin || length[i] < 0 ||
            length[i] > kMostBegin) {
            throw Error(ErrorCode::BadArgument, "piece " + std::to_string(i) +
                                                    ": expected ids of a file and room for them");
        }
    }
}

void check_room(const FilePieces& pieces, std::int64_t out_count) {
    const std::span<const std::int64_t> length = pieces.places.length;
    if (pieces.at.size() != length.size()) {
        throw Error(ErrorCode::BadArgument,
                    "expected one source, begin, length and place for each piece");
    }
    for (std::size_t i = 0; i < length.size(); ++i) {
        if (pieces.at[i] < 0 || length[i] > out_count - pieces.at[i]) {
            throw Error(ErrorCode::BadArgument, "piece " + std::to_string(i) +
                                                    ": expected ids of a file and room for them");
        }
    }
}

// Appends bytes of files to another one through a buffer that stays in the cache.
class FileCopier {
public:
    FileCopier(int out, Checksum& checksum) : out_(out), checksum_(checksum), step_(kStep) {}

    // 0, an error of the system, or kFileEnds if the file ends before the last byte.
    [[nodiscard]] int append(int file, std::int64_t place, std::size_t size) {
        while (size > 0) {
            const std::size_t some = std::min(size, kStep - filled_);
            if (const int error = read_at(file, step_.data() + filled_, some, place); error != 0) {
                return error;
            }
            filled_ += some;
            size -= some;
            place += static_cast<std::int64_t>(some);
            if (filled_ == kStep && flush() != 0) {
                return write_error_;
            }
        }
        return 0;
    }

    // 0, or the error of the system.
    [[nodiscard]] int flush() {
        checksum_.update({step_.data(), filled_});
        write_error_ = write_all(out_, {step_.data(), filled_});
        filled_ = 0;
        return write_error_;
    }

    [[nodiscard]] int write_error() const noexcept { return write_error_; }

private:
    const int out_;
    Checksum& checksum_;
    std::vector<std::uint8_t> step_;
    std::size_t filled_ = 0;
    int write_error_ = 0;
};

}  // namespace

FileFault read_pieces(const FilePieces& pieces, std::size_t id_bytes, std::uint8_t* out,
                      std::int64_t out_count) {
    check(pieces.places, pieces.files.size());
    check_room(pieces, out_count);
    const auto& [source, begin, length] = pieces.places;
    for (std::size_t i = 0; i < source.size();) {
        const std::size_t first = i;
        std::int64_t run = 0;  // ids that follow each other
        do {
            run += length[i++];
        } while (i < source.size() && source[i] == source[first] &&
                 begin[i] == begin[first] + run && pieces.at[i] == pieces.at[first] + run);
        const int error = read_at(pieces.files[static_cast<std::size_t>(source[first])],
                                  out + static_cast<std::size_t>(pieces.at[first]) * id_bytes,
                                  static_cast<std::size_t>(run) * id_bytes,
                                  begin[first] * static_cast<std::int64_t>(id_bytes));
        if (error != 0) {
            return {source[first], error < 0 ? 0 : error};
        }
    }
    return {};
}

FileFault copy_pieces(std::span<const int> files, const SourcePlaces& places, std::size_t id_bytes,
                      int out, Checksum& checksum) {
    check(places, files.size());
    const auto& [source, begin, length] = places;
    FileCopier copier(out, checksum);
    FileFault fault;
    for (std::size_t i = 0; i < source.size() && fault.source < 0;) {
        const std::size_t first = i;
        std::int64_t run = 0;  // ids that follow each other
        do {
            run += length[i++];
        } while (i < source.size() && source[i] == source[first] && begin[i] == begin[first] + run);
        const int error = copier.append(files[static_cast<std::size_t>(source[first])],
                                        begin[first] * static_cast<std::int64_t>(id_bytes),
                                        static_cast<std::size_t>(run) * id_bytes);
        if (error != 0) {
            fault = {source[first], error < 0 ? 0 : error};
        }
    }
    const int failed = fault.source < 0 ? copier.flush() : copier.write_error();
    return failed == 0 ? fault : FileFault{static_cast<std::int64_t>(files.size()), failed};
}

int append_bytes(Bytes data, int out, Checksum& checksum) {
    for (std::size_t at = 0; at < data.size(); at += kStep) {
        const Bytes some = data.subspan(at, std::min(kStep, data.size() - at));
        checksum.update(some);
        if (const int error = write_all(out, some); error != 0) {
            return error;
        }
    }
    return 0;
}

}  // namespace tokenmill::pack
