#include "decode/pieces.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "decode/mapping.h"
#include "decode/utf8_text.h"

namespace tokenmill::decode {

namespace {
constexpr std::string_view kMarker = "\xE2\x96\x81";  // U+2581
}

PieceTable::PieceTable(const vocab::VocabView& vocab, std::size_t id_count, PieceRules rules)
    : vocab_(vocab), rules_(std::move(rules)) {
    const bool has_bytes = !rules_.byte_ids.empty();
    if (rules_.unk_id >= id_count || (has_bytes && rules_.byte_ids.size() != 256)) {
        throw Error(ErrorCode::BadSpec, "decoder: pieces that contradict each other");
    }
    std::ranges::sort(rules_.control_ids);
    for (std::size_t byte = 0; byte < rules_.byte_ids.size(); ++byte) {
        bytes_.insert_or_assign(rules_.byte_ids[byte], static_cast<std::uint8_t>(byte));
    }
}

bool PieceTable::is_control(TokenId id) const noexcept {
    return std::ranges::binary_search(rules_.control_ids, id);
}

int PieceTable::byte_of(TokenId id) const noexcept {
    const auto found = bytes_.find(id);
    return found == bytes_.end() ? -1 : found->second;
}

std::string PieceTable::written(TokenId id) const {
    if (id == rules_.unk_id) {
        return rules_.unk_surface;
    }
    return is_control(id) ? std::string() : replaced(text_of(id), kMarker, " ");
}

bool PieceTable::begins_with_marker(TokenId id) const {
    return id != rules_.unk_id && !is_control(id) && text_of(id).starts_with(kMarker);
}

std::string_view PieceTable::text_of(TokenId id) const noexcept {
    const Bytes bytes = vocab_.decode_bytes(id);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void PieceRun::push(TokenId id, std::string& out) {
    const int byte = table_->byte_of(id);
    if (byte >= 0) {
        has_written_ = true;
        bytes_.push_back(static_cast<char>(byte));
        take_bytes(false, out);
        return;
    }
    take_bytes(true, out);
    std::string written = table_->written(id);
    if (strips_ && !has_written_ && table_->begins_with_marker(id)) {
        written.erase(0, 1);
        strips_ = table_->strip() == PieceRules::Strip::All;
    }
    has_written_ |= !written.empty();
    out += written;
}

// What is complete, with U+FFFD for each single byte that is wrong.
void PieceRun::take_bytes(bool is_final, std::string& out) {
    std::string_view rest = bytes_;
    while (!rest.empty()) {
        const Utf8Piece piece = first_piece(rest);
        if (piece.kind == Utf8Kind::Whole) {
            out.append(rest.substr(0, piece.size));
            rest.remove_prefix(piece.size);
            continue;
        }
        if (piece.kind == Utf8Kind::Incomplete && !is_final) {
            break;
        }
        out.append(kReplacement);
        rest.remove_prefix(1);
    }
    bytes_ = std::string(rest);
}

}  // namespace tokenmill::decode
