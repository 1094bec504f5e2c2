// gather: texts anywhere in memory -> UTF-8 back to back in memory of the caller, on all threads.
#include "pipeline/gather.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "base/threads.h"
#include "base/utf8.h"
#include "pipeline/threads.h"
#include "pipeline/transcode.h"

namespace tokenmill::pipeline {

namespace {

constexpr std::size_t kPiece = std::size_t{1} << 18;        // bytes that a thread takes at a time
constexpr std::size_t kBlockUnits = 4096;                   // transcoded at a time, in the cache
constexpr std::size_t kUnitsAtOnce = std::size_t{1} << 17;  // measured by a thread at a time
constexpr std::size_t kWorthThread = std::size_t{1} << 19;  // units that are worth a thread
constexpr std::size_t kLongUnits = std::size_t{1} << 16;    // of a piece of a long text

bool is_wide(const Text& text) noexcept {
    return text.encoding != Text::Encoding::Utf8 && text.encoding != Text::Encoding::Trusted;
}

// Writes a text of a fixed width block by block, because a kernel may write past the end of what it
// makes, and the next text is there. False if it holds a lone surrogate.
bool write_wide(const Text& text, const EncodeKernel& kernel, std::uint8_t* out) noexcept {
    constexpr std::uint32_t kReplacement = 0xFFFD;
    std::uint8_t block[kBlockUnits * 4 + kTranscodeSlack];
    const CodeUnits all = units_of(text);
    const auto* units = static_cast<const std::uint8_t*>(all.data);
    bool is_well_formed = true;
    std::size_t at = 0;
    while (at < all.size) {
        const std::size_t wanted = std::min(kBlockUnits, all.size - at);
        Transcoded done = kernel.transcode({units + at * all.width, wanted, all.width}, block);
        if (done.units < wanted) {
            is_well_formed = false;
            done.bytes += encode_char(kReplacement, block + done.bytes);
            ++done.units;
        }
        std::memcpy(out, block, done.bytes);
        out += done.bytes;
        at += done.units;
    }
    return is_well_formed;
}

// Texts for several threads, in stretches of about the same size.
class Stretches {
public:
    explicit Stretches(std::span<const Text> texts) : texts_(texts) {}

    // The next ones; none at the end.
    std::pair<std::size_t, std::size_t> take() {
        const Guard lock(mutex_);
        const std::size_t begin = next_;
        for (std::size_t units = 0; next_ < texts_.size() && units < kUnitsAtOnce; ++next_) {
            units += texts_[next_].size;
        }
        return {begin, next_};
    }

private:
    std::span<const Text> texts_;
    Mutex mutex_;  // guards next_
    std::size_t next_ = 0;
};

// Writes the size of every wide text after its place.
void measure_wide(std::span<const Text> texts, std::vector<std::int64_t>& places,
                  unsigned threads) {
    const EncodeKernel& kernel = kernel_of(simd::chosen_target());
    Stretches stretches(texts);
    const auto measure = [&](std::size_t i) {
        if (is_wide(texts[i])) {
            places[i + 1] = static_cast<std::int64_t>(kernel.utf8_size(units_of(texts[i])));
        }
    };
    run_on_threads(threads, [&] {
        for (auto [i, end] = stretches.take(); i < end; std::tie(i, end) = stretches.take()) {
            while (i < end) {
                measure(i++);
            }
        }
    });
}

// Places of texts back to back; `units` are those of all wide ones.
std::vector<std::int64_t> measured(std::span<const Text> texts, std::size_t units,
                                   unsigned threads) {
    std::vector<std::int64_t> places(texts.size() + 1);
    for (std::size_t i = 0; i < texts.size(); ++i) {
        places[i + 1] = static_cast<std::int64_t>(texts[i].size);
    }
    if (units != 0) {
        measure_wide(texts, places,
                     std::min(threads, 1 + static_cast<unsigned>(units / kWorthThread)));
    }
    for (std::size_t i = 1; i < places.size(); ++i) {
        places[i] += places[i - 1];
    }
    return places;
}

// How many pieces a text is cut into.
std::size_t pieces_of(const Text& text) noexcept {
    return is_wide(text) && text.size > kLongUnits ? (text.size + kLongUnits - 1) / kLongUnits : 1;
}

}  // namespace

PlacedTexts::PlacedTexts(std::span<const Text> texts, unsigned threads) : texts_(texts) {
    std::size_t units = 0;
    std::size_t longest = 0;
    for (const Text& text : texts) {
        const std::size_t wide = is_wide(text) ? text.size : 0;
        units += wide;
        longest = std::max(longest, wide);
    }
    const bool is_cut = longest > kLongUnits;
    if (is_cut) {
        cut();
    }
    std::vector<std::int64_t>& places = is_cut ? piece_places_ : places_;
    places = measured(pieces(), units, threads);
    if (is_cut) {  // a text begins where its first piece does
        places_.reserve(texts.size() + 1);
        std::size_t piece = 0;
        for (const Text& text : texts) {
            places_.push_back(places[piece]);
            piece += pieces_of(text);
        }
        places_.push_back(places.back());
    }
}

void PlacedTexts::cut() {
    for (const Text& text : texts_) {
        const std::size_t count = pieces_of(text);
        const CodeUnits units = units_of(text);
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t begin = i * kLongUnits;
            const std::size_t size =
                count == 1 ? text.size : std::min(kLongUnits, text.size - begin);
            pieces_.push_back({static_cast<const std::uint8_t*>(text.data) + begin * units.width,
                               size, text.encoding});
        }
    }
}

