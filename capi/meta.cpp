#include "meta.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "json.h"

namespace tokenmill::capi {

namespace {

using decode::DecodeStep;
using decode::DecodeStepKind;
using decode::PieceRules;

template <typename Enum, std::size_t kCount>
Enum choice(const Json& value, const std::pair<std::string_view, Enum> (&choices)[kCount]) {
    for (const auto& [name, meaning] : choices) {
        if (value.text() == name) {
            return meaning;
        }
    }
    throw Error(ErrorCode::CorruptModel, "meta data: unknown word \"" + value.text() + "\"");
}

constexpr std::pair<std::string_view, DecodeStepKind> kStepKinds[] = {
    {"byte_level", DecodeStepKind::ByteLevel},
    {"byte_fallback", DecodeStepKind::ByteFallback},
    {"fuse", DecodeStepKind::Fuse},
    {"strip", DecodeStepKind::Strip},
    {"replace", DecodeStepKind::Replace},
    {"metaspace", DecodeStepKind::Metaspace},
    {"wordpiece", DecodeStepKind::WordPiece},
    {"bpe", DecodeStepKind::WordEnd},
    {"ctc", DecodeStepKind::Ctc}};
constexpr std::pair<std::string_view, PieceRules::Strip> kStrips[] = {
    {"none", PieceRules::Strip::None},
    {"first", PieceRules::Strip::First},
    {"all", PieceRules::Strip::All}};
constexpr std::pair<std::string_view, Spelling> kSpellings[] = {
    {"utf-8", Spelling::Bytes}, {"alphabet", Spelling::Alphabet}, {"texts", Spelling::Texts}};

std::vector<TokenId> ids_of(const Json& list) {
    std::vector<TokenId> ids;
    if (!list.is_null()) {
        for (const Json& id : list.items()) {
            ids.push_back(id.number());
        }
    }
    return ids;
}

PieceRules pieces_of(const Json& rules) {
    PieceRules out;
    out.control_ids = ids_of(rules["control_ids"]);
    out.unk_id = rules["unk_id"].number();
    out.unk_surface = rules["unk_surface"].text();
    out.byte_ids = ids_of(rules["byte_ids"]);
    out.strip = choice(rules["strip"], kStrips);
    return out;
}

DecodeStep step_of(const Json& step) {
    return {choice(step["kind"], kStepKinds),
            step["a"].text(),
            step["b"].text(),
            step["left"].number(),
            step["right"].number(),
            step["flag"].truth()};
}

// A step that only the reference library can do, if there is one.
std::string hard_step(const Json& steps) {
    if (steps.is_null()) {
        return {};
    }
    const auto is_hard = [](const Json& step) { return step["kind"].text() == "replace_regex"; };
    const auto found = std::ranges::find_if(steps.items(), is_hard);
    return found == steps.items().end() ? std::string()
                                        : "the decoder's pattern " + (*found)["a"].text();
}

void read_decoding(const Json& decoding, ModelMeta& out) {
    for (const Json& reason : decoding["reasons"].items()) {
        out.only_library += (out.only_library.empty() ? "" : "; ") + reason.text();
    }
    if (out.only_library.empty()) {
        out.only_library = hard_step(decoding["steps"]);
    }
    if (!out.only_library.empty()) {
        return;
    }
    out.decoding.on_texts = decoding["on_texts"].truth();
    if (!decoding["pieces"].is_null()) {
        out.decoding.pieces = pieces_of(decoding["pieces"]);
    }
    if (!decoding["steps"].is_null()) {
        auto& steps = out.decoding.steps.emplace();
        for (const Json& step : decoding["steps"].items()) {
            steps.push_back(step_of(step));
        }
    }
    out.decoding.empty_ids = ids_of(decoding["empty"]);
    std::ranges::sort(out.decoding.empty_ids);
}

}  // namespace

ModelMeta read_meta(Bytes meta) {
    const auto size = static_cast<std::size_t>(std::ranges::find(meta, 0) - meta.begin());
    const std::string_view text(reinterpret_cast<const char*>(meta.data()), size);
    const std::size_t line = std::min(text.find('\n'), text.size());
    ModelMeta out;
    out.json = text.substr(0, line);
    const Json head = Json::parse(out.json);
    read_decoding(head["decoding"], out);
    for (const auto& [content, id] : head["special_tokens"].members()) {
        out.special_ids.push_back(id.number());
        out.decoding.special_texts.insert(content);
    }
    out.decoding.special_ids = out.special_ids;
    out.spelling = choice(head["spelling"], kSpellings);
    const Json added = Json::parse(text.substr(std::min(line + 1, text.size())));
    for (const auto& [content, id] : added.members()) {
        out.added.insert_or_assign(content, id.number());
        out.contents.insert_or_assign(id.number(), content);
    }
    return out;
}

}  // namespace tokenmill::capi
