// steps: what a chain of steps does to a row of tokens, and to the text that they become. A step is
// fed piece by piece: what has become certain is passed to the next step, the rest is held until
// finish(). Both equal the step applied to everything at once, however it was cut.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "decode/mapping.h"

namespace tokenmill::decode {

using Texts = std::vector<std::string>;

// Over tokens. Each appends the texts that are certain to `out`.

struct EachToken {
    Mapping change;
    void feed(std::string token, Texts& out);
    void finish(Texts&) {}
};
struct FirstAndRest {
    Mapping first;
    Mapping rest;
    bool has_first = false;
    void feed(std::string token, Texts& out);
    void finish(Texts&) {}
};
// One token is always held: it may be the last one.
struct LastAndRest {
    Mapping last;
    Mapping rest;
    bool has_held = false;
    std::string held;
    void feed(std::string token, Texts& out);
    void finish(Texts& out);
};
// Runs of byte tokens become text, or one U+FFFD a byte if the run as a whole is not UTF-8.
struct ByteRuns {
    std::string run;
    void feed(std::string token, Texts& out);
    void finish(Texts& out);
};
// Of equal neighbours one; then every token by itself, and those that vanish are dropped.
struct WithoutRepeats {
    Mapping change;
    bool has_before = false;
    std::string before;
    void feed(std::string token, Texts& out);
    void finish(Texts&) {}
};
using TokenStep = std::variant<EachToken, FirstAndRest, LastAndRest, ByteRuns, WithoutRepeats>;

// Over the text. Each returns what is certain.

// Every occurrence of one text by another; holds what may be the beginning of one.
struct ReplaceInText {
    std::string old;  // not empty
    std::string by;
    std::string held;
    [[nodiscard]] std::string feed(const std::string& text);
    [[nodiscard]] std::string finish();
};
// A character off both ends, at most `left` and `right` times.
struct StripText {
    std::string character;
    std::size_t left = 0;
    std::size_t right = 0;
    std::size_t held = 0;  // characters
    [[nodiscard]] std::string feed(const std::string& text);
    [[nodiscard]] std::string finish();
};
// What has to see the end of the text before it returns anything.
enum class WholeKind : std::uint8_t { Map, SpelledBytes, ByteRun };
struct WholeText {
    WholeKind kind;
    Mapping change;
    std::string held;
    [[nodiscard]] std::string feed(const std::string& text);
    [[nodiscard]] std::string finish();
};
using TextStep = std::variant<ReplaceInText, StripText, WholeText>;

// Through all steps in order: what is certain, and the rest.
[[nodiscard]] std::string feed_steps(std::vector<TextStep>& steps, std::string text);
[[nodiscard]] std::string finish_steps(std::vector<TextStep>& steps, std::string text);

}  // namespace tokenmill::decode