std::int64_t PlacedTexts::text_at(std::int64_t place) const noexcept {
    return std::upper_bound(places_.begin(), places_.end(), place) - places_.begin() - 1;
}

Gathering::Gathering(const PlacedTexts& from, std::size_t begin, std::size_t end, std::uint8_t* out)
    : from_(from),
      base_(from.places()[begin]),
      size_(static_cast<std::size_t>(from.places()[end] - base_)),
      out_(out),
      kernel_(kernel_of(simd::chosen_target())) {}

void Gathering::start(Crew& crew) {
    crew.start((size_ + kPiece - 1) / kPiece, [this](std::size_t piece) {
        write(piece * kPiece, std::min(size_, (piece + 1) * kPiece));
    });
}

std::vector<std::int64_t> Gathering::finish(Crew& crew) {
    crew.finish();
    std::sort(broken_.begin(), broken_.end());
    broken_.erase(std::unique(broken_.begin(), broken_.end()), broken_.end());
    return std::move(broken_);
}

// Writes bytes `first` to `last` of the output: of plain texts just these, and every wide piece
// that begins there as a whole.
void Gathering::write(std::size_t first, std::size_t last) {
    const auto low = base_ + static_cast<std::int64_t>(first);
    const auto high = base_ + static_cast<std::int64_t>(last);
    const std::span<const std::int64_t> places = from_.piece_places();
    // The first piece that ends after `low`: empty ones before it have nothing to write.
    const auto found = std::upper_bound(places.begin() + 1, places.end(), low);
    for (auto i = static_cast<std::size_t>(found - places.begin()) - 1;
         i + 1 < places.size() && places[i] < high; ++i) {
        write_piece(i, low, high);
    }
}

void Gathering::write_piece(std::size_t i, std::int64_t low, std::int64_t high) {
    const Text& text = from_.pieces()[i];
    const std::int64_t place = from_.piece_places()[i];
    if (is_wide(text)) {
        if (place >= low && text.size != 0 && !write_wide(text, kernel_, out_ + (place - base_))) {
            const Guard lock(mutex_);
            broken_.push_back(from_.text_at(place));
        }
        return;
    }
    const std::int64_t from = std::max(place, low);
    const std::int64_t to = std::min(from_.piece_places()[i + 1], high);
    if (from < to) {
        std::memcpy(out_ + (from - base_),
                    static_cast<const std::uint8_t*>(text.data) + (from - place),
                    static_cast<std::size_t>(to - from));
    }
}

void start_copy(void* target, const void* source, std::size_t size, Crew& crew) {
    crew.start((size + kPiece - 1) / kPiece, [=](std::size_t piece) {
        const std::size_t at = piece * kPiece;
        std::memcpy(static_cast<std::uint8_t*>(target) + at,
                    static_cast<const std::uint8_t*>(source) + at, std::min(kPiece, size - at));
    });
}

}  // namespace tokenmill::pipeline
