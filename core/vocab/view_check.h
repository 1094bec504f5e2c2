// What the files that view a vocabulary share. Internal to vocab.
#pragma once

namespace tokenmill::vocab {

// Throws Error(CorruptModel).
[[noreturn]] void corrupt(const char* problem);

}  // namespace tokenmill::vocab
