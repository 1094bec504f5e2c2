// split: document bytes -> byte ranges of words. A split is a chain of stages; each is a DFA that
// cuts the pieces of the stage before. Well-known splits also have a rule, which 64-byte masks
// follow (split-inl.h). Needs well-formed UTF-8; never allocates, never fails. Cost: a look-up or
// two a character for each stage; by a rule, a few vector and mask operations per 64 bytes.
#pragma once

#include <span>
#include <vector>

#include "base/adjacency.h"
#include "base/blob.h"
#include "base/types.h"
#include "simd/masks.h"
#include "split/added.h"
#include "split/advance.h"
#include "split/facts.h"

namespace tokenmill::split {

constexpr std::size_t kMaxStages = 8;

enum SplitSection : std::uint32_t {
    kStages = 200,
    kRule = 201,
    kRuleBasic = 202,
    kRulePageOf = 203,
    kRulePages = 204,
    kAdjacency = 205,
    kInside = 206,
    kStageFirst = 210,  // per stage ten numbers: basic, page_of, pages, next, sync, separates
};

// A split that the mask scanner knows, as data.
struct Rule {
    Family family = Family::None;
    Contraction contraction = Contraction::None;
    std::uint32_t digits = 0;  // 0: a run, with a blank before it; n: groups of at most n
    NewlineTail tail = NewlineTail::None;  // newlines that belong to the punctuation before them
    std::uint32_t end_run = 0;             // white space up to the end of the text is one word
    std::uint32_t isolate_digits = 0;      // every number character alone, before anything else
    std::uint32_t isolate_han = 0;         // Han runs alone, before anything else
    std::uint32_t fold_long_s = 0;         // U+017F counts as s when case is ignored
    std::uint32_t wide_classes = 0;        // Adjacent: wide characters have a ByteClass each
};

struct StageInput {
    std::span<const std::uint32_t> ranges;  // begin, end, class, ...; sorted, covering everything
    std::uint32_t n_classes = 0;
    std::span<const std::uint16_t> next;  // [state][n_classes + 1]
    std::span<const std::uint8_t> sync;
    std::span<const std::uint8_t> separates;
    bool keep_match = true;
    bool keep_gap = true;
    bool on_bytes = false;
};

struct SplitInput {
    std::vector<StageInput> stages;
    Rule rule;
    std::span<const std::uint32_t> rule_ranges;  // begin, end, bits; Adjacent: ByteClass
    Adjacency adjacency;
    InsideCuts inside;
    bool cuts_inside = false;
};

// [right][left]: all ones or zero.
struct Joins {
    std::uint64_t of[kByteClasses][kByteClasses] = {};
};

// A compiled split as the scanners read it. The blob must outlive it.
class SplitView {
public:
    SplitView() = default;
    explicit SplitView(const BlobReader& blob);

    // May a scan start between these two neighbouring code points, whatever came before?
    [[nodiscard]] bool is_sync(std::uint32_t left, std::uint32_t right) const noexcept;

    std::size_t stage_count = 0;
    bool splits_chars = false;  // a stage on bytes may end a word inside a character
    Stage stages[kMaxStages] = {};
    std::size_t stage_states[kMaxStages] = {};
    Rule rule;
    ClassTable rule_classes{};
    std::uint32_t letter_leads = 0;  // bit k: under lead byte C0 + k all 64 characters are letters
    Adjacency adjacency;
    Joins joins;
    bool cuts_inside = false;  // Adjacent: words may also be cut where `inside` allows it
    InsideCuts inside;
    Joins joins_inside;
    simd::PairTables pairs{};  // Adjacent: both, exceptions too, for blocks by their bytes alone
    bool has_pairs = false;

private:
    void read_adjacency(const BlobReader& blob);
    [[nodiscard]] bool is_cut(std::uint32_t left, std::uint32_t right) const noexcept;
};

// Throws Error(BadSpec) for tables that contradict themselves.
void compile_split(const SplitInput& input, BlobWriter& out);

// Sections of a class table built from sorted (begin, end, value) ranges.
void write_classes(std::span<const std::uint32_t> ranges, std::uint32_t basic_id,
                   std::uint32_t page_of_id, std::uint32_t pages_id, BlobWriter& out);
[[nodiscard]] ClassTable read_classes(const BlobReader& blob, std::uint32_t basic_id,
                                      std::uint32_t page_of_id, std::uint32_t pages_id);

}  // namespace tokenmill::split
