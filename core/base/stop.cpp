#include "base/stop.h"

#include <string>

#include "base/error.h"

namespace tokenmill {

void Stop::check() const {
    if (due()) {
        throw is_cancelled() ? Error(ErrorCode::Cancelled, "cancelled")
                             : Error(ErrorCode::DeadlineExceeded, std::to_string(timeout_));
    }
}

}  // namespace tokenmill
