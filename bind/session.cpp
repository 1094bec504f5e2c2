// session: a text that grows -> the methods of _core.Session.
#include "pipeline/session.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/unique_ptr.h>

#include <cstring>
#include <memory>
#include <mutex>
#include <optional>

#include "arrays.h"
#include "options.h"

namespace tokenmill::bind {

unsigned available_threads() {
    const nb::object available = nb::module_::import_("tokenmill._calls.threads").attr("available");
    return nb::cast<unsigned>(available());
}

namespace {

using pipeline::Growth;
using pipeline::Session;

// For tests: cuts wherever there can be one, and blocks of a few words.
pipeline::SessionSizes sizes_of(std::optional<std::size_t> most, bool small_steps) {
    pipeline::SessionSizes sizes;
    if (small_steps) {
        sizes = {1, 32, 64, 16};
    }
    sizes.most = most.value_or(sizes.most);
    return sizes;
}

// A session, its model, and a lock: calls from several threads wait for each other.
class BoundSession {
public:
    BoundSession(nb::object model, bool add_special_tokens, int special_mode, int errors,
                 std::optional<std::size_t> max_bytes, bool small_steps)
        : model_(std::move(model)),
          session_(model_of(model_),
                   options_of(add_special_tokens, special_mode, errors, nullptr,
                              static_cast<int>(available_threads())),
                   sizes_of(max_bytes, small_steps)) {}
    BoundSession(nb::object model, const Session& other)
        : model_(std::move(model)), session_(other) {}

    // (how many ids stay, the ids after them)
    std::pair<std::size_t, nb::object> append(nb::handle text, const Stop* stop) {
        const OneText held(text);
        return change(held.view(), [&] { return session_.append(held.view(), stop); });
    }

    std::pair<std::size_t, nb::object> replace_tail(std::size_t count, nb::handle text,
                                                    bool in_characters, const Stop* stop) {
        const OneText held(text);
        return change(held.view(), [&] {
            return session_.replace_tail(count, in_characters, held.view(), stop);
        });
    }

    std::unique_ptr<BoundSession> fork() {
        const auto lock = take();
        return std::make_unique<BoundSession>(model_, session_);
    }

    nb::object ids() {
        const auto lock = take();
        const std::size_t count = session_.id_count();
        PageBuffer memory(count * sizeof(TokenId) + 1);
        session_.copy_ids(memory.as<TokenId>());
        return array_of(std::move(memory), count, 32, Spares::Ids);
    }

    nb::bytes text() {
        const auto lock = take();
        nb::bytes out = nb::steal<nb::bytes>(
            PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(session_.text_size())));
        if (!out.is_valid()) {
            nb::raise_python_error();
        }
        session_.copy_text(reinterpret_cast<std::uint8_t*>(PyBytes_AS_STRING(out.ptr())));
        return out;
    }

    std::size_t id_count() {
        const auto lock = take();
        return session_.id_count();
    }
    std::size_t text_size() {
        const auto lock = take();
        return session_.text_size();
    }
    std::size_t pending_size() {
        const auto lock = take();
        return session_.pending_size();
    }
    std::size_t memory() {
        const auto lock = take();
        return session_.memory();
    }
    const std::string& reason() const { return session_.reason(); }

private:
    // A thread that waits does not hold the GIL, which the other thread may need to finish.
    std::unique_lock<std::mutex> take() {
        std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
        if (!lock.owns_lock()) {
            const nb::gil_scoped_release unlocked;
            lock.lock();
        }
        return lock;
    }

    // A tail may be longer than the text, but rarely is.
    template <typename Work>
    std::pair<std::size_t, nb::object> change(const pipeline::Text& text, Work work) {
        const auto lock = take();
        Growth growth{};
        if (text.size <= kKeepGil && session_.tail_size() <= kKeepGil) {
            growth = work();
        } else {
            const nb::gil_scoped_release unlocked;
            growth = work();
        }
        void* data = nullptr;
        nb::object array = empty_array(Number::U32, growth.ids.size(), data);
        if (!growth.ids.empty()) {
            std::memcpy(data, growth.ids.data(), growth.ids.size_bytes());
        }
        return {growth.keep, array};
    }

    nb::object model_;  // keeps what the session borrows
    Session session_;
    std::mutex mutex_;
};

}  // namespace

void register_session(nb::module_& m) {
    const auto stop = nb::arg("stop").none() = nb::none();
    nb::class_<BoundSession>(m, "Session", "A text that grows, and its ids.")
        .def(nb::init<nb::object, bool, int, int, std::optional<std::size_t>, bool>(),
             nb::arg("model"), nb::arg("add_special_tokens") = false, nb::arg("special_mode") = 0,
             nb::arg("errors") = 0, nb::arg("max_bytes").none() = nb::none(),
             nb::arg("small_steps") = false)
        .def("append", &BoundSession::append, nb::arg("text").none(), stop)
        .def("replace_tail", &BoundSession::replace_tail, nb::arg("count"), nb::arg("text").none(),
             nb::arg("in_characters") = true, stop)
        .def("fork", &BoundSession::fork)
        .def_prop_ro("ids", &BoundSession::ids)
        .def_prop_ro("text_bytes", &BoundSession::text)
        .def_prop_ro("n_ids", &BoundSession::id_count)
        .def_prop_ro("n_bytes", &BoundSession::text_size)
        .def_prop_ro("n_pending", &BoundSession::pending_size)
        .def_prop_ro("memory", &BoundSession::memory)
        .def_prop_ro("reason", &BoundSession::reason);
}

}  // namespace tokenmill::bind
