// arrow: string arrays of the Arrow C data interface -> texts.
#include "arrow.h"

#include <cstring>
#include <string>

#include "bind.h"

namespace tokenmill::bind {

namespace {

using pipeline::Text;

// A null is not an empty text: the caller has to decide what it means.
void refuse_nulls(const ArrowArray& array, std::size_t first) {
    const auto* valid = static_cast<const std::uint8_t*>(array.buffers[0]);
    if (array.null_count == 0 || valid == nullptr) {
        return;
    }
    for (std::int64_t i = array.offset; i < array.offset + array.length; ++i) {
        if ((valid[i / 8] >> (i % 8) & 1) == 0) {
            const std::size_t document = first + static_cast<std::size_t>(i - array.offset);
            throw Error(ErrorCode::NotText, "expected text, got null", Error::kNowhere, document);
        }
    }
}

// Strings back to back, with offsets of 32 or 64 bits.
template <typename Offset>
void append_offsets(const ArrowArray& array, std::vector<Text>& out) {
    const auto* offsets = static_cast<const Offset*>(array.buffers[1]);
    const auto* bytes = static_cast<const std::uint8_t*>(array.buffers[2]);
    for (std::int64_t i = array.offset; i < array.offset + array.length; ++i) {
        const auto size = static_cast<std::size_t>(offsets[i + 1] - offsets[i]);
        out.push_back({bytes + offsets[i], size, Text::Encoding::Utf8});
    }
}

// Sixteen bytes for each string:
//
//   size | up to 12 bytes of text
//   size | first 4 bytes | buffer number | offset       if it is longer
void append_views(const ArrowArray& array, std::vector<Text>& out) {
    const auto* views = static_cast<const std::uint8_t*>(array.buffers[1]);
    for (std::int64_t i = array.offset; i < array.offset + array.length; ++i) {
        const std::uint8_t* view = views + 16 * i;
        std::int32_t fields[4];
        std::memcpy(fields, view, 16);
        const auto size = static_cast<std::size_t>(fields[0]);
        const std::uint8_t* data = view + 4;
        if (size > 12) {
            data = static_cast<const std::uint8_t*>(array.buffers[2 + fields[2]]) + fields[3];
        }
        out.push_back({data, size, Text::Encoding::Utf8});
    }
}

}  // namespace

void append_arrow(const ArrowSchema& schema, const ArrowArray& array, std::vector<Text>& out) {
    const std::string format = schema.format;
    const bool is_plain = schema.dictionary == nullptr;
    const bool is_views = format == "vu" || format == "vz";
    if (!is_plain ||
        (format != "u" && format != "U" && format != "z" && format != "Z" && !is_views)) {
        throw Error(ErrorCode::NotText, "expected an Arrow array of strings, got format \"" +
                                            format + "\"" + (is_plain ? "" : " with a dictionary"));
    }
    if (array.length == 0) {
        return;
    }
    refuse_nulls(array, out.size());
    out.reserve(out.size() + static_cast<std::size_t>(array.length));
    if (is_views) {
        append_views(array, out);
    } else if (format == "U" || format == "Z") {
        append_offsets<std::int64_t>(array, out);
    } else {
        append_offsets<std::int32_t>(array, out);
    }
}

}  // namespace tokenmill::bind
