// session: a text that grows -> its ids.
#include "pipeline/session.h"

#include <algorithm>
#include <cstring>

#include "pipeline/transcode.h"
#include "unicode/unicode.h"

namespace tokenmill::pipeline {

namespace {

constexpr std::size_t kInWorker = std::size_t{1} << 16;  // longer texts get memory of their own
constexpr std::uint8_t kReplacement[] = {0xEF, 0xBF, 0xBD};

// Memory of a vector for transcode().
struct VectorSink {
    std::vector<std::uint8_t>& out;
    std::size_t begin;

    std::uint8_t* take_memory(std::size_t size) {
        begin = out.size();
        out.resize(begin + size);
        return out.data() + begin;
    }
    void give_back(std::size_t) const noexcept {}
};

// The size of a character that starts with this byte; 0 if none does.
std::size_t size_by_lead(std::uint8_t lead) noexcept {
    if (lead >= 0xC2 && lead <= 0xDF) {
        return 2;
    }
    if (lead >= 0xE0 && lead <= 0xEF) {
        return 3;
    }
    return lead >= 0xF0 && lead <= 0xF4 ? 4 : 0;
}

// May `second` follow `lead`? Other values are surrogates, too long or too large.
bool may_follow(std::uint8_t lead, std::uint8_t second) noexcept {
    const std::uint8_t least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const std::uint8_t most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    return second >= least && second <= most;
}

// Bytes at the end that are the beginning of a character.
std::size_t unfinished_size(Bytes bytes) noexcept {
    const std::size_t most = std::min<std::size_t>(bytes.size(), 3);
    for (std::size_t size = 1; size <= most; ++size) {
        const std::uint8_t* const at = bytes.data() + bytes.size() - size;
        if (is_continuation(*at)) {
            continue;
        }
        const bool is_open = size_by_lead(*at) > size && (size == 1 || may_follow(*at, at[1]));
        return is_open ? size : 0;
    }
    return 0;
}

// The start of the last character before `at`.
std::size_t previous_start(const std::vector<std::uint8_t>& text, std::size_t at) noexcept {
    do {
        --at;
    } while (at > 0 && is_continuation(text[at]));
    return at;
}

}  // namespace

Session::Session(const Model& model, const Options& options, const SessionSizes& sizes)
    : model_(&model), cuts_(&model.safe_cuts()), options_(options), sizes_(sizes) {
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
      state_(other.state_) {}

Growth Session::append(const Text& text, const Stop* stop) {
    const Incoming incoming = read(text);
    const std::size_t from = fixed_ids();
    collect(state_, from, old_);
    if (incoming.text.size() <= sizes_.piece) {
        grow_piece(incoming.text, &incoming, stop);
    } else {
        State before = state_;
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
    State before = state_;
    std::size_t from = 0;
    try {
        shorten(count, in_characters);
        from = fixed_ids();
        grow(read(text), stop);
    } catch (...) {
        state_ = std::move(before);
        throw;
    }
    collect(before, from, old_);
    return compare(from);
}

// Strings are whole characters; bytes may end inside one.
Session::Incoming Session::read(const Text& text) {
    const Bytes pending(state_.pending.data(), state_.pending_size);
    const bool is_bytes = text.encoding == Text::Encoding::Utf8;
    const auto* const data = static_cast<const std::uint8_t*>(text.data);
    if (text.size == 0) {
        return {{}, state_.pending, state_.pending_size};
    }
    if (is_bytes && pending.empty()) {
        return read_bytes({data, text.size}, 0);
    }
    if (text.encoding == Text::Encoding::Trusted && pending.empty()) {
        return {{data, text.size}};
    }
    incoming_.assign(pending.begin(), pending.end());
    if (is_bytes || text.encoding == Text::Encoding::Trusted) {
        incoming_.insert(incoming_.end(), data, data + text.size);
    } else {
        VectorSink sink{incoming_, 0};
        const Bytes made = transcode(text, *model_->kernel_, options_.replace_invalid,
                                     Error::kNowhere, sink);
        incoming_.resize(sink.begin + made.size());
        if (pending.empty()) {
            return {incoming_};
        }
    }
    return read_bytes(incoming_, pending.size());
}

// `held`: how many of the bytes came with an earlier call.
Session::Incoming Session::read_bytes(Bytes bytes, std::size_t held) {
    Incoming incoming;
    incoming.pending_size = unfinished_size(bytes);
    const Bytes whole = bytes.first(bytes.size() - incoming.pending_size);
    std::copy(bytes.begin() + static_cast<std::ptrdiff_t>(whole.size()), bytes.end(),
              incoming.pending.begin());
    incoming.text = whole;
    if (whole.empty() || model_->kernel_->is_utf8(whole.data(), whole.data() + whole.size())) {
        return incoming;
    }
    if (!options_.replace_invalid) {
        const std::size_t at = unicode::find_fault(whole).offset;
        throw Error(ErrorCode::InvalidUtf8, "expected UTF-8, got byte " + std::to_string(whole[at]),
                    at > held ? at - held : 0);
    }
    std::vector<std::uint8_t> repaired;
    unicode::append_repaired(whole, repaired);
    incoming_.swap(repaired);
    incoming.text = incoming_;
    return incoming;
}

// In pieces, so that a block is never much longer than sizes_.block. Where no cut is found, pieces
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
    if (text_size() - state_.pending_size + piece.size() + pending > sizes_.most) {
        throw Error(ErrorCode::TextTooLong,
                    std::to_string(text_size() - state_.pending_size + piece.size() + pending) +
                        " " + std::to_string(sizes_.most));
    }
    std::vector<std::uint8_t>& text = state_.text;
    const std::size_t before = text.size();
    const Cut cut = state_.cuts.back();
    std::size_t found = cut.text;
    try {
        text.insert(text.end(), piece.begin(), piece.end());
        const std::size_t end = text.size();
        if (pending != 0 && options_.replace_invalid) {
            text.insert(text.end(), std::begin(kReplacement), std::end(kReplacement));
        }
        const Bytes all(text);
        const bool is_start = state_.sealed_text + cut.text == 0;
        encode(all.subspan(cut.text), !is_start, stop, tail_);
        if (end - cut.text >= sizes_.advance) {
            // Text that was searched before has none, except where R and N were not known.
            const std::size_t searched = before - cut.text;
            const std::size_t from =
                searched >= sizes_.advance + SafeCuts::kAhead ? searched - SafeCuts::kAhead : 0;
            const Bytes open = all.first(end).subspan(cut.text);
            found = cut.text + cuts_->find_last(open, from);
        }
        if (found >= cut.text + sizes_.advance) {
            encode(all.subspan(found), true, stop, rest_);
            const bool is_equal = rest_.size() <= tail_.size() &&
                                  std::equal(rest_.rbegin(), rest_.rend(), tail_.rbegin());
            found = is_equal ? found : cut.text;  // never seen; a wrong cut would be worse
        } else {
            found = cut.text;
        }
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
    if (found > cut.text) {
        state_.cuts.push_back({found, state_.ids.size() - rest_.size()});
        if (found >= sizes_.block) {
            seal();
        }
    }
    if (last != nullptr) {
        state_.pending = last->pending;
        state_.pending_size = last->pending_size;
    }
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
    const Cut cut = state_.cuts.back();
    auto block = std::make_shared<Block>();
    const auto text_end = state_.text.begin() + static_cast<std::ptrdiff_t>(cut.text);
    const auto ids_end = state_.ids.begin() + static_cast<std::ptrdiff_t>(cut.ids);
    block->text.assign(state_.text.begin(), text_end);
    block->ids.assign(state_.ids.begin(), ids_end);
    for (const Cut& one : state_.cuts) {  // a few: only replace_tail() comes back to them
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
    const Block& block = *state_.blocks.back();
    const std::size_t text = block.text.size();
    const std::size_t ids = block.ids.size();
    std::vector<Cut> cuts = block.cuts;
    for (const Cut& cut : state_.cuts) {
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
        throw Error(ErrorCode::BadArgument,
                    "replace_tail: expected at most " + std::to_string(count - left) +
                        (in_characters ? " characters" : " bytes") + ", got " +
                        std::to_string(count));
    };
    std::size_t left = count;
    if (left != 0 && state_.pending_size != 0) {
        const std::size_t gone =
            in_characters ? state_.pending_size : std::min(left, state_.pending_size);
        left -= in_characters ? 1 : gone;
        state_.pending_size -= gone;
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
                  state_.pending.begin());
        state_.pending_size = half;
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

void Session::collect(const State& state, std::size_t from, std::vector<TokenId>& out) {
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
    std::copy_n(state_.pending.begin(), state_.pending_size, out);
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
    std::size_t bytes = text_size() + id_count() * sizeof(TokenId) + incoming_.capacity();
    for (const auto& block : state_.blocks) {
        bytes += sizeof(Block) + block->cuts.size() * sizeof(Cut);
    }
    return bytes;
}

}  // namespace tokenmill::pipeline
