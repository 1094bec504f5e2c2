#include "decode/chain.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace tokenmill::decode {

namespace {

bool is_join(DecodeStepKind kind) noexcept {
    return kind == DecodeStepKind::Fuse || kind == DecodeStepKind::ByteLevel;
}

bool is_one_character(std::string_view text) noexcept {
    return !text.empty() && first_piece(text).kind == Utf8Kind::Whole &&
           first_piece(text).size == text.size();
}

TokenChange replace(std::string old, std::string by) {
    return {ChangeKind::Replace, std::move(old), std::move(by), 0, 0};
}

// Needs: a step whose changes look at one text alone.
Mapping mapping_of(const DecodeStep& step) {
    if (step.kind == DecodeStepKind::Strip) {
        return {{ChangeKind::Strip, step.a, {}, step.left, step.right}};
    }
    return {
        {step.a.empty() ? ChangeKind::ReplaceIfAny : ChangeKind::Replace, step.a, step.b, 0, 0}};
}

Mapping clean_up_if(bool flag) {
    return flag ? Mapping{{ChangeKind::CleanUp, {}, {}, 0, 0}} : Mapping{};
}

FirstAndRest word_pieces(const DecodeStep& step) {
    FirstAndRest made;
    made.first = clean_up_if(step.flag);
    made.rest = {{ChangeKind::CutPrefix, step.a, {}, 0, 0}};
    made.rest.insert(made.rest.end(), made.first.begin(), made.first.end());
    return made;
}

WithoutRepeats ctc(const DecodeStep& step) {
    WithoutRepeats made;
    made.change = {replace(step.a, "")};
    if (step.flag) {
        made.change.push_back({ChangeKind::CleanUp, {}, {}, 0, 0});
        made.change.push_back(replace(step.b, " "));
    }
    return made;
}

TokenStep token_step(const DecodeStep& step) {
    switch (step.kind) {
        case DecodeStepKind::WordPiece:
            return word_pieces(step);
        case DecodeStepKind::Metaspace: {
            FirstAndRest made;
            made.first = {replace(step.a, step.flag ? "" : " ")};
            made.rest = {replace(step.a, " ")};
            return made;
        }
        case DecodeStepKind::ByteFallback:
            return ByteRuns{};
        case DecodeStepKind::WordEnd: {
            LastAndRest made;
            made.last = {replace(step.a, "")};
            made.rest = {replace(step.a, " ")};
            return made;
        }
        case DecodeStepKind::Ctc:
            return ctc(step);
        case DecodeStepKind::ByteLevel:
        case DecodeStepKind::Fuse:
        case DecodeStepKind::Strip:
        case DecodeStepKind::Replace:
            break;
    }
    return EachToken{mapping_of(step)};
}

void append_replacing(const std::string& old, const std::string& by, std::vector<TextStep>& out) {
    if (old.empty()) {
        out.push_back(WholeText{WholeKind::Map, {replace(old, by)}, {}});
    } else {
        out.push_back(ReplaceInText{old, by, {}});
    }
}

void append_pairs(std::span<const TextPair> pairs, std::vector<TextStep>& out) {
    for (const auto& [old, by] : pairs) {
        out.push_back(ReplaceInText{std::string(old), std::string(by), {}});
    }
}

// The step as it works on the one token that the join has left.
void append_text_steps(const DecodeStep& step, std::vector<TextStep>& out) {
    switch (step.kind) {
        case DecodeStepKind::Fuse:  // it is one text already
            break;
        case DecodeStepKind::Strip:
            out.push_back(StripText{step.a, step.left, step.right, 0});
            break;
        case DecodeStepKind::Replace:
            if (step.a.empty()) {
                out.push_back(WholeText{WholeKind::Map, mapping_of(step), {}});
            } else {
                append_replacing(step.a, step.b, out);
            }
            break;
        case DecodeStepKind::ByteLevel:
            out.push_back(WholeText{WholeKind::SpelledBytes, {}, {}});
            break;
        case DecodeStepKind::ByteFallback:
            out.push_back(WholeText{WholeKind::ByteRun, {}, {}});
            break;
        case DecodeStepKind::Metaspace:
            append_replacing(step.a, step.flag ? "" : " ", out);
            break;
        case DecodeStepKind::WordPiece:
            append_pairs(step.flag ? token_clean_up() : std::span<const TextPair>{}, out);
            break;
        case DecodeStepKind::WordEnd:
            append_replacing(step.a, "", out);
            break;
        case DecodeStepKind::Ctc:
            append_replacing(step.a, "", out);
            if (step.flag) {
                append_pairs(token_clean_up(), out);
                append_replacing(step.b, " ", out);
            }
            break;
    }
}

}  // namespace

