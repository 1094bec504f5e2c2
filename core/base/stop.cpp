#include "base/stop.h"

#include <sstream>
#include <string>

#include "base/error.h"

namespace tokenmill {

namespace {

std::string seconds_text(double seconds) {
    std::ostringstream text;  // std::to_string would write 0.020000
    text << seconds;
    return text.str();
}

}  // namespace

void Stop::check() const {
    if (due()) {
        throw is_cancelled() ? Error(ErrorCode::Cancelled, "cancelled")
                             : Error(ErrorCode::DeadlineExceeded, seconds_text(timeout_));
    }
}

}  // namespace tokenmill
