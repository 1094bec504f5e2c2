// cache: the segment cache of the core -> _core.SegmentCache.
#include "cache/cache.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "arrays.h"
#include "options.h"

namespace tokenmill::bind {

namespace {

using cache::CacheSettings;
using cache::Call;

nb::bytes bytes_of(const Hash128& hash) {
    std::uint8_t raw[sizeof(hash)];
    std::memcpy(raw, &hash, sizeof(hash));
    return bind::bytes_of(Bytes(raw));
}

// Many ids go to pages of earlier results, as those of Model.encode do.
nb::object array_of_ids(std::span<const TokenId> ids) {
    constexpr std::size_t kFew = std::size_t{1} << 16;
    if (ids.size() > kFew) {
        PageBuffer memory;
        {
            const nb::gil_scoped_release unlocked;
            memory = take_spare(ids.size_bytes(), Spares::Ids);
            std::memcpy(memory.data(), ids.data(), ids.size_bytes());
        }
        return array_of(std::move(memory), ids.size(), 32, Spares::Ids);
    }
    void* data = nullptr;
    nb::object array = empty_array(Number::U32, ids.size(), data);
    if (!ids.empty()) {
        std::memcpy(data, ids.data(), ids.size_bytes());
    }
    return array;
}

const pipeline::Model& model_of(nb::handle model) {
    const pipeline::Model* const found = native_model(model);
    if (found == nullptr) {
        throw nb::type_error("model: expected a _core.Model");
    }
    return *found;
}

nb::dict dict_of(const cache::ModelBook& book) {
    const cache::Counts counts = book.read();
    nb::dict out;
    out["model"] = bytes_of(book.model);
    out["lookups"] = counts.lookups;
    out["hits"] = counts.hits;
    out["hit_bytes"] = counts.hit_bytes;
    out["hit_tokens"] = counts.hit_tokens;
    out["stored"] = counts.stored;
    out["collisions"] = counts.collisions;
    out["checked"] = counts.checked;
    out["differences"] = counts.differences;
    out["other_lookups"] = counts.other_lookups;
    out["other_hits"] = counts.other_hits;
    out["other_hit_tokens"] = counts.other_hit_tokens;
    out["other_damaged"] = counts.other_damaged;
    out["plain"] = counts.plain;
    out["long_texts"] = counts.long_texts;
    out["seconds_per_byte"] = book.rate.per_byte();
    out["saved_seconds"] = book.memory.saved();
    out["is_on"] = book.memory.is_on();
    out["switched_off"] = book.memory.switched_off();
    out["other_saved_seconds"] = book.other.saved();
    out["other_is_on"] = book.other.is_on();
    return out;
}

class BoundCache {
public:
    BoundCache(std::size_t budget_bytes, std::size_t min_bytes, std::size_t cut_bytes,
               std::size_t other_bytes, std::uint32_t verify, const nb::bytes& seed,
               bool switches_off)
        : cache_(settings_of(budget_bytes, min_bytes, cut_bytes, other_bytes, verify, seed,
                             switches_off)) {}

    // None where the caller encodes plainly: looking up does not pay, or threads share the text.
    // `disk` has fetch(keys) and store(records), or is None.
    nb::object encode_cached(nb::handle model, nb::handle text, bool add_special_tokens,
                             int special_mode, int errors, const Stop* stop, nb::handle disk) {
        const pipeline::Model& core = model_of(model);
        const OneText held(text);
        const auto options = options_of(add_special_tokens, special_mode, errors, stop);
        if (!Call::is_worth(cache_, core, held.view())) {
            return nb::none();
        }
        std::unique_ptr<Call> call;
        std::span<const TokenId> ids;
        {
            const nb::gil_scoped_release unlocked;
            call = std::make_unique<Call>(cache_, core, held.view(), options);
            if (call->is_for_threads()) {
                call.reset();
            } else if (disk.is_none()) {
                ids = call->finish();
            }
        }
        if (call == nullptr) {
            return nb::none();
        }
        if (!disk.is_none()) {
            fetch(*call, disk);
            {
                const nb::gil_scoped_release unlocked;
                ids = call->finish();
            }
            store(*call, disk);
        }
        return array_of_ids(ids);
    }

    // To warm it: (key, bytes of text) of each segment that would be looked up.
    std::vector<std::pair<nb::bytes, std::size_t>> segments(nb::handle model, nb::handle text) {
        const OneText held(text);
        Call call(cache_, model_of(model), held.view(), options_of(false, 0, 1, nullptr));
        std::vector<std::pair<nb::bytes, std::size_t>> found;
        for (const Call::Missing& one : call.segments()) {
            found.emplace_back(bytes_of(one.hash), one.key.text.size());
        }
        return found;
    }

    // Encodes and stores one of them, unless it is there.
    void warm(nb::handle model, nb::handle text, const nb::bytes& key, nb::handle disk) {
        const pipeline::Model& core = model_of(model);
        const OneText held(text);
        Hash128 wanted;
        if (key.size() != sizeof(wanted)) {
            throw Error(ErrorCode::BadArgument, "key: expected 16 bytes");
        }
        std::memcpy(&wanted, key.c_str(), sizeof(wanted));
        const auto options = options_of(false, 0, 1, nullptr);
        std::unique_ptr<Call> call;
        {
            const nb::gil_scoped_release unlocked;
            call = std::make_unique<Call>(cache_, core, held.view(), options);
            call->store(wanted);
        }
        if (!disk.is_none()) {
            store(*call, disk);
        }
    }

