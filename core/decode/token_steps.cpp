// token_steps: steps over a row of tokens.
#include <utility>

#include "decode/steps.h"
#include "decode/utf8_text.h"

namespace tokenmill::decode {

void EachToken::feed(std::string token, Texts& out) {
    out.push_back(mapped(change, std::move(token)));
}

void FirstAndRest::feed(std::string token, Texts& out) {
    out.push_back(mapped(std::exchange(has_first, true) ? rest : first, std::move(token)));
}

void LastAndRest::feed(std::string token, Texts& out) {
    if (std::exchange(has_held, true)) {
        out.push_back(mapped(rest, std::move(held)));
    }
    held = std::move(token);
}

void LastAndRest::finish(Texts& out) {
    if (std::exchange(has_held, false)) {
        out.push_back(mapped(last, std::move(held)));
    }
}

void ByteRuns::feed(std::string token, Texts& out) {
    const int byte = byte_of(token);
    if (byte >= 0) {
        run.push_back(static_cast<char>(byte));
        return;
    }
    finish(out);
    out.push_back(std::move(token));
}

void ByteRuns::finish(Texts& out) {
    if (run.empty()) {
        return;
    }
    if (is_well_formed(run)) {
        out.push_back(run);
    } else {
        out.insert(out.end(), run.size(), std::string(kReplacement));
    }
    run.clear();
}

void WithoutRepeats::feed(std::string token, Texts& out) {
    if (has_before && token == before) {
        return;
    }
    has_before = true;
    before = token;
    std::string text = mapped(change, std::move(token));
    if (!text.empty()) {
        out.push_back(std::move(text));
    }
}

}  // namespace tokenmill::decode