ChainPlan plan_of(const std::optional<std::vector<DecodeStep>>& steps) {
    ChainPlan plan;
    for (const DecodeStep& step : steps ? *steps : std::vector<DecodeStep>{}) {
        if (step.kind == DecodeStepKind::Strip && !is_one_character(step.a)) {
            throw Error(ErrorCode::BadSpec,
                        "decoder: expected one character to strip, got \"" + step.a + "\"");
        }
    }
    if (!steps) {
        plan.token_steps = {FirstAndRest{{}, {{ChangeKind::Blank, {}, {}, 0, 0}}, false}};
        return plan;
    }
    const auto join = std::ranges::find_if(*steps, is_join, &DecodeStep::kind);
    const auto each = [](const TokenStep& step) { return std::holds_alternative<EachToken>(step); };
    for (auto step = steps->begin(); step != join; ++step) {
        plan.token_steps.push_back(token_step(*step));
    }
    const auto stateful = std::ranges::find_if_not(plan.token_steps, each);
    plan.first_stateful = static_cast<std::size_t>(stateful - plan.token_steps.begin());
    if (join != steps->end()) {
        plan.as_bytes = join->kind == DecodeStepKind::ByteLevel;
        for (auto step = join + 1; step != steps->end(); ++step) {
            append_text_steps(*step, plan.text_steps);
        }
    }
    return plan;
}

std::string bytes_after_others(const ChainPlan& plan, std::string token) {
    const auto first = static_cast<std::ptrdiff_t>(plan.first_stateful);
    for (auto step = plan.token_steps.begin(); step != plan.token_steps.begin() + first; ++step) {
        token = mapped(std::get<EachToken>(*step).change, std::move(token));
    }
    if (plan.as_bytes) {
        return bytes_spelled(token);
    }
    if (plan.first_stateful + 1 != plan.token_steps.size()) {
        return token;
    }
    const TokenStep& only = plan.token_steps.back();
    if (const auto* const way = std::get_if<FirstAndRest>(&only)) {
        return mapped(way->rest, std::move(token));
    }
    const int byte = std::holds_alternative<ByteRuns>(only) ? byte_of(token) : -1;
    return byte < 0 ? token : std::string(1, static_cast<char>(byte));
}

void append_clean_up(std::vector<TextStep>& steps) {
    append_pairs(text_clean_up(), steps);
}

void StepChain::feed(std::string token, std::string& out) {
    Texts texts;
    feed_from(0, std::move(token), texts);
    std::string text;
    for (const std::string& one : texts) {
        join(one, text);
    }
    out += feed_steps(plan_.text_steps, std::move(text));
}

void StepChain::finish(std::string& out) {
    Texts texts;
    finish_tokens(texts);
    std::string text;
    for (const std::string& one : texts) {
        join(one, text);
    }
    joiner_.finish(text);
    out += finish_steps(plan_.text_steps, std::move(text));
}

// Through the token steps from this one on.
void StepChain::feed_from(std::size_t step, std::string token, Texts& out) {
    if (step == plan_.token_steps.size()) {
        out.push_back(std::move(token));
        return;
    }
    Texts made;
    std::visit([&](auto& one) { one.feed(std::move(token), made); }, plan_.token_steps[step]);
    for (std::string& text : made) {
        feed_from(step + 1, std::move(text), out);
    }
}

void StepChain::finish_tokens(Texts& out) {
    for (std::size_t i = 0; i < plan_.token_steps.size(); ++i) {
        Texts made;
        std::visit([&](auto& one) { one.finish(made); }, plan_.token_steps[i]);
        for (std::string& text : made) {
            feed_from(i + 1, std::move(text), out);
        }
    }
}

void StepChain::join(const std::string& token, std::string& out) {
    if (!plan_.as_bytes) {
        out += token;
        return;
    }
    joiner_.feed(bytes_spelled(token), out);
}

}  // namespace tokenmill::decode
