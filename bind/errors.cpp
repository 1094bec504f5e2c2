// errors: ErrorCode -> exception of tokenmill._errors, in one exhaustive switch.
#include "bind.h"

namespace tokenmill::bind {

namespace {

// Error::kNowhere is None for Python.
nb::object number_or_none(std::size_t value) {
    return value == Error::kNowhere ? nb::none() : nb::object(nb::int_(value));
}

// The exceptions are Python classes, which carry facts as attributes and write the message.
void raise(const char* name, const std::string& problem, const nb::dict& facts) {
    const nb::object type = nb::module_::import_("tokenmill._errors").attr(name);
    const nb::object error = type(problem, **facts);
    PyErr_SetObject(type.ptr(), error.ptr());
}

// A hint whose {} are options with their values: each face of the library spells them its own way.
template <typename... Values>
nb::object hint_with(const char* text, const char* option, Values... values) {
    const nb::object errors = nb::module_::import_("tokenmill._errors");
    return errors.attr("Hint")(text, errors.attr("Option")(option, values)...);
}

nb::dict place_of(const Error& error, const nb::object& hint) {
    nb::dict facts;
    facts["document"] = number_or_none(error.document);
    facts["offset"] = number_or_none(error.offset);
    facts["hint"] = hint;
    return facts;
}

nb::dict place_of(const Error& error, const char* hint) {
    return place_of(error, nb::str(hint));
}

nb::dict hint_only(const nb::object& hint) {
    nb::dict facts;
    facts["hint"] = hint;
    return facts;
}

nb::dict hint_only(const char* hint) {
    return hint_only(nb::str(hint));
}

void raise_special_token(const Error& error, const std::string& token) {
    nb::dict facts = place_of(error, hint_with("pass {} to make it the token, {} to keep it text",
                                               "special_in_text", "encode", "text"));
    facts["token"] = nb::str(token.c_str(), token.size());
    raise("SpecialTokenInText", "the text holds the special token " + token, facts);
}

void raise_unknown_id(const std::string& id) {
    nb::dict facts = hint_only("only ids below vocab_size can be decoded");
    facts["id"] = nb::int_(nb::str(id.c_str()));
    raise("UnknownId", "expected an id of the vocabulary, got " + id, facts);
}

// `sizes`: the bytes of the text and the limit, with a blank between them.
void raise_too_long(const std::string& sizes) {
    const std::size_t blank = sizes.find(' ');
    const std::string size = sizes.substr(0, blank);
    const std::string limit = sizes.substr(blank + 1);
    nb::dict facts = hint_only(hint_with("pass a larger {}", "max_bytes", nb::none()));
    facts["size"] = nb::int_(nb::str(size.c_str()));
    facts["limit"] = nb::int_(nb::str(limit.c_str()));
    raise("TextTooLong",
          "the text would have " + size + " bytes, at most " + limit + " are allowed", facts);
}

void raise_device_failed(const std::string& what) {
    nb::dict facts = hint_only("run it again with device='cpu', and report it");
    facts["reason"] = nb::str("device_failed");
    raise("DeviceError", "the device reported an error for " + what, facts);
}

// The switch names every code, so the compiler reports one without an exception.
void set_python_error(const Error& error) {
    const std::string text = error.what();
    switch (error.code) {
        case ErrorCode::Ok:
            break;
        case ErrorCode::InvalidUtf8:
            raise("InvalidUtf8", text,
                  place_of(error, hint_with("pass {}, or decode the bytes yourself", "errors",
                                            "replace")));
            return;
        case ErrorCode::NotText:
            raise("TextTypeError", text,
                  place_of(error, "texts are str, bytes-like, or an Arrow array of strings"));
            return;
        case ErrorCode::SpecialInText:
            raise_special_token(error, text);
            return;
        case ErrorCode::IdOutOfRange:
            raise_unknown_id(text);
            return;
        case ErrorCode::IdTooLargeForU16:
            raise("DtypeError", "uint16 holds ids up to 65535, this vocabulary goes up to " + text,
                  hint_only(hint_with("use {}", "dtype", "uint32")));
            return;
        case ErrorCode::OutputTooSmall:
            raise("OutputTooSmall", "the ids need room for " + text + " numbers",
                  hint_only("pass a larger array, or use encode_batch"));
            return;
        case ErrorCode::CorruptModel:
            raise("CorruptModel", text, hint_only("compile the tokenizer again"));
            return;
        case ErrorCode::BadSpec:
            raise("LoadError", text, nb::dict());
            return;
        case ErrorCode::TooLongForSpans:
            raise("EncodeError", "offsets need texts below 4 GiB, got " + text + " bytes",
                  place_of(error, "cut the text, or encode it without offsets"));
            return;
        case ErrorCode::BadArgument:
            raise("OptionError", text, nb::dict());
            return;
        case ErrorCode::DeadlineExceeded:
            raise("DeadlineExceeded", "the work took longer than the " + text + " s it was given",
                  hint_only(hint_with("pass a larger {}, or less text", "timeout", nb::none())));
            return;
        case ErrorCode::DeviceFailed:
            raise_device_failed(text);
            return;
        case ErrorCode::Cancelled:
            // The caller that cancelled it does not wait for it: this is not an error of ours.
            PyErr_SetString(nb::module_::import_("concurrent.futures").attr("CancelledError").ptr(),
                            text.c_str());
            return;
        case ErrorCode::TextTooLong:
            raise_too_long(text);
            return;
    }
    PyErr_SetString(PyExc_SystemError, text.c_str());
}

}  // namespace

void register_errors(nb::module_& m) {
    nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
        try {
            std::rethrow_exception(thrown);
        } catch (const Error& error) {
            set_python_error(error);
        }
    });
    // For the test that every code has its exception.
    m.def(
        "raise_error",
        [](int code, const std::string& text) {
            throw Error(static_cast<ErrorCode>(code), text, 3, 1);
        },
        nb::arg("code"), nb::arg("text"), "Raise the exception of an ErrorCode.");
    m.attr("ERROR_CODES") = static_cast<int>(ErrorCode::TextTooLong);
}

}  // namespace tokenmill::bind
