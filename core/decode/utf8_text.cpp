#include "decode/utf8_text.h"

#include "base/utf8.h"
#include "decode/decode.h"

namespace tokenmill::decode {

namespace {

std::uint8_t byte_at(std::string_view bytes, std::size_t i) noexcept {
    return static_cast<std::uint8_t>(bytes[i]);
}

}  // namespace

Utf8Piece first_piece(std::string_view bytes) noexcept {
    const std::uint8_t lead = byte_at(bytes, 0);
    if (lead < 0x80) {
        return {Utf8Kind::Whole, 1};
    }
    if (!is_lead(lead)) {
        return {Utf8Kind::Broken, 1};
    }
    const std::size_t size = char_size(lead);
    for (std::size_t i = 1; i < size; ++i) {
        if (i == bytes.size()) {
            return {Utf8Kind::Incomplete, i};
        }
        const std::uint8_t next = byte_at(bytes, i);
        if (i == 1 ? !may_follow(lead, next) : !is_continuation(next)) {
            return {Utf8Kind::Broken, i};
        }
    }
    return {Utf8Kind::Whole, size};
}

bool is_well_formed(std::string_view bytes) noexcept {
    while (!bytes.empty()) {
        const Utf8Piece piece = first_piece(bytes);
        if (piece.kind != Utf8Kind::Whole) {
            return false;
        }
        bytes.remove_prefix(piece.size);
    }
    return true;
}

std::string as_text(std::string_view bytes) {
    std::string out;
    Utf8Joiner joiner;
    joiner.feed(bytes, out);
    joiner.finish(out);
    return out;
}

std::size_t Utf8Joiner::write(std::string_view bytes, std::string& out) {
    std::size_t at = 0;
    std::size_t copied = 0;  // bytes up to here are in `out`
    while (at < bytes.size()) {
        if (byte_at(bytes, at) < 0x80) {
            ++at;
            continue;
        }
        const Utf8Piece piece = first_piece(bytes.substr(at));
        if (piece.kind == Utf8Kind::Incomplete) {
            break;
        }
        if (piece.kind == Utf8Kind::Broken) {
            out.append(bytes.substr(copied, at - copied)).append(kReplacement);
            copied = at + piece.size;
        }
        at += piece.size;
    }
    out.append(bytes.substr(copied, at - copied));
    return at;
}

void Utf8Joiner::feed(std::string_view bytes, std::string& out) {
    if (held_.empty()) {
        held_ = bytes.substr(write(bytes, out));
        return;
    }
    held_.append(bytes);
    held_.erase(0, write(held_, out));
}

void Utf8Joiner::finish(std::string& out) {
    if (!held_.empty()) {
        out.append(kReplacement);
        held_.clear();
    }
}

}  // namespace tokenmill::decode
