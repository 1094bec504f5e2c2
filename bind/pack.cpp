// pack: lengths of documents -> rows, ids -> rows of ids.
#include "pack/pack.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <utility>

#include "arrays.h"

namespace tokenmill::bind {

namespace {

constexpr std::size_t kReleaseGil = std::size_t{1} << 16;  // bytes

template <typename T>
using Array = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Int64Array = Array<const std::int64_t>;

template <typename T>
std::span<const T> view_of(const Array<const T>& array) {
    return {array.data(), array.shape(0)};
}

// Ids of any width as bytes: core/pack moves them without looking.
template <typename Array>
pack::Ids ids_of(const Array& array) {
    return {reinterpret_cast<const std::uint8_t*>(array.data()),
            static_cast<std::int64_t>(array.shape(0))};
}

// (documents, begins, lengths, row_pieces, dropped, repeated)
template <typename Pack>
nb::tuple pieces_by(Pack pack) {
    pack::RowPieces pieces = [&] {
        const nb::gil_scoped_release release;
        return pack();
    }();
    return nb::make_tuple(array_of(std::move(pieces.documents)), array_of(std::move(pieces.begins)),
                          array_of(std::move(pieces.lengths)),
                          array_of(std::move(pieces.row_pieces)), pieces.dropped, pieces.repeated);
}

// The size of the result is known first, so that it is written where it stays.
template <typename Id>
nb::tuple frame(const Array<const Id>& ids, const Int64Array& offsets,
                const std::vector<Id>& prefix, const std::vector<Id>& suffix) {
    const pack::Ids before{reinterpret_cast<const std::uint8_t*>(prefix.data()),
                           static_cast<std::int64_t>(prefix.size())};
    const pack::Ids after{reinterpret_cast<const std::uint8_t*>(suffix.data()),
                          static_cast<std::int64_t>(suffix.size())};
    const std::int64_t count = pack::framed_count(ids_of(ids), view_of(offsets), before, after);
    void* lengths = nullptr;
    nb::object lengths_array = empty_array(Number::I64, offsets.shape(0) - 1, lengths);
    PageBuffer memory;
    {
        const nb::gil_scoped_release release;
        memory = take_spare(static_cast<std::size_t>(count) * sizeof(Id), Spares::Framed);
        pack::frame(ids_of(ids), view_of(offsets), before, after, sizeof(Id), memory.data(),
                    static_cast<std::int64_t*>(lengths));
    }
    nb::object framed = array_of(std::move(memory), static_cast<std::size_t>(count), 8 * sizeof(Id),
                                 Spares::Framed);
    return nb::make_tuple(std::move(framed), std::move(lengths_array));
}

// The file that could not be read, or -1, and the error of the system.
template <typename Id>
nb::tuple read_pieces(const std::vector<int>& files, const Array<const std::int32_t>& source,
                      const Int64Array& begin, const Int64Array& length, const Int64Array& at,
                      const Array<Id>& out) {
    const pack::FilePieces pieces{
        files, {view_of(source), view_of(begin), view_of(length)}, view_of(at)};
    pack::FileFault fault;
    {
        const nb::gil_scoped_release release;
        fault = pack::read_pieces(pieces, sizeof(Id), reinterpret_cast<std::uint8_t*>(out.data()),
                                  static_cast<std::int64_t>(out.shape(0)));
    }
    return nb::make_tuple(fault.source, fault.error);
}

// The file that could not be read, or that to write, or -1; and the error of the system.
nb::tuple copy_pieces(const std::vector<int>& files, const Array<const std::int32_t>& source,
                      const Int64Array& begin, const Int64Array& length, std::size_t id_bytes,
                      int out, pack::Checksum& checksum) {
    const pack::SourcePlaces places{view_of(source), view_of(begin), view_of(length)};
    pack::FileFault fault;
    {
        const nb::gil_scoped_release release;
        fault = pack::copy_pieces(files, places, id_bytes, out, checksum);
    }
    return nb::make_tuple(fault.source, fault.error);
}

// 0, or the error of the system.
int append_bytes(nb::handle data, int out, pack::Checksum& checksum) {
    const HeldBuffer held(data);
    const nb::gil_scoped_release release;
    return pack::append_bytes(held.bytes(), out, checksum);
}

// The numbers of all pieces, a column after the other.
nb::object piece_table(const Int64Array& documents, const Int64Array& begins,
                       const Int64Array& lengths, const Int64Array& row_pieces,
                       const nb::tuple& sources, std::int64_t width, std::int64_t before,
                       bool continue_positions) {
    const auto addresses = nb::cast<Array<const std::uint64_t>>(sources[0]);
    const auto text_lengths = nb::cast<Int64Array>(sources[1]);
    const auto framed = nb::cast<Array<const bool>>(sources[2]);
    std::vector<std::uint64_t> table(pack::kPieceColumns * lengths.shape(0));
    {
        const nb::gil_scoped_release release;
        pack::piece_table(
            {view_of(documents), view_of(begins), view_of(lengths), view_of(row_pieces)},
            {view_of(addresses), view_of(text_lengths), view_of(framed)},
            {width, before, continue_positions}, table.data());
    }
    return array_owning(std::move(table));
}

void register_checksum(nb::module_& m) {
    using pack::Checksum;
    nb::class_<Checksum>(m, "Checksum", "XXH3 of 128 bits, of more bytes than SHORT.")
        .def(nb::init<>())
        .def(
            "update",
            [](Checksum& self, nb::handle buffer) {
                const HeldBuffer held(buffer);
                if (held.bytes().size() < kReleaseGil) {
                    self.update(held.bytes());
                    return;
                }
                const nb::gil_scoped_release release;
                self.update(held.bytes());
            },
            nb::arg("buffer"))
        .def(
            "short_bytes",
            [](const Checksum& self) -> std::optional<nb::bytes> {
                if (self.size_bytes() > Checksum::kShort) {
                    return std::nullopt;
                }
                return bytes_of(self.short_bytes());
            },
            "All bytes, if they are too few for `digest`; else None.")
        .def("digest", [](const Checksum& self) {
            if (self.size_bytes() <= Checksum::kShort) {
                throw nb::value_error("expected more bytes");
            }
            const auto [high, low] = self.digest();
            return nb::make_tuple(high, low);
        });
    m.def(
        "piece_table", &piece_table, nb::arg("documents"), nb::arg("begins"), nb::arg("lengths"),
        nb::arg("row_pieces"), nb::arg("sources"), nb::arg("width"), nb::arg("before"),
        nb::arg("continue_positions"),
        "Return what a device needs to fill rows, seven columns; `sources` are addresses, lengths "
        "and whether BOS and EOS are there, of each document.");
    m.def("copy_pieces", &copy_pieces, nb::arg("files"), nb::arg("source"), nb::arg("begin"),
          nb::arg("length"), nb::arg("id_bytes"), nb::arg("out"), nb::arg("checksum"),
          "Append pieces of files (descriptors) to another one; return the number of the file that "
          "could not be read, the number of files if that one could not be written, or -1; and the "
          "error of the system, 0 if the file ended.");
    m.def("append_bytes", &append_bytes, nb::arg("data"), nb::arg("out"), nb::arg("checksum"),
          "Append a buffer to a file (its descriptor) and to its checksum; return the error of the "
          "system, or 0.");
}

template <typename Id>
nb::object fill_rows(const Array<const Id>& ids, const Int64Array& lengths, std::int64_t length,
                     Id pad, Number number) {
    void* filled = nullptr;
    const std::size_t count = lengths.shape(0) * static_cast<std::size_t>(length);
    nb::object array = empty_array(number, count, filled);
    const nb::gil_scoped_release release;
    pack::fill_rows(ids_of(ids), view_of(lengths), length,
                    reinterpret_cast<const std::uint8_t*>(&pad), sizeof(Id),
                    static_cast<std::uint8_t*>(filled));
    return array;
}

// The arrays are held by the caller's list while the GIL is released.
template <typename Id>
std::int64_t gather(const std::vector<Array<const Id>>& sources,
                    const Array<const std::int32_t>& source, const Int64Array& begin,
                    const Int64Array& length, const Array<Id>& out) {
    std::vector<pack::Ids> ids;
    ids.reserve(sources.size());
    for (const auto& array : sources) {
        ids.push_back(ids_of(array));
    }
    const pack::SourcePlaces places{view_of(source), view_of(begin), view_of(length)};
    const nb::gil_scoped_release release;
    return pack::gather(ids, places, sizeof(Id), reinterpret_cast<std::uint8_t*>(out.data()),
                        static_cast<std::int64_t>(out.shape(0)));
}

void register_rows(nb::module_& m) {
    m.def(
        "pack_concat",
        [](const Int64Array& lengths, std::int64_t context_length, std::int64_t overlap,
           bool drop_tail) {
            const auto tail = drop_tail ? pack::LastRow::Drop : pack::LastRow::Keep;
            return pieces_by(
                [&] { return pack::concat(view_of(lengths), context_length, overlap, tail); });
        },
        nb::arg("lengths"), nb::arg("context_length"), nb::arg("overlap"), nb::arg("drop_tail"),
        "Cut the stream of all documents into rows.");
    m.def(
        "pack_concat_rows",
        [](const Int64Array& lengths, std::int64_t stream_begin, std::int64_t row_begin,
           std::int64_t row_end, std::int64_t context_length, std::int64_t overlap) {
            return pieces_by([&] {
                return pack::concat_rows(view_of(lengths), stream_begin, row_begin, row_end,
                                         context_length, overlap);
            });
        },
        nb::arg("lengths"), nb::arg("stream_begin"), nb::arg("row_begin"), nb::arg("row_end"),
        nb::arg("context_length"), nb::arg("overlap"), "Cut some rows out of a longer stream.");
}

pack::LongDocuments long_documents_of(int number) {
    if (number < 0 || number > static_cast<int>(pack::LongDocuments::Drop)) {
        throw Error(
            ErrorCode::BadArgument,
            "longer: expected 0 (split), 1 (truncate) or 2 (drop), got " + std::to_string(number));
    }
    return static_cast<pack::LongDocuments>(number);
}

void register_fits(nb::module_& m) {
    m.def(
        "pack_best_fit",
        [](const Int64Array& lengths, std::int64_t context_length, int longer) {
            return pieces_by([&] {
                return pack::best_fit(view_of(lengths), context_length, long_documents_of(longer));
            });
        },
        nb::arg("lengths"), nb::arg("context_length"), nb::arg("longer"),
        "Best-fit decreasing; longer: 0 splits, 1 truncates, 2 drops.");
    m.def(
        "pack_best_fit_crop",
        [](const Int64Array& lengths, std::int64_t context_length, bool drop_tail) {
            const auto tail = drop_tail ? pack::LastRow::Drop : pack::LastRow::Keep;
            return pieces_by(
                [&] { return pack::best_fit_crop(view_of(lengths), context_length, tail); });
        },
        nb::arg("lengths"), nb::arg("context_length"), nb::arg("drop_tail"),
        "Fill each row with the longest documents that fit and crop one where none does.");
    m.def(
        "pack_one_per_row",
        [](const Int64Array& lengths, std::int64_t context_length, int longer) {
            return pieces_by([&] {
                return pack::one_per_row(view_of(lengths), context_length,
                                         long_documents_of(longer));
            });
        },
        nb::arg("lengths"), nb::arg("context_length"), nb::arg("longer"), "One document per row.");
    m.def(
        "pack_documents",
        [](const Int64Array& lengths) {
            return pieces_by([&] { return pack::documents_as_rows(view_of(lengths)); });
        },
        nb::arg("lengths"), "One document per row, whatever its length.");
}

template <typename Id>
void register_copies(nb::module_& m, Number number) {
    m.def("frame", &frame<Id>, nb::arg("ids").noconvert(), nb::arg("offsets"), nb::arg("prefix"),
          nb::arg("suffix"), "Put ids around each document: (ids, lengths).");
    m.def("gather", &gather<Id>, nb::arg("sources").noconvert(), nb::arg("source"),
          nb::arg("begin"), nb::arg("length"), nb::arg("out").noconvert(),
          "Copy pieces of the sources to out, back to back; return how many ids that were.");
    m.def("read_pieces", &read_pieces<Id>, nb::arg("files"), nb::arg("source"), nb::arg("begin"),
          nb::arg("length"), nb::arg("at"), nb::arg("out").noconvert(),
          "Read pieces of files (descriptors) to places of out; return the number of the file that "
          "could not be read, or -1, and the error of the system, 0 if the file ended.");
    m.def(
        "fill_rows",
        [number](const Array<const Id>& ids, const Int64Array& lengths, std::int64_t length,
                 Id pad) { return fill_rows<Id>(ids, lengths, length, pad, number); },
        nb::arg("ids").noconvert(), nb::arg("lengths"), nb::arg("length"), nb::arg("pad"),
        "Rows back to back -> rows of one length, filled up with the id pad.");
}

}  // namespace

void register_pack(nb::module_& m) {
    register_rows(m);
    register_fits(m);
    register_checksum(m);
    register_copies<std::uint16_t>(m, Number::U16);
    register_copies<std::uint32_t>(m, Number::U32);
}

}  // namespace tokenmill::bind
