// session: a text that grows -> its ids.
#include "pipeline/session.h"

#include <algorithm>

#include "base/utf8.h"

namespace tokenmill::pipeline {

namespace {

constexpr std::size_t kInWorker = std::size_t{1} << 16;  // longer texts get memory of their own
constexpr std::uint8_t kReplacement[] = {0xEF, 0xBF, 0xBD};

// The start of the last character before `at`.
std::size_t previous_start(const std::vector<std::uint8_t>& text, std::size_t at) noexcept {
    do {
        --at;
    } while (at > 0 && is_continuation(text[at]));
    return at;
}

}  // namespace

Session::Session(const Model& model, const Options& options, const SessionSizes& sizes)
    : model_(&model),
      cuts_(&model.safe_cuts()),
      options_(options),
      sizes_(sizes),
      reader_(*model.kernel_, options.replace_invalid) {
    options_.stop = nullptr;
    encode({}, false, nullptr, state_.ids);
}

std::span<const TokenId> Session::front() const noexcept {
    return options_.add_special_tokens ? model_->prefix_ids() : std::span<const TokenId>{};
}

std::span<const TokenId> Session::back() const noexcept {
    return options_.add_special_tokens ? model_->suffix_ids() : std::span<const TokenId>{};
}

Session::Session(const Session& other)
    : model_(other.model_),
      cuts_(other.cuts_),
      options_(other.options_),
      sizes_(other.sizes_),
      state_(other.state_),
      reader_(*model_->kernel_, options_.replace_invalid) {}

Growth Session::append(const Text& text, const Stop* stop) {
    const Incoming incoming = reader_.read(text, state_.last);
    const std::size_t from = fixed_ids();
    collect(state_, from, old_);
    if (incoming.text.size() <= sizes_.piece) {
        grow_piece(incoming.text, &incoming, stop);
    } else {
        SessionState before = state_;
        try {
            grow(incoming, stop);
        } catch (...) {
            state_ = std::move(before);
            throw;
        }
    }
    return compare(from);
}

Growth Session::replace_tail(std::size_t count, bool in_characters, const Text& text,
                             const Stop* stop) {
    SessionState before = state_;
    std::size_t from = 0;
    try {
        shorten(count, in_characters);
        from = fixed_ids();
        grow(reader_.read(text, state_.last), stop);
    } catch (...) {
        state_ = std::move(before);
        throw;
    }
    collect(before, from, old_);
    return compare(from);
}

// In pieces, so that a block is never much longer than it should be. Where no cut is found, pieces
// double: the tail is encoded again with each.
void Session::grow(const Incoming& incoming, const Stop* stop) {
    Bytes rest = incoming.text;
    for (;;) {
        const std::size_t tail = state_.text.size() - state_.cuts.back().text;
        std::size_t size = std::max(sizes_.piece, tail);
        if (!cuts_->reason().empty() || rest.size() <= size) {
            grow_piece(rest, &incoming, stop);
            return;
        }
        while (is_continuation(rest[size])) {
            --size;
        }
        grow_piece(rest.first(size), nullptr, stop);
        rest = rest.subspan(size);
    }
}

// Appends a piece and encodes the tail; `last` is given if nothing follows. Changes nothing if
// it throws.
void Session::grow_piece(Bytes piece, const Incoming* last, const Stop* stop) {
    const std::size_t pending = last == nullptr ? 0 : last->pending_size;
    if (text_size() - state_.last.pending_size + piece.size() + pending > sizes_.most) {
        throw Error(ErrorCode::TextTooLong, std::to_string(text_size() - state_.last.pending_size +
                                                           piece.size() + pending) +
                                                " " + std::to_string(sizes_.most));
    }
    std::vector<std::uint8_t>& text = state_.text;
    const std::size_t before = text.size();
    const SafeCut cut = state_.cuts.back();
    std::size_t found = 0;
    try {
        text.insert(text.end(), piece.begin(), piece.end());
        const std::size_t end = text.size();
        if (pending != 0 && options_.replace_invalid) {
            text.insert(text.end(), std::begin(kReplacement), std::end(kReplacement));
        }
        const bool is_start = state_.sealed_text + cut.text == 0;
        encode(Bytes(text).subspan(cut.text), !is_start, stop, tail_);
        found = find_cut(before, end, stop);
        text.resize(end);
        state_.ids.reserve(cut.ids + tail_.size());
        state_.cuts.reserve(state_.cuts.size() + 1);
    } catch (Error& error) {
        text.resize(before);
        if (error.offset != Error::kNowhere) {
            error.offset += state_.sealed_text + cut.text;
        }
        throw;
    } catch (...) {
        text.resize(before);
        throw;
    }
    state_.ids.resize(cut.ids);
    state_.ids.insert(state_.ids.end(), tail_.begin(), tail_.end());
    if (found != 0) {
        state_.cuts.push_back({found, state_.ids.size() - rest_.size()});
        if (found >= sizes_.block) {
            seal();
        }
    }
    if (last != nullptr) {
        state_.last.pending = last->pending;
        state_.last.pending_size = last->pending_size;
    }
}

// The place of a new cut in text that reaches to `end`, 0 if there is none; the ids after it go to
// `rest_`. Up to `before` the text was searched already, except where R and N were not known.
std::size_t Session::find_cut(std::size_t before, std::size_t end, const Stop* stop) {
    const std::size_t last = state_.cuts.back().text;
    if (end - last < sizes_.advance) {
        return 0;
    }
    const std::size_t searched = before - last;
    const std::size_t from =
        searched >= sizes_.advance + SafeCuts::kAhead ? searched - SafeCuts::kAhead : 0;
    const Bytes all(state_.text);
    const std::size_t found = cuts_->find_last(all.first(end).subspan(last), from);
    if (found < sizes_.advance) {
        return 0;
    }
    encode(all.subspan(last + found), true, stop, rest_);
    // Always so. If a cut were wrong, ids would be: not to cut is only slow.
    const bool is_equal =
        rest_.size() <= tail_.size() && std::equal(rest_.rbegin(), rest_.rend(), tail_.rbegin());
    return is_equal ? last + found : 0;
}

void Session::encode(Bytes text, bool continues, const Stop* stop,
                     std::vector<TokenId>& out) const {
    Options options = options_;
    options.add_special_tokens = false;
    options.stop = stop;
    options.continues = continues ? cuts_ : nullptr;
    const Text trusted{text.data(), text.size(), Text::Encoding::Trusted};
    if (text.size() <= kInWorker) {
        Model::Lease lease(*model_);
        const auto ids = lease.encode(trusted, options);
        out.assign(ids.begin(), ids.end());
        return;
    }
    const Encoded encoded = model_->encode_batch({&trusted, 1}, options, {});
    const auto* const ids = encoded.memory.ids.as<TokenId>();
    out.assign(ids, ids + encoded.count);
}

// What lies before the last cut becomes a block.
void Session::seal() {
    const SafeCut cut = state_.cuts.back();
    auto block = std::make_shared<SealedText>();
    const auto text_end = state_.text.begin() + static_cast<std::ptrdiff_t>(cut.text);
    const auto ids_end = state_.ids.begin() + static_cast<std::ptrdiff_t>(cut.ids);
    block->text.assign(state_.text.begin(), text_end);
    block->ids.assign(state_.ids.begin(), ids_end);
    for (const SafeCut& one : state_.cuts) {  // a few: only replace_tail() comes back to them
        if (block->cuts.empty() || one.text >= block->cuts.back().text + sizes_.kept_cuts) {
            block->cuts.push_back(one);
        }
    }
    if (block->cuts.back().text == cut.text) {
        block->cuts.pop_back();
    }
    state_.blocks.push_back(std::move(block));
    state_.text.erase(state_.text.begin(), text_end);
    state_.ids.erase(state_.ids.begin(), ids_end);
    state_.cuts.assign(1, {0, 0});
    state_.sealed_text += cut.text;
    state_.sealed_ids += cut.ids;
}

// The last block becomes a part of the open one again.
void Session::reopen() {
    const SealedText& block = *state_.blocks.back();
    const std::size_t text = block.text.size();
    const std::size_t ids = block.ids.size();
    std::vector<SafeCut> cuts = block.cuts;
    for (const SafeCut& cut : state_.cuts) {
        cuts.push_back({cut.text + text, cut.ids + ids});
    }
    state_.text.insert(state_.text.begin(), block.text.begin(), block.text.end());
    state_.ids.insert(state_.ids.begin(), block.ids.begin(), block.ids.end());
    state_.cuts = std::move(cuts);
    state_.sealed_text -= text;
    state_.sealed_ids -= ids;
    state_.blocks.pop_back();
}

// Takes text away from the end, then goes back to a cut that what is left still decides.
void Session::shorten(std::size_t count, bool in_characters) {
    const auto refuse = [&](std::size_t left) {
        throw Error(ErrorCode::BadArgument, "replace_tail: expected at most " +
                                                std::to_string(count - left) +
                                                (in_characters ? " characters" : " bytes") +
                                                ", got " + std::to_string(count));
    };
    std::size_t left = count;
    if (left != 0 && state_.last.pending_size != 0) {
        const std::size_t gone =
            in_characters ? state_.last.pending_size : std::min(left, state_.last.pending_size);
        left -= in_characters ? 1 : gone;
        state_.last.pending_size -= gone;
    }
    std::size_t end = state_.text.size();
    while (left != 0) {
        if (end == 0) {
            if (state_.blocks.empty()) {
                refuse(left);
            }
            state_.text.clear();  // all of it goes
            state_.ids.clear();
            state_.cuts.assign(1, {0, 0});
            reopen();
            end = state_.text.size();
        }
        if (in_characters) {
            end = previous_start(state_.text, end);
            --left;
        } else {
            const std::size_t gone = std::min(left, end);
            end -= gone;
            left -= gone;
        }
    }
    state_.text.resize(end);
    // Half a character waits for its rest.
    const std::size_t half = in_characters ? 0 : unfinished_size(state_.text);
    if (half != 0) {
        std::copy(state_.text.end() - static_cast<std::ptrdiff_t>(half), state_.text.end(),
                  state_.last.pending.begin());
        state_.last.pending_size = half;
        state_.text.resize(end - half);
    }
    go_back_to_cut();
}

// The last cut that what is left of the text still decides.
void Session::go_back_to_cut() {
    for (;;) {
        while (state_.cuts.size() > 1 &&
               state_.cuts.back().text + SafeCuts::kAhead > state_.text.size()) {
            state_.cuts.pop_back();
        }
        if (state_.blocks.empty() ||
            state_.cuts.back().text + SafeCuts::kAhead <= state_.text.size()) {
            break;
        }
        reopen();
    }
    state_.ids.resize(state_.cuts.back().ids);
}

void Session::collect(const SessionState& state, std::size_t from, std::vector<TokenId>& out) {
    out.clear();
    std::size_t place = state.sealed_ids;
    std::size_t first = state.blocks.size();
    while (place > from) {
        place -= state.blocks[--first]->ids.size();
    }
    const auto put = [&](const std::vector<TokenId>& ids) {
        const std::size_t skip = from > place ? from - place : 0;
        out.insert(out.end(), ids.begin() + static_cast<std::ptrdiff_t>(skip), ids.end());
        place += ids.size();
    };
    for (; first < state.blocks.size(); ++first) {
        put(state.blocks[first]->ids);
    }
    put(state.ids);
}

// The longest common start of the ids before and after: what has changed is as short as possible.
Growth Session::compare(std::size_t from) {
    collect(state_, from, new_);
    for (std::vector<TokenId>* const ids : {&old_, &new_}) {
        ids->insert(ids->end(), back().begin(), back().end());
    }
    const auto same = static_cast<std::size_t>(
        std::mismatch(old_.begin(), old_.end(), new_.begin(), new_.end()).second - new_.begin());
    return {front().size() + from + same, std::span<const TokenId>(new_).subspan(same)};
}

void Session::copy_text(std::uint8_t* out) const {
    for (const auto& block : state_.blocks) {
        out = std::copy(block->text.begin(), block->text.end(), out);
    }
    out = std::copy(state_.text.begin(), state_.text.end(), out);
    std::copy_n(state_.last.pending.begin(), state_.last.pending_size, out);
}

void Session::copy_ids(TokenId* out) const {
    out = std::copy(front().begin(), front().end(), out);
    for (const auto& block : state_.blocks) {
        out = std::copy(block->ids.begin(), block->ids.end(), out);
    }
    out = std::copy(state_.ids.begin(), state_.ids.end(), out);
    std::copy(back().begin(), back().end(), out);
}

std::size_t Session::memory() const noexcept {
    std::size_t bytes = text_size() + id_count() * sizeof(TokenId) + reader_.buffer_bytes();
    for (const auto& block : state_.blocks) {
        bytes += sizeof(SealedText) + block->cuts.size() * sizeof(SafeCut);
    }
    return bytes;
}

}  // namespace tokenmill::pipeline
