// session: a text that grows -> its ids, with work for its tail only.
//
//   text   |  block  |  block  |          open            |
//   cuts   |         |         |     |     |          |<--- tail: encoded again --->|
//
// The text is cut at safe cuts (safe_cuts.h). What lies before the last cut is encoded once. Blocks
// never change, so that forks share them; the open part is copied. Without safe cuts the tail is
// the whole text. After an error everything is as before the call.
#pragma once

#include <memory>
#include <vector>

#include "pipeline/incoming.h"
#include "pipeline/safe_cuts.h"

namespace tokenmill::pipeline {

// How many ids stay, and those that follow them; borrowed until the next call.
struct Growth {
    std::size_t keep;
    std::span<const TokenId> ids;
};

// Bytes, all of them.
struct SessionSizes {
    std::size_t advance = 64;                      // between two cuts, at least
    std::size_t piece = std::size_t{1} << 14;      // of a long text that is appended
    std::size_t block = std::size_t{1} << 15;      // the open part before it is sealed
    std::size_t kept_cuts = std::size_t{1} << 10;  // between the cuts of a sealed block
    std::size_t most = ~std::size_t{0};            // of the whole text
};

class Session {
public:
    // Borrows the model. `threads` of the options are for parts of a megabyte and more.
    Session(const Model& model, const Options& options, const SessionSizes& sizes);
    // A copy is a fork: both continue alone.
    Session(const Session& other);
    Session& operator=(const Session&) = delete;

    // Throws what encoding throws, and Error(TextTooLong).
    [[nodiscard]] Growth append(const Text& text, const Stop* stop);
    // Takes `count` characters or bytes away and appends `text`. Throws Error(BadArgument) if there
    // are not so many. Half a character that is left is as if it had been appended.
    [[nodiscard]] Growth replace_tail(std::size_t count, bool in_characters, const Text& text,
                                      const Stop* stop);

    // Bytes of the text; those of a character whose rest has not come yet are the last of them.
    [[nodiscard]] std::size_t text_size() const noexcept {
        return state_.sealed_text + state_.text.size() + state_.last.pending_size;
    }
    [[nodiscard]] std::size_t pending_size() const noexcept { return state_.last.pending_size; }
    // Bytes that the next call encodes again.
    [[nodiscard]] std::size_t tail_size() const noexcept {
        return state_.text.size() - state_.cuts.back().text;
    }
    void copy_text(std::uint8_t* out) const;
    [[nodiscard]] std::size_t id_count() const noexcept {
        return front().size() + state_.sealed_ids + state_.ids.size() + back().size();
    }
    void copy_ids(TokenId* out) const;
    // Bytes that the session holds and shares with no fork it knows of; an upper bound.
    [[nodiscard]] std::size_t memory() const noexcept;
    [[nodiscard]] const std::string& reason() const noexcept { return cuts_->reason(); }

private:
    struct SafeCut {
        std::size_t text;  // places in the open part
        std::size_t ids;
    };
    struct SealedText {
        std::vector<std::uint8_t> text;
        std::vector<TokenId> ids;
        std::vector<SafeCut> cuts;
    };
    struct SessionState {
        std::vector<std::shared_ptr<const SealedText>> blocks;
        std::size_t sealed_text = 0;  // in all blocks
        std::size_t sealed_ids = 0;
        std::vector<std::uint8_t> text;  // of the open part, whole characters
        std::vector<TokenId> ids;
        std::vector<SafeCut> cuts{{0, 0}};
        Incoming last;  // its pending bytes
    };

    void grow(const Incoming& incoming, const Stop* stop);
    void grow_piece(Bytes piece, const Incoming* last, const Stop* stop);
    [[nodiscard]] std::size_t find_cut(std::size_t before, std::size_t end, const Stop* stop);
    void encode(Bytes text, bool continues, const Stop* stop, std::vector<TokenId>& out) const;
    void seal();
    void reopen();
    void shorten(std::size_t count, bool in_characters);
    void go_back_to_cut();
    [[nodiscard]] std::size_t fixed_ids() const noexcept {
        return state_.sealed_ids + state_.cuts.back().ids;
    }
    // The ids from `from` on, as the text alone has them.
    static void collect(const SessionState& state, std::size_t from, std::vector<TokenId>& out);
    // What has changed since `old_` was collected, from `from` on.
    [[nodiscard]] Growth compare(std::size_t from);
    [[nodiscard]] std::span<const TokenId> front() const noexcept;
    [[nodiscard]] std::span<const TokenId> back() const noexcept;

    const Model* model_;
    const SafeCuts* cuts_;
    Options options_;
    SessionSizes sizes_;
    SessionState state_;

    // Used by one call, kept for the next.
    IncomingReader reader_;
    std::vector<TokenId> tail_;
    std::vector<TokenId> rest_;
    std::vector<TokenId> old_;
    std::vector<TokenId> new_;
};

}  // namespace tokenmill::pipeline
