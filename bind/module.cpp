// module: tokenmill._core, the table of contents.
#include "bind.h"

NB_MODULE(_core, m) {
    m.doc() = "The compiled core of tokenmill. Private: use tokenmill.Tokenizer.";
    // A tokenizer that a module, a cache or a daemon thread still holds when Python exits is not a
    // leak that a user could fix, so releases keep quiet about it. Debug and sanitizer builds
    // report it, for developers.
#if defined(TOKENMILL_ASSERTIONS) || !defined(NDEBUG)
    constexpr bool kReportsLeaks = true;
#else
    constexpr bool kReportsLeaks = false;
#endif
    nb::set_leak_warnings(kReportsLeaks);
    m.attr("REPORTS_LEAKS") = kReportsLeaks;
    tokenmill::bind::register_errors(m);
    tokenmill::bind::register_stop(m);
    tokenmill::bind::register_counts(m);
    tokenmill::bind::register_compile(m);
    tokenmill::bind::register_texts(m);
    tokenmill::bind::register_mill(m);
    tokenmill::bind::register_line_device(m);
    tokenmill::bind::register_gather(m);
    tokenmill::bind::register_model(m);
    tokenmill::bind::register_process(m);
    tokenmill::bind::register_method(m);
    tokenmill::bind::register_session(m);
    tokenmill::bind::register_parts(m);
    tokenmill::bind::register_cache(m);
    tokenmill::bind::register_normalize(m);
    tokenmill::bind::register_pack(m);
    tokenmill::bind::register_read(m);
    tokenmill::bind::register_pairs(m);
    tokenmill::bind::register_wire(m);
    tokenmill::bind::register_document(m);
}
