// One document through the rooms before split: checked, decoded, normalized, added tokens cut out.
// Indoors of pipeline.
#pragma once

#include "pipeline/pipeline.h"

namespace tokenmill::pipeline {

// A range of text to encode, or one known id. Ranges look ahead up to `end`.
struct Item {
    const std::uint8_t* begin = nullptr;
    const std::uint8_t* stop = nullptr;
    const std::uint8_t* end = nullptr;
    const std::uint8_t* readable = nullptr;
    TokenId id = 0;
    bool is_id = false;
    SpanRange range;  // if spans are wanted
    FixedSpan span;
};

class DocumentReader {
public:
    DocumentReader(const Model& model, Worker& worker, const Options& options)
        : model_(model), worker_(worker), options_(options) {}

    // Gathers the whole document in the worker's batch.
    void encode(const Text& text, std::size_t document);
    // The same as items for several workers; `own` keeps the memory they point into.
    void list_items(const Text& text, std::size_t document,
                    std::vector<std::vector<std::uint8_t>>& own, SpanSource& source,
                    std::vector<Item>& items);

    // Ids that `text` can give at the most.
    [[nodiscard]] static std::size_t bound_of(const Model& model, const Text& text) noexcept;

private:
    [[nodiscard]] Bytes utf8_of(const Text& text, std::size_t document);
    [[nodiscard]] Bytes transcode(const Text& text, std::size_t document);
    [[nodiscard]] std::uint8_t* take_memory(std::size_t size);
    void read(const Text& text, std::size_t document);
    void read_raw_segment(Bytes text, const std::uint8_t* readable);
    [[nodiscard]] Bytes rewrite(Bytes text);
    [[nodiscard]] Bytes rewrite_aligned(Bytes text);
    void read_range(Bytes text, const std::uint8_t* readable);
    // What the model is to see of a range; `range` is then that of the new text.
    [[nodiscard]] Bytes respell(Bytes text, SpanRange& range);
    // A copy with something in front.
    [[nodiscard]] Bytes keep(Bytes text, Bytes front);
    void open_source(Bytes text);
    void put_id(TokenId id, const FixedSpan& span);
    void put_token(std::uint32_t token, Bytes document, const split::Segment& where);
    [[nodiscard]] bool has_spans() const noexcept { return options_.spans != SpanUnit::None; }

    const Model& model_;
    Worker& worker_;
    const Options& options_;
    std::size_t document_ = 0;
    bool at_start_ = false;     // nothing of the text has been read yet
    bool keeps_parts_ = false;  // no part of the document is rewritten
    SpanSource* source_ = nullptr;
    SpanRange range_;  // of the text that is being read
    std::vector<std::vector<std::uint8_t>>* own_ = nullptr;
    std::vector<Item>* items_ = nullptr;
};

}  // namespace tokenmill::pipeline
