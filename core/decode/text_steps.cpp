// text_steps: steps over one text that arrives in pieces.
#include <algorithm>
#include <utility>

#include "decode/steps.h"
#include "decode/utf8_text.h"

namespace tokenmill::decode {

namespace {

// The length of the longest end of `tail` that begins `old` and is shorter than it.
std::size_t overlap(std::string_view tail, std::string_view old) noexcept {
    std::size_t size = std::min(tail.size(), old.size() - 1);
    while (size > 0 && !tail.ends_with(old.substr(0, size))) {
        --size;
    }
    return size;
}

std::string repeated(std::string_view character, std::size_t times) {
    std::string out;
    for (std::size_t i = 0; i < times; ++i) {
        out.append(character);
    }
    return out;
}

std::string text_of_byte_run(std::string text) {
    ByteRuns step;
    Texts texts;
    step.feed(std::move(text), texts);
    step.finish(texts);
    std::string out;
    for (const std::string& one : texts) {
        out += one;
    }
    return out;
}

std::string text_of_spelled(std::string_view text) {
    std::string out;
    Utf8Joiner joiner;
    joiner.feed(bytes_spelled(text), out);
    joiner.finish(out);
    return out;
}

}  // namespace

std::string ReplaceInText::feed(const std::string& text) {
    const std::string known = std::exchange(held, {}) + text;
    std::string_view rest = known;
    std::string out;
    for (std::size_t at = rest.find(old); at != std::string_view::npos; at = rest.find(old)) {
        out.append(rest.substr(0, at)).append(by);
        rest.remove_prefix(at + old.size());
    }
    const std::size_t kept = overlap(rest, old);
    held = rest.substr(rest.size() - kept);
    return out.append(rest.substr(0, rest.size() - kept));
}

std::string ReplaceInText::finish() {
    return std::exchange(held, {});
}

std::string StripText::feed(const std::string& text) {
    std::string_view rest = text;
    if (left > 0) {
        while (left > 0 && rest.starts_with(character)) {
            rest.remove_prefix(character.size());
            --left;
        }
        if (!rest.empty() && !rest.starts_with(character)) {
            left = 0;  // another character ends the front for good
        }
    }
    if (right == 0 || rest.empty()) {
        return std::string(rest);
    }
    std::size_t run = 0;  // of the character, at the end of what is known
    std::string_view bare = rest;
    while (bare.ends_with(character)) {
        bare.remove_suffix(character.size());
        ++run;
    }
    const std::size_t before = bare.empty() ? 0 : held;
    run += bare.empty() ? held : 0;
    held = std::min(run, right);
    return repeated(character, before).append(bare).append(repeated(character, run - held));
}

std::string StripText::finish() {
    return {};
}

std::string WholeText::feed(const std::string& text) {
    held += text;
    return {};
}

std::string WholeText::finish() {
    std::string whole = std::exchange(held, {});
    switch (kind) {
        case WholeKind::SpelledBytes:
            return text_of_spelled(whole);
        case WholeKind::ByteRun:
            return text_of_byte_run(std::move(whole));
        case WholeKind::Map:
            break;
    }
    return mapped(change, std::move(whole));
}

std::string feed_steps(std::vector<TextStep>& steps, std::string text) {
    for (TextStep& any : steps) {
        if (text.empty()) {
            break;
        }
        text = std::visit([&](auto& step) { return step.feed(text); }, any);
    }
    return text;
}

std::string finish_steps(std::vector<TextStep>& steps, std::string text) {
    for (TextStep& any : steps) {
        text = std::visit(
            [&](auto& step) {
                std::string certain = step.feed(text);
                certain += step.finish();
                return certain;
            },
            any);
    }
    return text;
}

}  // namespace tokenmill::decode
