// gather: texts anywhere in memory -> UTF-8 back to back in memory of the caller, on all threads.
// Never allocates for each text. A lone surrogate becomes U+FFFD, and its text is reported.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/threads.h"
#include "pipeline/crew.h"
#include "pipeline/pipeline.h"

namespace tokenmill::pipeline {

// Texts and their places as UTF-8.
class PlacedTexts {
public:
    // The texts must stay. Sizes of long lists are found by several threads.
    PlacedTexts(std::span<const Text> texts, unsigned threads);

    // Where each text begins if all of them lie back to back, and where the last one ends.
    //   "ab", "\u00e9" (Latin-1), ""  ->  0, 2, 4, 4
    [[nodiscard]] std::span<const std::int64_t> places() const noexcept { return places_; }
    [[nodiscard]] std::span<const Text> texts() const noexcept { return texts_; }

    // The same texts, but long ones of a fixed width are cut, so that threads can share them.
    [[nodiscard]] std::span<const Text> pieces() const noexcept {
        return pieces_.empty() ? texts_ : pieces_;
    }
    [[nodiscard]] std::span<const std::int64_t> piece_places() const noexcept {
        return pieces_.empty() ? places_ : piece_places_;
    }
    // The text that has the byte at `place`.
    [[nodiscard]] std::int64_t text_at(std::int64_t place) const noexcept;

private:
    void cut();

    std::span<const Text> texts_;
    std::vector<std::int64_t> places_;
    std::vector<Text> pieces_;  // empty unless a text was cut
    std::vector<std::int64_t> piece_places_;
};

// A range of texts on its way to memory where they lie back to back.
class Gathering {
public:
    // Needs: the texts, and room for places[end] - places[begin] bytes, until finish().
    Gathering(const PlacedTexts& from, std::size_t begin, std::size_t end, std::uint8_t* out);
    void start(Crew& crew);
    // The numbers of texts that hold a lone surrogate, in order.
    [[nodiscard]] std::vector<std::int64_t> finish(Crew& crew);

private:
    void write(std::size_t first, std::size_t last);
    void write_piece(std::size_t i, std::int64_t low, std::int64_t high);

    const PlacedTexts& from_;
    const std::int64_t base_;
    const std::size_t size_;  // bytes
    std::uint8_t* const out_;
    const EncodeKernel& kernel_;
    Mutex mutex_;  // guards broken_
    std::vector<std::int64_t> broken_;
};

// Copies bytes with all threads of a crew; finish() of the crew ends it.
void start_copy(void* target, const void* source, std::size_t size, Crew& crew);

}  // namespace tokenmill::pipeline
