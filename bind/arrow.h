// arrow: the structures of the Arrow C data interface, and string arrays -> texts.
#pragma once

#include <cstdint>
#include <vector>

#include "pipeline/pipeline.h"

extern "C" {

struct ArrowSchema {
    const char* format;
    const char* name;
    const char* metadata;
    std::int64_t flags;
    std::int64_t n_children;
    ArrowSchema** children;
    ArrowSchema* dictionary;
    void (*release)(ArrowSchema*);
    void* private_data;
};

struct ArrowArray {
    std::int64_t length;
    std::int64_t null_count;
    std::int64_t offset;
    std::int64_t n_buffers;
    std::int64_t n_children;
    const void** buffers;
    ArrowArray** children;
    ArrowArray* dictionary;
    void (*release)(ArrowArray*);
    void* private_data;
};

struct ArrowArrayStream {
    int (*get_schema)(ArrowArrayStream*, ArrowSchema* out);
    int (*get_next)(ArrowArrayStream*, ArrowArray* out);
    const char* (*get_last_error)(ArrowArrayStream*);
    void (*release)(ArrowArrayStream*);
    void* private_data;
};

}  // extern "C"

namespace tokenmill::bind {

// Releases a schema that we own.
class SchemaGuard {
public:
    explicit SchemaGuard(ArrowSchema& schema) : schema_(schema) {}
    ~SchemaGuard() {
        if (schema_.release != nullptr) {
            schema_.release(&schema_);
        }
    }
    SchemaGuard(const SchemaGuard&) = delete;
    SchemaGuard& operator=(const SchemaGuard&) = delete;

private:
    ArrowSchema& schema_;
};

// Appends the strings of an array. Nothing is copied: the array must outlive the texts.
// Throws Error(NotText) for other types and for nulls.
void append_arrow(const ArrowSchema& schema, const ArrowArray& array,
                  std::vector<pipeline::Text>& out);

}  // namespace tokenmill::bind
