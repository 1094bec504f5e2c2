// append_bytes: ids -> bytes, through the table.
#include "decode/decode.h"

namespace tokenmill::decode {

void append_bytes(const vocab::VocabView& vocab, std::span<const TokenId> ids, std::string& out) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] >= vocab.token_count()) {
            throw Error(ErrorCode::IdOutOfRange, std::to_string(ids[i]), i);
        }
        const Bytes bytes = vocab.decode_bytes(ids[i]);
        out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
}

}  // namespace tokenmill::decode
