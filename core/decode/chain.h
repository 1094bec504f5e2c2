// chain: the steps of a tokenizer, taken apart. Tokens go through the steps before the join, then
// they are joined, as bytes if `as_bytes`; the joined text goes through the rest. After the join
// there is one token, so for every later step it is both the first and the last.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "decode/steps.h"
#include "decode/utf8_text.h"

namespace tokenmill::decode {

struct ChainPlan {
    std::vector<TokenStep> token_steps;
    bool as_bytes = false;
    std::vector<TextStep> text_steps;

    // The token steps that know their neighbours begin here.
    std::size_t first_stateful = 0;

    // Are the bytes of each token, one by one, what is decoded?
    [[nodiscard]] bool joins_bytes_only() const noexcept {
        return as_bytes && text_steps.empty() && first_stateful == token_steps.size();
    }
};

// Throws Error(BadSpec) for a step that says nothing exact.
[[nodiscard]] ChainPlan plan_of(const std::optional<std::vector<DecodeStep>>& steps);
// What a token writes after others.
[[nodiscard]] std::string bytes_after_others(const ChainPlan& plan, std::string token);
// The steps of the option `clean_up`.
void append_clean_up(std::vector<TextStep>& steps);

// One decoding, in as many pieces as the caller likes. Appends what is certain.
class StepChain {
public:
    explicit StepChain(const ChainPlan& plan) : plan_(plan) {}
    void feed(std::string token, std::string& out);
    void finish(std::string& out);

private:
    void feed_from(std::size_t step, std::string token, Texts& out);
    void finish_tokens(Texts& out);
    void join(const std::string& token, std::string& out);

    ChainPlan plan_;  // a copy: the steps hold text
    Utf8Joiner joiner_;
};

}  // namespace tokenmill::decode