    static nb::bytes fingerprint(nb::handle model) {
        return bytes_of(model_of(model).fingerprint());
    }

    void clear() {
        const nb::gil_scoped_release unlocked;
        cache_.clear();
    }
    void resize(std::size_t budget_bytes) {
        const nb::gil_scoped_release unlocked;
        cache_.resize(budget_bytes);
    }
    void after_fork() { cache_.after_fork(); }

    nb::dict use() {
        const cache::ShardUse use = cache_.use();
        nb::dict out;
        out["bytes"] = use.bytes;
        out["budget"] = cache_.budget();
        out["entries"] = use.entries;
        out["evictions"] = use.evictions;
        out["refused"] = use.refused;
        out["busy"] = use.busy;
        return out;
    }
    std::vector<nb::dict> models() const {
        std::vector<nb::dict> out;
        for (const cache::ModelBook* book : cache_.books()) {
            out.push_back(dict_of(*book));
        }
        return out;
    }

private:
    static CacheSettings settings_of(std::size_t budget_bytes, std::size_t min_bytes,
                                     std::size_t cut_bytes, std::size_t other_bytes,
                                     std::uint32_t verify, const nb::bytes& seed,
                                     bool switches_off) {
        CacheSettings settings;
        if (seed.size() != sizeof(settings.seed)) {
            throw Error(ErrorCode::BadArgument,
                        "seed: expected 16 bytes, got " + std::to_string(seed.size()));
        }
        std::memcpy(settings.seed, seed.c_str(), sizeof(settings.seed));
        settings.budget_bytes = budget_bytes;
        settings.min_bytes = min_bytes;
        settings.cut_bytes = cut_bytes;
        settings.other_bytes = other_bytes;
        settings.verify = verify;
        settings.switches_off = switches_off;
        return settings;
    }

    // The records are borrowed from the objects that fetch() returns.
    static void fetch(Call& call, nb::handle disk) {
        const auto missing = call.missing();
        if (missing.empty()) {
            return;
        }
        const cache::Seconds begin = cache::now();
        nb::list keys;
        for (const auto& one : missing) {
            keys.append(bytes_of(one.hash));
        }
        const nb::list found = nb::cast<nb::list>(disk.attr("fetch")(keys));
        nb::list damaged;
        for (std::size_t i = 0; i < std::min(found.size(), missing.size()); ++i) {
            if (!found[i].is_none() && !call.give(i, view_of(nb::cast<nb::bytes>(found[i])))) {
                damaged.append(keys[i]);
            }
        }
        if (damaged.size() != 0) {
            disk.attr("refuse")(damaged);
        }
        call.other_took(cache::now() - begin);
    }

    static void store(const Call& call, nb::handle disk) {
        if (call.stored().empty()) {
            return;
        }
        nb::list records;
        for (const Call::Stored& one : call.stored()) {
            const auto record = cache::record_of(*one.entry);
            records.append(nb::make_tuple(bytes_of(one.hash), bind::bytes_of(record)));
        }
        disk.attr("store")(records);
    }

    cache::SegmentCache cache_;
};

}  // namespace

void register_cache(nb::module_& m) {
    nb::class_<BoundCache>(m, "SegmentCache", "Ids of segments of text, within a byte budget.")
        .def(nb::init<std::size_t, std::size_t, std::size_t, std::size_t, std::uint32_t,
                      const nb::bytes&, bool>(),
             nb::arg("budget_bytes"), nb::arg("min_bytes"), nb::arg("cut_bytes"),
             nb::arg("other_bytes"), nb::arg("verify"), nb::arg("seed"), nb::arg("switches_off"))
        .def("encode_cached", &BoundCache::encode_cached, nb::arg("model"), nb::arg("text").none(),
             nb::arg("add_special_tokens") = false, nb::arg("special_mode") = 0,
             nb::arg("errors") = 0, nb::arg("stop").none() = nb::none(),
             nb::arg("disk").none() = nb::none())
        .def("segments", &BoundCache::segments, nb::arg("model"), nb::arg("text"))
        .def("warm", &BoundCache::warm, nb::arg("model"), nb::arg("text"), nb::arg("key"),
             nb::arg("disk").none() = nb::none())
        .def_static("fingerprint", &BoundCache::fingerprint, nb::arg("model"))
        .def("clear", &BoundCache::clear)
        .def("resize", &BoundCache::resize, nb::arg("budget_bytes"))
        .def("after_fork", &BoundCache::after_fork)
        .def("use", &BoundCache::use)
        .def("models", &BoundCache::models);
    m.def(
        "is_whole_record",
        [](const nb::bytes& record) { return cache::is_whole_record(view_of(record)); },
        nb::arg("record"), "Is a record of the cache as it was written?");
}

}  // namespace tokenmill::bind
