// gather: texts anywhere in memory -> UTF-8 back to back in memory of the caller, on all threads.
#include "pipeline/gather.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>

#include "base/utf8.h"
#include "pipeline/threads.h"
#include "pipeline/transcode.h"

namespace tokenmill::pipeline {

namespace {

constexpr std::size_t kPiece = std::size_t{1} << 18;         // bytes that a thread takes at a time
constexpr std::size_t kBlockUnits = 4096;                    // transcoded at a time, in the cache
constexpr std::size_t kTextsAtOnce = 1024;                   // measured at a time
constexpr std::size_t kWorthThreads = std::size_t{1} << 20;  // units: fewer are measured alone

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

// What gather_texts() does, for one stretch of the output at a time.
class Gathering {
public:
    Gathering(const PlacedTexts& from, std::size_t begin, std::size_t end, std::uint8_t* out)
        : from_(from),
          begin_(begin),
          end_(end),
          base_(from.places[begin]),
          out_(out),
          kernel_(kernel_of(simd::chosen_target())) {}

    [[nodiscard]] std::size_t size_bytes() const noexcept {
        return static_cast<std::size_t>(from_.places[end_] - base_);
    }

    // Writes bytes `first` to `last` of the output: of plain texts just these, and every wide text
    // that begins there as a whole.
    void write(std::size_t first, std::size_t last) {
        const auto low = base_ + static_cast<std::int64_t>(first);
        const auto high = base_ + static_cast<std::int64_t>(last);
        const std::int64_t* const places = from_.places.data();
        const std::int64_t* const found = std::upper_bound(places + begin_, places + end_, low);
        for (auto i = static_cast<std::size_t>(found - places) - 1; i < end_ && places[i] < high;
             ++i) {
            write_text(i, low, high);
        }
    }

    [[nodiscard]] std::vector<std::int64_t> take_broken() {
        std::sort(broken_.begin(), broken_.end());
        return std::move(broken_);
    }

private:
    void write_text(std::size_t i, std::int64_t low, std::int64_t high) {
        const Text& text = from_.texts[i];
        const std::int64_t place = from_.places[i];
        if (is_wide(text)) {
            if (place >= low && text.size != 0 &&
                !write_wide(text, kernel_, out_ + (place - base_))) {
                const std::scoped_lock lock(mutex_);
                broken_.push_back(static_cast<std::int64_t>(i));
            }
            return;
        }
        const std::int64_t from = std::max(place, low);
        const std::int64_t to = std::min(from_.places[i + 1], high);
        if (from < to) {
            std::memcpy(out_ + (from - base_),
                        static_cast<const std::uint8_t*>(text.data) + (from - place),
                        static_cast<std::size_t>(to - from));
        }
    }

    const PlacedTexts& from_;
    const std::size_t begin_;
    const std::size_t end_;
    const std::int64_t base_;
    std::uint8_t* const out_;
    const EncodeKernel& kernel_;
    std::mutex mutex_;  // guards broken_
    std::vector<std::int64_t> broken_;
};

// Writes the size of every wide text after its place.
void measure(std::span<const Text> texts, std::vector<std::int64_t>& places, unsigned threads) {
    const EncodeKernel& kernel = kernel_of(simd::chosen_target());
    std::atomic<std::size_t> next{0};
    run_on_threads(threads, [&] {
        for (;;) {
            const std::size_t begin = next.fetch_add(kTextsAtOnce);
            if (begin >= texts.size()) {
                return;
            }
            const std::size_t end = std::min(texts.size(), begin + kTextsAtOnce);
            for (std::size_t i = begin; i < end; ++i) {
                if (is_wide(texts[i])) {
                    places[i + 1] = static_cast<std::int64_t>(kernel.utf8_size(units_of(texts[i])));
                }
            }
        }
    });
}

}  // namespace

std::vector<std::int64_t> utf8_places(std::span<const Text> texts, unsigned threads) {
    std::vector<std::int64_t> places(texts.size() + 1);
    std::size_t wide_units = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        places[i + 1] = static_cast<std::int64_t>(texts[i].size);
        wide_units += is_wide(texts[i]) ? texts[i].size : 0;
    }
    if (wide_units != 0) {
        measure(texts, places, wide_units < kWorthThreads ? 1 : threads);
    }
    for (std::size_t i = 1; i < places.size(); ++i) {
        places[i] += places[i - 1];
    }
    return places;
}

std::vector<std::int64_t> gather_texts(const PlacedTexts& from, std::size_t begin, std::size_t end,
                                       std::uint8_t* out, Crew& crew) {
    if (begin == end) {
        return {};
    }
    Gathering gathering(from, begin, end, out);
    const std::size_t size = gathering.size_bytes();
    crew.run((size + kPiece - 1) / kPiece, [&](std::size_t piece) {
        gathering.write(piece * kPiece, std::min(size, (piece + 1) * kPiece));
    });
    return gathering.take_broken();
}

void copy_bytes(void* target, const void* source, std::size_t size, Crew& crew) {
    crew.run((size + kPiece - 1) / kPiece, [&](std::size_t piece) {
        const std::size_t at = piece * kPiece;
        std::memcpy(static_cast<std::uint8_t*>(target) + at,
                    static_cast<const std::uint8_t*>(source) + at, std::min(kPiece, size - at));
    });
}

}  // namespace tokenmill::pipeline
