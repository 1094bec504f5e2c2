// method: a method of Python whose plain calls run in the core.
#pragma once

#include "bind.h"

namespace tokenmill::bind {

// The ids of a short str or bytes as an array, as Model.encode(text, add_special_tokens) gives
// them. Null where the call is another one: `model` is not a Model, the text is of another kind
// or long, or an error is to be raised. No Python error is set then.
[[nodiscard]] PyObject* encode_short(PyObject* model, PyObject* text,
                                     bool add_special_tokens) noexcept;

}  // namespace tokenmill::bind
