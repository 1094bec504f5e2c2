#include <algorithm>
#include <map>
#include <string>

#include "split/pairs.h"
#include "split/split.h"

namespace tokenmill::split {

namespace {

struct StageScalars {
    std::uint32_t n_classes;
    std::uint32_t n_states;
    std::uint32_t shift;
    std::uint32_t keep_match;
    std::uint32_t keep_gap;
    std::uint32_t on_bytes;
};

enum StagePart : std::uint32_t { kBasic, kPageOf, kPages, kNext, kSync, kSeparates };

std::uint32_t section(std::size_t stage, StagePart part) {
    return kStageFirst + static_cast<std::uint32_t>(10 * stage) + part;
}

[[noreturn]] void fail(ErrorCode code, const std::string& problem) {
    throw Error(code, "split: " + problem);
}

// Rows of a power of two, so that a scanner finds a transition by shift and or.
std::vector<std::uint16_t> pad_rows(const StageInput& stage, std::uint32_t shift,
                                    std::uint32_t n_states) {
    const std::uint32_t row = stage.n_classes + 1;
    std::vector<std::uint16_t> next(std::size_t{n_states} << shift, 0);
    for (std::uint32_t state = 0; state < n_states; ++state) {
        for (std::uint32_t c = 0; c < row; ++c) {
            const std::uint16_t step = stage.next[std::size_t{state} * row + c];
            if ((step & kStateMask) >= n_states) {
                fail(ErrorCode::BadSpec, "a transition leads to a state that does not exist");
            }
            next[std::size_t{state} << shift | c] = step;
        }
    }
    return next;
}

StageScalars write_stage(const StageInput& stage, std::size_t number, BlobWriter& out) {
    const std::size_t row = stage.n_classes + 1;
    const std::size_t square = std::size_t{stage.n_classes} * stage.n_classes;
    if (stage.n_classes == 0 || stage.n_classes > 254 || stage.next.size() % row != 0 ||
        stage.next.size() < 2 * row || stage.sync.size() != square ||
        stage.separates.size() != square) {
        fail(ErrorCode::BadSpec, "tables of stage " + std::to_string(number) + " have odd sizes");
    }
    std::uint32_t shift = 1;
    while ((1U << shift) < row) {
        ++shift;
    }
    const auto n_states = static_cast<std::uint32_t>(stage.next.size() / row);
    for (std::size_t i = 2; i < stage.ranges.size(); i += 3) {
        if (stage.ranges[i] >= stage.n_classes) {
            fail(ErrorCode::BadSpec, "a class number is too large");
        }
    }
    write_classes(stage.ranges, section(number, kBasic), section(number, kPageOf),
                  section(number, kPages), out);
    out.add(section(number, kNext), pad_rows(stage, shift, n_states));
    out.add_bytes(section(number, kSync), stage.sync.data(), square);
    out.add_bytes(section(number, kSeparates), stage.separates.data(), square);
    return {stage.n_classes,
            n_states,
            shift,
            stage.keep_match ? 1U : 0U,
            stage.keep_gap ? 1U : 0U,
            stage.on_bytes ? 1U : 0U};
}

// A scanner never checks what it reads, so every number of a model is checked here.
void check_stage(const StageScalars& scalars, std::span<const std::uint16_t> next) {
    if (scalars.n_classes == 0 || scalars.n_classes > 254 || scalars.shift > 8 ||
        (1U << scalars.shift) < scalars.n_classes + 1 || scalars.n_states < 2 ||
        next.size() != std::size_t{scalars.n_states} << scalars.shift) {
        fail(ErrorCode::CorruptModel, "stage tables of impossible size");
    }
    for (const std::uint16_t step : next) {
        if ((step & kStateMask) >= scalars.n_states) {
            fail(ErrorCode::CorruptModel, "a transition leads out of the table");
        }
    }
}

void check_classes(const ClassTable& table, std::size_t page_bytes, std::uint32_t limit) {
    for (std::size_t i = 0; i < 65536; ++i) {
        if (table.basic[i] >= limit) {
            fail(ErrorCode::CorruptModel, "a class number is too large");
        }
    }
    for (std::size_t i = 0; i < page_bytes; ++i) {
        if (table.pages[i] >= limit) {
            fail(ErrorCode::CorruptModel, "a class number is too large");
        }
    }
}

// Bits -> masks of all ones or zero, which joined_mask combines without a branch.
Joins spread_joins(const std::uint8_t* by_right) {
    Joins joins;
    for (std::size_t right = 0; right < kByteClasses; ++right) {
        for (std::size_t left = 0; left < kByteClasses; ++left) {
            joins.of[right][left] = std::uint64_t{0} - (by_right[right] >> left & 1U);
        }
    }
    return joins;
}

}  // namespace

// The basic plane is flat. Above it 4096 pages of 256 are mostly equal: each is stored once.
void write_classes(std::span<const std::uint32_t> ranges, std::uint32_t basic_id,
                   std::uint32_t page_of_id, std::uint32_t pages_id, BlobWriter& out) {
    std::vector<std::uint8_t> all(0x110000, 0);
    for (std::size_t i = 0; i + 2 < ranges.size(); i += 3) {
        if (ranges[i] > ranges[i + 1] || ranges[i + 1] > all.size() || ranges[i + 2] > 255) {
            fail(ErrorCode::BadSpec, "a range of code points is out of bounds");
        }
        std::fill(all.data() + ranges[i], all.data() + ranges[i + 1],
                  static_cast<std::uint8_t>(ranges[i + 2]));
    }
    std::map<std::string, std::uint16_t> known;
    std::vector<std::uint16_t> page_of(4096);
    std::vector<std::uint8_t> pages;
    for (std::size_t page = 0; page < 4096; ++page) {
        const auto first = all.begin() + 0x10000 + static_cast<std::ptrdiff_t>(page * 256);
        const std::string bytes(first, first + 256);
        const auto [entry, is_new] =
            known.try_emplace(bytes, static_cast<std::uint16_t>(known.size()));
        if (is_new) {
            pages.insert(pages.end(), bytes.begin(), bytes.end());
        }
        page_of[page] = entry->second;
    }
    out.add_bytes(basic_id, all.data(), 65536);
    out.add(page_of_id, page_of);
    out.add(pages_id, pages);
}

ClassTable read_classes(const BlobReader& blob, std::uint32_t basic_id, std::uint32_t page_of_id,
                        std::uint32_t pages_id) {
    const auto basic = blob.need<std::uint8_t>(basic_id, 65536);
    const auto page_of = blob.need<std::uint16_t>(page_of_id, 4096);
    const auto pages = blob.get<std::uint8_t>(pages_id);
    for (const std::uint16_t page : page_of) {
        if ((std::size_t{page} + 1) * 256 > pages.size()) {
            fail(ErrorCode::CorruptModel, "a page of classes is missing");
        }
    }
    return {basic.data(), page_of.data(), pages.data()};
}

void compile_split(const SplitInput& input, BlobWriter& out) {
    if (input.stages.size() > kMaxStages) {
        fail(ErrorCode::BadSpec, "at most " + std::to_string(kMaxStages) + " stages, got " +
                                     std::to_string(input.stages.size()));
    }
    std::vector<StageScalars> scalars;
    scalars.reserve(input.stages.size());
    for (std::size_t i = 0; i < input.stages.size(); ++i) {
        scalars.push_back(write_stage(input.stages[i], i, out));
    }
    out.add(kStages, scalars);
    out.add_value(kRule, input.rule);
    out.add_value(kAdjacency, input.adjacency);
    if (input.cuts_inside) {
        out.add_value(kInside, input.inside);
    }
    if (input.rule.family != Family::None) {
        write_classes(input.rule_ranges, kRuleBasic, kRulePageOf, kRulePages, out);
    }
}

SplitView::SplitView(const BlobReader& blob) {
    const auto scalars = blob.get<StageScalars>(kStages);
    stage_count = scalars.size();
    if (stage_count > kMaxStages) {
        fail(ErrorCode::CorruptModel, "too many stages");
    }
    for (std::size_t i = 0; i < stage_count; ++i) {
        const StageScalars& s = scalars[i];
        const auto next = blob.get<std::uint16_t>(section(i, kNext));
        check_stage(s, next);
        const std::size_t square = std::size_t{s.n_classes} * s.n_classes;
        stages[i].classes =
            read_classes(blob, section(i, kBasic), section(i, kPageOf), section(i, kPages));
        check_classes(stages[i].classes, blob.get<std::uint8_t>(section(i, kPages)).size(),
                      s.n_classes);
        stages[i].next = next.data();
        stages[i].shift = s.shift;
        stage_states[i] = s.n_states;
        stages[i].n_classes = s.n_classes;
        stages[i].sync = blob.need<std::uint8_t>(section(i, kSync), square).data();
        stages[i].separates = blob.need<std::uint8_t>(section(i, kSeparates), square).data();
        stages[i].keep_match = s.keep_match != 0;
        stages[i].keep_gap = s.keep_gap != 0;
        stages[i].on_bytes = s.on_bytes != 0;
        splits_chars |= stages[i].on_bytes;
    }
    rule = blob.need<Rule>(kRule, 1)[0];
    if (rule.family > Family::Adjacent) {
        fail(ErrorCode::CorruptModel, "a rule of an unknown family");
    }
    if (rule.family != Family::None) {
        rule_classes = read_classes(blob, kRuleBasic, kRulePageOf, kRulePages);
    }
    if (rule.family == Family::Adjacent) {
        read_adjacency(blob);  // rule_classes holds a ByteClass here, else ClassBit
    } else if (rule.family != Family::None) {
        for (std::uint32_t lead = 2; lead < 32; ++lead) {
            bool letters = true;
            for (std::uint32_t code = lead << 6; code < (lead + 1) << 6; ++code) {
                letters &= (rule_classes.basic[code] & (kLetter | kNumber | kWhite)) == kLetter;
            }
            letter_leads |= letters ? 1U << lead : 0U;
        }
    }
}

// Where words start by neighbours alone: what vocab learnt from its tokens.
void SplitView::read_adjacency(const BlobReader& blob) {
    adjacency = blob.need<Adjacency>(kAdjacency, 1)[0];
    check_classes(rule_classes, blob.get<std::uint8_t>(kRulePages).size(), kByteClasses);
    if (adjacency.exception_count > Adjacency::kMaxExceptions) {
        fail(ErrorCode::CorruptModel, "too many exceptions of the neighbours");
    }
    joins = spread_joins(adjacency.joins);
    cuts_inside = blob.has(kInside) && rule.wide_classes == 0;
    if (cuts_inside) {
        inside = blob.need<InsideCuts>(kInside, 1)[0];
        joins_inside = spread_joins(inside.joins);
    }
    // Where wide characters have classes, a block may take the other way: it knows no exceptions
    // of the byte before.
    has_pairs = make_pair_tables(adjacency, inside, pairs) &&
                (rule.wide_classes == 0 || adjacency.exception_count == 0);
}

// Adjacent: does a word start between these two?
bool SplitView::is_cut(std::uint32_t left, std::uint32_t right) const noexcept {
    if (left < 0x80 && right < 0x80) {
        return !adjacency.joined(static_cast<std::uint8_t>(left), static_cast<std::uint8_t>(right));
    }
    const auto class_of = [&](std::uint32_t code) {
        return code < 0x80
                   ? static_cast<std::size_t>(class_of_byte(static_cast<std::uint8_t>(code)))
                   : std::size_t{rule_classes.of(code)};
    };
    return (adjacency.joins[class_of(right)] >> class_of(left) & 1U) == 0;
}

// Stage by stage: a sync pair ends a word for certain; a pair that separates only keeps the matches
// of this stage apart, so the next stage decides.
bool SplitView::is_sync(std::uint32_t left, std::uint32_t right) const noexcept {
    if (rule.family == Family::Adjacent) {
        return is_cut(left, right);
    }
    for (std::size_t i = 0; i < stage_count; ++i) {
        const Stage& stage = stages[i];
        if (stage.on_bytes) {
            return false;
        }
        const std::size_t at =
            std::size_t{stage.classes.of(left)} * stage.n_classes + stage.classes.of(right);
        if (stage.sync[at] != 0) {
            return true;
        }
        if (stage.separates[at] == 0) {
            return false;
        }
    }
    return false;
}

}  // namespace tokenmill::split
