// module: tokenmill._core, the table of contents.
#include "bind.h"

NB_MODULE(_core, m) {
    m.doc() = "The compiled core of tokenmill. Private: use tokenmill.Tokenizer.";
#if !defined(TOKENMILL_ASSERTIONS) && defined(NDEBUG)
    // A tokenizer that a module or a cache still holds when Python exits is not a leak that a user
    // could fix, so releases keep quiet about it. Debug and sanitizer builds report it.
    nb::set_leak_warnings(false);
#endif
    tokenmill::bind::register_errors(m);
    tokenmill::bind::register_compile(m);
    tokenmill::bind::register_texts(m);
    tokenmill::bind::register_model(m);
    tokenmill::bind::register_normalize(m);
    tokenmill::bind::register_pack(m);
    tokenmill::bind::register_read(m);
    tokenmill::bind::register_pairs(m);
}
