// decoder: which of the ways a tokenizer decodes by, for whole rows and for streams.
#include <algorithm>
#include <utility>
#include <variant>

#include "base/error.h"
#include "decode/chain.h"
#include "decode/decode.h"
#include "decode/pieces.h"
#include "decode/utf8_text.h"

namespace tokenmill::decode {

struct Decoder::State {
    const vocab::VocabView& vocab;
    std::size_t id_count;
    DecodeRules rules;
    std::optional<PieceTable> pieces;
    ChainPlan plan;

    void check(TokenId id, std::size_t at) const {
        if (id >= id_count) {
            throw Error(ErrorCode::IdOutOfRange, std::to_string(id), at);
        }
    }
    [[nodiscard]] std::string_view entry(TokenId id) const noexcept {
        const Bytes bytes =
            id < vocab.token_count() ? vocab.decode_bytes(id) : Bytes{};  // else it is a hole
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }
    [[nodiscard]] bool is_hole(TokenId id) const noexcept {
        return entry(id).empty() && !std::ranges::binary_search(rules.empty_ids, id);
    }
    [[nodiscard]] bool is_special(TokenId id) const {
        if (pieces) {
            return pieces->is_control(id);
        }
        if (rules.on_texts) {
            return rules.special_texts.contains(std::string(entry(id)));
        }
        return std::ranges::binary_search(rules.special_ids, id);
    }
    // Does it write anything? Needs: an id that was checked.
    [[nodiscard]] bool is_kept(TokenId id, bool skip_special) const {
        if (rules.on_texts && !pieces && is_hole(id)) {
            return false;
        }
        return !skip_special || !is_special(id);
    }
    void decode_table(std::span<const TokenId> ids, const DecodeOptions& options,
                      std::string& out) const;
    void decode_plan(std::span<const TokenId> ids, const DecodeOptions& options,
                     std::string& out) const;
};

namespace {

std::string cleaned(std::string text) {
    for (const auto& [old, by] : text_clean_up()) {
        text = replaced(text, old, by);
    }
    return text;
}

}  // namespace

Decoder::Decoder(const vocab::VocabView& vocab, std::size_t id_count, DecodeRules rules)
    : state_(new State{vocab, id_count, std::move(rules), std::nullopt, {}}) {
    State& state = *state_;
    std::ranges::sort(state.rules.special_ids);
    if (state.rules.on_texts && state.rules.pieces) {
        state.pieces.emplace(vocab, id_count, *state.rules.pieces);
    } else if (state.rules.on_texts) {
        state.plan = plan_of(state.rules.steps);
    }
}

Decoder::~Decoder() = default;

bool Decoder::on_texts() const noexcept {
    return state_->rules.on_texts;
}

// Every id has fixed bytes.
void Decoder::State::decode_table(std::span<const TokenId> ids, const DecodeOptions& options,
                                  std::string& out) const {
    std::string bytes;
    for (const TokenId id : ids) {
        if (is_kept(id, options.skip_special)) {
            bytes += entry(id);
        }
    }
    if (options.as == AsWhat::Bytes) {
        out += bytes;
        return;
    }
    Utf8Joiner joiner;
    joiner.feed(bytes, out);
    joiner.finish(out);
}

void Decoder::State::decode_plan(std::span<const TokenId> ids, const DecodeOptions& options,
                                 std::string& out) const {
    const bool is_raw = options.as == AsWhat::Bytes && plan.joins_bytes_only();
    StepChain chain(plan);
    for (const TokenId id : ids) {
        if (!is_kept(id, options.skip_special)) {
            continue;
        }
        if (is_raw) {
            out += bytes_after_others(plan, std::string(entry(id)));
        } else {
            chain.feed(std::string(entry(id)), out);
        }
    }
    chain.finish(out);
}

void Decoder::decode(std::span<const TokenId> ids, const DecodeOptions& options,
                     std::string& out) const {
    for (std::size_t i = 0; i < ids.size(); ++i) {
        state_->check(ids[i], i);
    }
    std::string text;
    if (!state_->rules.on_texts) {
        state_->decode_table(ids, options, text);
    } else if (state_->pieces) {
        PieceRun run(*state_->pieces);
        for (const TokenId id : ids) {
            if (state_->is_kept(id, options.skip_special)) {
                run.push(id, text);
            }
        }
        run.finish(text);
    } else {
        state_->decode_plan(ids, options, text);
    }
    if (options.clean_up && options.as == AsWhat::Text) {
        text = cleaned(std::move(text));
    }
    out += text;
}

std::string Decoder::bytes_of(TokenId id) const {
    state_->check(id, Error::kNowhere);
    const auto refuse_hole = [&](bool is_hole) {
        if (is_hole) {
            throw Error(ErrorCode::IdOutOfRange, std::to_string(id));
        }
    };
    if (!state_->rules.on_texts) {
        refuse_hole(state_->entry(id).empty());
        return std::string(state_->entry(id));
    }
    if (state_->pieces) {
        const int byte = state_->pieces->byte_of(id);
        return byte < 0 ? state_->pieces->written(id) : std::string(1, static_cast<char>(byte));
    }
    refuse_hole(state_->is_hole(id));
    return bytes_after_others(state_->plan, std::string(state_->entry(id)));
}

struct DecodeStream::State {
    const Decoder::State& decoder;
    bool skip_special;
    bool clean_up;
    std::variant<Utf8Joiner, PieceRun, StepChain> way;
    std::vector<TextStep> clean_steps;  // of the first two ways; a chain has them itself

    State(const Decoder::State& of, bool skips_special, bool cleans_up)
        : decoder(of), skip_special(skips_special), clean_up(cleans_up) {
        restart();
    }

    void restart() {
        clean_steps.clear();
        const bool is_chain = decoder.rules.on_texts && !decoder.pieces;
        if (is_chain) {
            ChainPlan plan = decoder.plan;
            if (clean_up) {
                append_clean_up(plan.text_steps);
            }
            way.emplace<StepChain>(plan);
            return;
        }
        if (clean_up) {
            append_clean_up(clean_steps);
        }
        if (decoder.pieces) {
            way.emplace<PieceRun>(*decoder.pieces);
        } else {
            way.emplace<Utf8Joiner>();
        }
    }
};

DecodeStream::DecodeStream(const Decoder& decoder, bool skip_special, bool clean_up)
    : state_(new State(*decoder.state_, skip_special, clean_up)) {}

DecodeStream::~DecodeStream() = default;

void DecodeStream::push(TokenId id, std::string& out) {
    State& state = *state_;
    state.decoder.check(id, Error::kNowhere);
    if (!state.decoder.is_kept(id, state.skip_special)) {
        return;
    }
    std::string text;
    if (auto* const chain = std::get_if<StepChain>(&state.way)) {
        chain->feed(std::string(state.decoder.entry(id)), out);
        return;
    }
    if (auto* const run = std::get_if<PieceRun>(&state.way)) {
        run->push(id, text);
    } else {
        std::get<Utf8Joiner>(state.way).feed(state.decoder.entry(id), text);
    }
    out += feed_steps(state.clean_steps, std::move(text));
}

void DecodeStream::finish(std::string& out) {
    State& state = *state_;
    std::string text;
    std::visit([&](auto& way) { way.finish(text); }, state.way);
    out += finish_steps(state.clean_steps, std::move(text));
    state.restart();
}

}  // namespace tokenmill::decode
