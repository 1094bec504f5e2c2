// pack: ids of documents -> ids of rows.
#include <cstring>
#include <string>

#include "base/error.h"
#include "pack/pack.h"

namespace tokenmill::pack {

namespace {

// memcpy may not be given a null pointer, even for nothing.
std::uint8_t* copy(std::uint8_t* out, const std::uint8_t* from, std::size_t size_bytes) {
    if (size_bytes > 0) {
        std::memcpy(out, from, size_bytes);
    }
    return out + size_bytes;
}

void check_piece(std::span<const Ids> sources, const SourcePlaces& places, std::size_t piece) {
    const std::int32_t source = places.source[piece];
    const std::int64_t begin = places.begin[piece];
    const std::int64_t length = places.length[piece];
    const bool has_source = source >= 0 && static_cast<std::size_t>(source) < sources.size();
    if (!has_source || begin < 0 || length < 0 ||
        length > sources[static_cast<std::size_t>(source)].count - begin) {
        throw Error(ErrorCode::BadArgument,
                    "piece " + std::to_string(piece) + ": expected ids of a source, got " +
                        std::to_string(length) + " from " + std::to_string(begin) + " of source " +
                        std::to_string(source));
    }
}

}  // namespace

// Checks the offsets as well, so that frame() can copy without looking.
std::int64_t framed_count(Ids ids, std::span<const std::int64_t> offsets, Ids prefix, Ids suffix) {
    if (offsets.empty() || offsets.front() < 0 || offsets.back() > ids.count) {
        throw Error(ErrorCode::BadArgument, "expected offsets within the " +
                                                std::to_string(ids.count) + " ids, got others");
    }
    for (std::size_t document = 0; document + 1 < offsets.size(); ++document) {
        if (offsets[document] > offsets[document + 1]) {
            throw Error(ErrorCode::BadArgument, "expected offsets that never fall, got " +
                                                    std::to_string(offsets[document + 1]) +
                                                    " after " + std::to_string(offsets[document]));
        }
    }
    const auto documents = static_cast<std::int64_t>(offsets.size() - 1);
    return offsets.back() - offsets.front() + documents * (prefix.count + suffix.count);
}

// Ids are bytes here: one function serves ids of 16 and of 32 bits.
void frame(Ids ids, std::span<const std::int64_t> offsets, Ids prefix, Ids suffix,
           std::size_t id_bytes, std::uint8_t* out, std::int64_t* out_lengths) {
    const auto bytes_of = [&](std::int64_t count) {
        return static_cast<std::size_t>(count) * id_bytes;
    };
    for (std::size_t document = 0; document + 1 < offsets.size(); ++document) {
        const std::int64_t length = offsets[document + 1] - offsets[document];
        out = copy(out, prefix.data, bytes_of(prefix.count));
        out = copy(out, ids.data + bytes_of(offsets[document]), bytes_of(length));
        out = copy(out, suffix.data, bytes_of(suffix.count));
        out_lengths[document] = prefix.count + length + suffix.count;
    }
}

void fill_rows(Ids ids, Lengths lengths, std::int64_t length, const std::uint8_t* pad,
               std::size_t id_bytes, std::uint8_t* out) {
    std::int64_t left = ids.count;
    for (const std::int64_t row : lengths) {
        if (row < 0 || row > length || row > left) {
            throw Error(ErrorCode::BadArgument, "expected rows of at most " +
                                                    std::to_string(length) + " of the ids, got " +
                                                    std::to_string(row));
        }
        left -= row;
    }
    const std::uint8_t* from = ids.data;
    for (const std::int64_t row : lengths) {
        const std::size_t size_bytes = static_cast<std::size_t>(row) * id_bytes;
        out = copy(out, from, size_bytes);
        from += size_bytes;
        for (std::int64_t i = row; i < length; ++i) {
            out = copy(out, pad, id_bytes);
        }
    }
}

// Two passes: everything is checked before the first byte is written.
std::int64_t gather(std::span<const Ids> sources, const SourcePlaces& places, std::size_t id_bytes,
                    std::uint8_t* out, std::int64_t out_count) {
    const std::size_t count = places.source.size();
    if (places.begin.size() != count || places.length.size() != count) {
        throw Error(ErrorCode::BadArgument, "expected one source, begin and length for each piece");
    }
    std::int64_t written = 0;
    for (std::size_t piece = 0; piece < count; ++piece) {
        check_piece(sources, places, piece);
        if (places.length[piece] > out_count - written) {
            throw Error(ErrorCode::BadArgument, "expected pieces of at most " +
                                                    std::to_string(out_count) +
                                                    " ids, the size of out, got more");
        }
        written += places.length[piece];
    }
    for (std::size_t piece = 0; piece < count; ++piece) {
        const Ids& source = sources[static_cast<std::size_t>(places.source[piece])];
        out = copy(out, source.data + static_cast<std::size_t>(places.begin[piece]) * id_bytes,
                   static_cast<std::size_t>(places.length[piece]) * id_bytes);
    }
    return written;
}

}  // namespace tokenmill::pack
