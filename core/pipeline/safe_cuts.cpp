// safe_cuts: where a text that still grows may be cut for good.
#include "pipeline/safe_cuts.h"

#include <algorithm>

#include "base/utf8.h"
#include "unicode/unicode.h"

namespace tokenmill::pipeline {

namespace {

constexpr std::uint8_t kWhiteBit = 1;  // of AddedView::classes()
constexpr std::uint8_t kWordBit = 2;

std::vector<std::uint8_t> bytes_of(std::uint32_t code) {
    std::uint8_t out[4];
    const auto size = encode_char(code, out);
    return {out, out + size};
}

std::vector<std::uint32_t> characters_of(Bytes text) {
    std::vector<std::uint32_t> out;
    for (std::size_t at = 0; at < text.size();) {
        const TmU32 size = char_size(text[at]);
        out.push_back(decode_char(text.data() + at, size));
        at += size;
    }
    return out;
}

bool is_white(std::uint32_t code) noexcept {
    return code <= 0x20 || code == 0x7F || unicode::is_white_space(code);
}

bool is_printable(std::uint32_t code) noexcept {
    return code >= 0x20 && code < 0x7F;
}

// Text in the middle of another: nothing is put in front, and its start is not trimmed.
normalize::Program without_start(const normalize::Program& program) {
    std::vector<normalize::Step> steps;
    for (normalize::Step step : program.steps) {
        if (step.kind == normalize::StepKind::Strip) {
            step.left = false;
        }
        if (step.kind != normalize::StepKind::Prepend) {
            steps.push_back(std::move(step));
        }
    }
    return normalize::make_program(std::move(steps));
}

}  // namespace

// A child comes after its parent, so one pass knows the first byte of every text. No recursion: a
// token may be as long as its file.
TokenEdges::TokenEdges(const split::AddedMatcher& matcher,
                       std::span<const split::AddedToken> tokens) {
    const auto nodes = matcher.nodes();
    const auto edges = matcher.edges();
    std::vector<std::uint8_t> starts(nodes.size());
    for (std::uint32_t node = 0; node < nodes.size(); ++node) {
        for (std::uint32_t k = 0; k < nodes[node].child_count; ++k) {
            const std::uint32_t child = nodes[node].first_child + k;
            starts[child] = node == 0 ? edges[child] : starts[node];
            if (node != 0) {
                inside.set(std::size_t{edges[node]} << 8 | edges[child]);
            }
            if (nodes[child].token != 0) {
                add_end(node == 0 ? -1 : int{edges[node]}, edges[child], starts[child],
                        tokens[nodes[child].token - 1].flags);
            }
        }
    }
}

// A token that ends with these two bytes; `before` is -1 if it has only one.
void TokenEdges::add_end(int before, std::uint8_t byte, std::uint8_t start, std::uint32_t flags) {
    last.set(byte);
    for (int any = 0; any < 256; ++any) {
        if (before == any || before < 0) {
            ends.set(static_cast<std::size_t>(any) << 8 | byte);
        }
    }
    strips_left |= (flags & split::kStripLeft) != 0;
    if ((flags & split::kSingleWord) != 0) {
        single_words.set(start);
    }
    if ((flags & split::kStripRight) != 0) {
        strips_right = true;
        strips_right_after.set(byte);
    }
}

bool TokenEdges::reach_over(const split::ClassTable& classes, std::uint32_t left,
                            std::uint32_t right) const noexcept {
    std::uint8_t l[4];
    std::uint8_t r[4];
    const std::uint8_t end = l[encode_char(left, l) - 1];
    encode_char(right, r);
    const bool is_left_white = (classes.of(left) & kWhiteBit) != 0;
    const bool is_right_white = (classes.of(right) & kWhiteBit) != 0;
    return inside.test(std::size_t{end} << 8 | r[0]) || (strips_left && is_left_white) ||
           (strips_right && is_right_white && (is_left_white || strips_right_after.test(end))) ||
           (single_words.test(r[0]) && (classes.of(left) & kWordBit) != 0);
}

SafeCuts::SafeCuts(const Model& model)
    : model_(model),
      rewriter_(without_start(model.rewriter_)),
      respeller_(without_start(model.respeller_)),
      raw_(model.added_.raw, model.added_.tokens),
      normal_(model.added_.normal, model.added_.tokens),
      puts_front_(model.prefix_space_ == PrefixSpace::Always || !model.prepended_.empty()) {
    read_steps(model.rewriter_);
    read_steps(model.respeller_);
    if (model.vocab_.scalars().whole_text != 0) {
        reason_ = "the ids of a text depend on all of it";
    } else if (model.split_.stage_count == 0 &&
               model.split_.rule.family != split::Family::Adjacent) {
        reason_ = "texts are not split into words";
    } else if (model.split_.splits_chars) {
        reason_ = "the split cuts characters";
    }
    if (!reason_.empty()) {
        return;
    }
    for (std::uint32_t code = 0; code < 128; ++code) {
        ascii_[code].rewritten = image_of(rewriter_, code);
        ascii_[code].respelled =
            ascii_[code].rewritten == kNone ? kNone : image_of(respeller_, ascii_[code].rewritten);
    }
    bool has_any = false;
    for (std::uint32_t left = 0; left < 128; ++left) {
        for (std::uint32_t right = 0; right < 128; ++right) {
            pairs_[left][right] = is_safe_pair(left, right);
            has_any |= pairs_[left][right];
        }
    }
    if (!has_any) {
        reason_ = "no two characters always are of different words";
    }
}

void SafeCuts::read_steps(const normalize::Program& program) {
    std::vector<normalize::Step> before;
    for (const normalize::Step& step : program.steps) {
        switch (step.kind) {
            case normalize::StepKind::Sentence:
                reason_ = "the normalizer looks at whole texts";
                return;
            case normalize::StepKind::ReplacePattern:
                reason_ = "the normalizer replaces a pattern";
                return;
            case normalize::StepKind::Nfc:
            case normalize::StepKind::Nfd:
            case normalize::StepKind::Nfkc:
            case normalize::StepKind::Nfkd:
                has_forms_ = true;
                break;
            case normalize::StepKind::CharsMap:
                has_map_ = true;
                break;
            case normalize::StepKind::Squeeze:
                squeezes_ = trims_ = puts_front_ = true;
                break;
            case normalize::StepKind::Strip:
                trims_ = puts_front_ = true;
                break;
            case normalize::StepKind::Prepend:
                puts_front_ = true;
                break;
            case normalize::StepKind::Replace:
                if (step.from.size() != char_size(step.from[0])) {
                    const auto from = characters_of(step.from);
                    const auto to = characters_of(step.to);
                    const bool keeps = !to.empty() && to[0] == from[0];
                    literals_.push_back({without_start(normalize::make_program(before)), from[0],
                                         from.back(), from, keeps});
                }
                break;
            default:
                break;
        }
        before.push_back(step);
    }
}

// Between two letters, because the ends of a text may be special:
//
//   run("a")    F a'            F: what the program puts in front
//   run("a?a")  F a' image a'
std::uint32_t SafeCuts::image_of(const normalize::Program& program, std::uint32_t code) const {
    if (program.steps.empty()) {
        return code;
    }
    const std::vector<std::uint8_t> written = bytes_of(code);
    if (code >= 0x80) {
        constexpr auto kJoins = static_cast<unicode::Flags>(unicode::kCombines | unicode::kMaybe);
        const bool is_apart = !has_map_ && (unicode::flags_of(code) & kJoins) == 0;
        return is_apart && normalize::is_identity(program, written) ? code : kNone;
    }
    std::vector<std::uint8_t> text{'a'};
    normalize::Buffer front;
    normalize::run(program, text, front);
    text.insert(text.end(), written.begin(), written.end());
    text.push_back('a');
    normalize::Buffer found;
    normalize::run(program, text, found);
    if (front.empty() || !std::equal(front.begin(), front.end(), found.begin(),
                                     found.begin() + static_cast<std::ptrdiff_t>(
                                                         std::min(front.size(), found.size())))) {
        return kNone;
    }
    const auto middle = characters_of(Bytes(found).subspan(front.size()));
    const std::uint32_t frame = characters_of(front).back();
    return middle.size() == 2 && middle[1] == frame ? middle[0] : kNone;
}

SafeCuts::Image SafeCuts::image_of(std::uint32_t code) const {
    if (code < 128) {
        return ascii_[code];
    }
    const std::uint32_t rewritten = image_of(rewriter_, code);
    return {rewritten, rewritten == kNone ? kNone : image_of(respeller_, rewritten)};
}

// Does no literal end with L, lie across the cut, or change R?
bool SafeCuts::keeps_literals(std::uint32_t left, std::uint32_t right) const {
    return std::all_of(literals_.begin(), literals_.end(), [&](const Literal& literal) {
        const std::uint32_t l = image_of(literal.before, left);
        const std::uint32_t r = image_of(literal.before, right);
        if (l == kNone || r == kNone || l == literal.last ||
            (r == literal.first && !literal.keeps_first)) {
            return false;
        }
        const auto& all = literal.characters;
        for (std::size_t i = 0; i + 1 < all.size(); ++i) {
            if (all[i] == l && all[i + 1] == r) {
                return false;
            }
        }
        return true;
    });
}

// All that depends on the two characters at the cut alone.
bool SafeCuts::is_safe_pair(std::uint32_t left, std::uint32_t right) const {
    const Image l = image_of(left);
    const Image r = image_of(right);
    if (l.respelled == kNone || r.respelled == kNone ||
        !model_.split_.is_sync(l.respelled, r.respelled)) {
        return false;
    }
    if ((trims_ && is_white(left)) || (squeezes_ && right != ' ')) {
        return false;
    }
    const split::ClassTable& classes = model_.added_.classes();
    return !raw_.reach_over(classes, left, right) &&
           !normal_.reach_over(classes, l.rewritten, r.rewritten) && keeps_literals(left, right);
}

// Could an added token end with `left`?
bool SafeCuts::may_end_token(std::uint32_t before, std::uint32_t left) const {
    const std::vector<std::uint8_t> l = bytes_of(left);
    std::uint8_t previous = 0;
    if (l.size() > 1) {
        previous = l[l.size() - 2];
    } else if (before != kNone) {
        previous = bytes_of(before).back();
    } else if (raw_.last.test(l.back())) {
        return true;
    }
    const std::uint32_t image = image_of(left).rewritten;
    return raw_.ends.test(std::size_t{previous} << 8 | l.back()) ||
           normal_.last.test(bytes_of(image).back());
}

bool SafeCuts::is_safe(const Around& around) const {
    const bool is_ascii = around.left < 128 && around.right < 128;
    if (is_ascii ? !pairs_[around.left][around.right] : !is_safe_pair(around.left, around.right)) {
        return false;
    }
    if (has_map_ &&
        !(around.before != kNone && is_printable(around.before) && is_printable(around.left) &&
          is_printable(around.right) && is_printable(around.after))) {
        return false;
    }
    if (squeezes_ && is_white(around.after)) {
        return false;
    }
    if (has_forms_) {
        constexpr auto kJoins = static_cast<unicode::Flags>(unicode::kCombines | unicode::kMaybe);
        if ((unicode::flags_of(around.after) & kJoins) != 0) {
            return false;
        }
    }
    return !puts_front_ || !may_end_token(around.before, around.left);
}

std::size_t SafeCuts::find_last(Bytes text, std::size_t from) const {
    if (!reason_.empty() || text.empty()) {
        return 0;
    }
    const auto previous = [&](std::size_t at) {
        do {
            --at;
        } while (at > 0 && is_continuation(text[at]));
        return at;
    };
    const auto code_at = [&](std::size_t at) {
        return std::uint32_t{decode_char(text.data() + at, char_size(text[at]))};
    };
    std::size_t at = previous(text.size());
    std::uint32_t after = code_at(at);
    if (at <= from) {
        return 0;
    }
    at = previous(at);
    std::uint32_t right = code_at(at);
    while (at > from) {
        const std::size_t place = previous(at);
        const std::uint32_t left = code_at(place);
        const std::uint32_t before = place == 0 ? kNone : code_at(previous(place));
        if (is_safe({before, left, right, after})) {
            return at;
        }
        after = right;
        right = left;
        at = place;
    }
    return 0;
}

}  // namespace tokenmill::pipeline
