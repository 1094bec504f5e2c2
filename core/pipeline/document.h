// document: one text -> ranges and known ids, in order. Checks and decodes the text, normalizes it
// and cuts the added tokens out: all rooms before split. Internal to pipeline.
#pragma once

#include "pipeline/items.h"
#include "pipeline/pipeline.h"

namespace tokenmill::pipeline {

// A sink takes what a document consists of. Both kinds have the same five operations; the reader is
// compiled for each, so that a call costs nothing:
//
//   std::uint8_t* take_memory(size)   bytes for rewritten text, valid as long as the ranges are
//   void give_back(size)              that many of the last bytes were not needed
//   SpanSource& open_source()         where to describe the document, if spans are wanted
//   void range(text, place)           text to encode
//   void id(id, span)                 a token that is known already
//
// BatchSink encodes at once; ItemList (items.h) keeps a list.
class BatchSink {
public:
    explicit BatchSink(Worker& worker) noexcept : worker_(worker) {}

    [[nodiscard]] std::uint8_t* take_memory(std::size_t size) { return worker_.take_scratch(size); }
    void give_back(std::size_t size) noexcept { worker_.give_back_scratch(size); }
    [[nodiscard]] SpanSource& open_source() { return worker_.spans.open_source(); }
    void range(const TextRange& text, const SpanRange& place) { worker_.add_range(text, place); }
    void id(TokenId id, const FixedSpan& span) { worker_.add_id(id, span); }

private:
    Worker& worker_;
};

// Reads documents into a sink, one after the other. Borrows everything; the worker lends its
// kernel and its ReaderScratch.
template <typename Sink>
class DocumentReader {
public:
    DocumentReader(const Model& model, Worker& worker, const Options& options, Sink& sink)
        : model_(model), worker_(worker), options_(options), sink_(sink) {}

    // `document` is its number in error messages.
    void read(const Text& text, std::size_t document);

    // The same in steps, for a caller who knows the ids of some segments: the text as UTF-8, its
    // segments in the worker's scratch, and each of those that is to be read. The segments of a
    // document do not depend on each other.
    [[nodiscard]] Bytes open(const Text& text, std::size_t document);
    void find_segments(Bytes text);
    // `continues`: it is the rest of a text that was cut, so nothing is put in front of it.
    void read_segment(Bytes text, const split::Segment& segment, bool continues = false);
    void put_prefix() { put_around(model_.prefix_); }
    void put_suffix() { put_around(model_.suffix_); }

private:
    [[nodiscard]] Bytes utf8_of(const Text& text);
    // The bytes, if they are UTF-8; else a repaired copy, or an Error.
    [[nodiscard]] Bytes checked(Bytes bytes);
    void open_source(Bytes text);
    void read_text(Bytes text);
    void read_raw_segment(Bytes text, const std::uint8_t* readable);
    [[nodiscard]] Bytes rewrite(Bytes text);
    [[nodiscard]] Bytes rewritten(Bytes text, const normalize::Program& rewriter, Bytes prepended);
    [[nodiscard]] Bytes rewrite_aligned(Bytes text);
    void read_range(Bytes text, const std::uint8_t* readable);
    // Text as the model expects it; `range` then describes the new text.
    [[nodiscard]] Bytes respell(Bytes text, SpanRange& range);
    [[nodiscard]] Bytes respelled(Bytes text, const normalize::Program& respeller,
                                  SpanRange& range);
    [[nodiscard]] Bytes put_blank_in_front(Bytes text, SpanRange& range);
    // A copy in the sink's memory, with something in front.
    [[nodiscard]] Bytes keep(Bytes text, Bytes front);
    // Cuts the tokens out of the document, and out of a stretch of it that was normalized.
    void find_raw_tokens(Bytes text, std::vector<split::Segment>& out);
    void find_normal_tokens(Bytes raw, Bytes text, std::vector<split::Segment>& out);
    // Forgets control tokens that trusted text does not spell by itself.
    void drop_borrowed(Bytes raw, const Rewritten& rewritten);
    void put_around(std::span<const TokenId> ids);
    void put_token(std::uint32_t token, Bytes text, const split::Segment& where);
    // Flags of added tokens that are not looked for.
    [[nodiscard]] std::uint32_t skipped_tokens() const noexcept {
        return options_.special == SpecialMode::AsText ? std::uint32_t{split::kSpecial} : 0U;
    }
    // Does the text start where a call before this one has cut it?
    [[nodiscard]] bool is_cut_off() const noexcept {
        return is_continued_ && options_.continues != nullptr;
    }
    // Do control tokens of normalized text need to know where it comes from?
    [[nodiscard]] bool needs_origins() const noexcept {
        return options_.trust != nullptr && options_.trust->control.has_normalized();
    }
    [[nodiscard]] bool has_spans() const noexcept { return options_.spans != SpanUnit::None; }
    // Does a step on so many bytes, and times it if they are many.
    template <typename Do>
    decltype(auto) normalizing(std::size_t size, const Do& step) const {
        return do_step(worker_.encoder.clock, WorkStage::Normalize, size, step);
    }

    const Model& model_;
    Worker& worker_;
    const Options& options_;
    Sink& sink_;
    std::size_t document_ = 0;
    bool may_have_added_ = true;          // an added token may be in the raw text
    bool at_start_ = false;               // nothing of the text has been read yet
    bool is_continued_ = false;           // what is read next continues a text that was cut
    const std::uint8_t* text_ = nullptr;  // the open document
    std::size_t front_ = 0;               // bytes that the last rewrite() put in front
    bool keeps_parts_ = false;      // the normalizer leaves every part of the document as it is
    SpanSource* source_ = nullptr;  // the sink's, of the open document
    SpanRange range_;               // of the text that is being read
};

extern template class DocumentReader<BatchSink>;
extern template class DocumentReader<ItemList>;

}  // namespace tokenmill::pipeline
