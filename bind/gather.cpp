// gather: lists of texts -> their UTF-8 back to back in arrays of the caller.
#include "pipeline/gather.h"

#include <memory>
#include <optional>
#include <span>

#include "arrays.h"

namespace tokenmill::bind {

namespace {

using pipeline::Text;

using Numbers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using InBytes = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using OutBytes = nb::ndarray<nb::c_contig, nb::device::cpu>;
using FlatBytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Texts of a caller, held, and their places as UTF-8 back to back.
class TextList {
public:
    TextList(nb::handle texts, unsigned threads) {
        held_.add_all(texts);
        const nb::gil_scoped_release unlocked;
        placed_ = std::make_unique<pipeline::PlacedTexts>(held_.view(), threads);
    }

    [[nodiscard]] std::size_t size() const noexcept { return held_.view().size(); }
    [[nodiscard]] const pipeline::PlacedTexts& placed() const noexcept { return *placed_; }

private:
    BorrowedTexts held_;
    std::unique_ptr<const pipeline::PlacedTexts> placed_;
};

// A view: it keeps the list alive.
nb::object offsets_of(nb::handle self) {
    const std::span<const std::int64_t> places = nb::inst_ptr<TextList>(self)->placed().places();
    return nb::cast(nb::ndarray<nb::numpy, const std::int64_t, nb::ndim<1>>(places.data(),
                                                                            {places.size()}, self));
}

PickedTexts pick(nb::handle self, const Numbers& numbers) {
    const std::span<const Text> texts = nb::inst_ptr<TextList>(self)->placed().texts();
    std::vector<Text> picked;
    picked.reserve(numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto number = static_cast<std::size_t>(numbers.data()[i]);
        if (number >= texts.size()) {  // a negative one, too
            throw nb::index_error("no such text");
        }
        picked.push_back(texts[number]);
    }
    return {std::move(picked), nb::borrow(self)};
}

PickedTexts pick_ranges(const FlatBytes& data, const Numbers& begins, const Numbers& ends) {
    if (begins.size() != ends.size()) {
        throw nb::value_error("expected as many ends as begins");
    }
    std::vector<Text> picked;
    picked.reserve(begins.size());
    for (std::size_t i = 0; i < begins.size(); ++i) {
        const std::int64_t begin = begins.data()[i];
        const std::int64_t end = ends.data()[i];
        if (begin < 0 || begin > end || static_cast<std::size_t>(end) > data.size()) {
            throw nb::index_error("no such range");
        }
        picked.push_back(
            {data.data() + begin, static_cast<std::size_t>(end - begin), Text::Encoding::Utf8});
    }
    return {std::move(picked), nb::cast(data)};
}

// Threads that copy, and what they copy at this moment: the objects whose memory they use stay
// until it is done.
class CopyCrew {
public:
    explicit CopyCrew(std::size_t threads) : crew_(threads) {}

    void start_gather(const nb::object& texts, std::size_t begin, std::size_t end,
                      const OutBytes& out) {
        end_work();
        const auto& list = nb::cast<const TextList&>(texts);
        const pipeline::PlacedTexts& placed = list.placed();
        if (begin > end || end > list.size()) {
            throw nb::index_error("no such texts");
        }
        const auto size = static_cast<std::size_t>(placed.places()[end] - placed.places()[begin]);
        if (size > out.nbytes()) {
            throw nb::value_error("out: expected room for all texts");
        }
        held_ = nb::make_tuple(texts, out);
        gathering_.emplace(placed, begin, end, static_cast<std::uint8_t*>(out.data()));
        gathering_->start(crew_);
    }

    void start_copy(const OutBytes& target, const InBytes& source) {
        end_work();
        if (target.nbytes() < source.nbytes()) {
            throw nb::value_error("target: expected room for all of the source");
        }
        held_ = nb::make_tuple(target, source);
        pipeline::start_copy(target.data(), source.data(), source.nbytes(), crew_);
    }

    nb::object finish() { return array_of(end_work()); }

private:
    std::vector<std::int64_t> end_work() {
        std::vector<std::int64_t> broken;
        {
            const nb::gil_scoped_release unlocked;
            if (gathering_) {
                broken = gathering_->finish(crew_);
            } else {
                crew_.finish();
            }
        }
        gathering_.reset();
        held_ = nb::none();
        return broken;
    }

    nb::object held_ = nb::none();
    std::optional<pipeline::Gathering> gathering_;
    pipeline::Crew crew_;  // last: it ends its work before the rest goes
};

}  // namespace

void register_gather(nb::module_& m) {
    nb::class_<PickedTexts>(m, "PickedTexts", "Some texts of a list, for Model.encode_batch.")
        .def("__len__", [](const PickedTexts& self) { return self.view().size(); });
    nb::class_<TextList>(m, "TextList", "Texts, held where they are, and their sizes as UTF-8.")
        .def(nb::init<nb::handle, unsigned>(), nb::arg("texts"), nb::arg("threads") = 1)
        .def("__len__", &TextList::size)
        .def_prop_ro(
            "offsets", [](nb::handle self) { return offsets_of(self); },
            "Where each text begins if all are UTF-8, back to back; int64.")
        .def(
            "pick", [](nb::handle self, const Numbers& numbers) { return pick(self, numbers); },
            nb::arg("numbers"), "Return texts by their numbers.");
    m.def("pick_ranges", &pick_ranges, nb::arg("data"), nb::arg("begins"), nb::arg("ends"),
          "Return texts that are ranges of one buffer.");
    nb::class_<CopyCrew>(m, "CopyCrew",
                         "Threads that copy without the GIL, one thing at a time, for one caller. "
                         "They work until finish(), which helps them and waits.")
        .def(nb::init<std::size_t>(), nb::arg("threads"))
        .def("start_gather", &CopyCrew::start_gather, nb::arg("texts"), nb::arg("begin"),
             nb::arg("end"), nb::arg("out"),
             "Write texts as UTF-8, back to back; lone surrogates become U+FFFD.")
        .def("start_copy", &CopyCrew::start_copy, nb::arg("target"), nb::arg("source"),
             "Copy the bytes of an array.")
        .def("finish_copies", &CopyCrew::finish,
             "Wait, and return the numbers of the gathered texts with a lone surrogate.");
}

}  // namespace tokenmill::bind
