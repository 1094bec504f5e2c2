// device: a compiled model -> copies of its tables, as arrays by name, for a GPU.
#include <span>

#include "arrays.h"

namespace tokenmill::bind {

namespace {

// A copy that numpy owns, so that it outlives the model.
template <typename T>
nb::object array_of(std::span<const T> values) {
    return array_owning(std::vector<T>(values.begin(), values.end()));
}

template <typename T>
nb::object array_of(const T* values, std::size_t count) {
    return array_of(std::span<const T>(values, count));
}

// The pages in use are those that page_of names.
void add_classes(const split::ClassTable& table, const std::string& name, nb::dict& out) {
    std::size_t pages = 0;
    for (std::size_t i = 0; i < 4096; ++i) {
        pages = std::max<std::size_t>(pages, table.page_of[i] + std::size_t{1});
    }
    out[(name + "_basic").c_str()] = array_of(table.basic, 65536);
    out[(name + "_page_of").c_str()] = array_of(table.page_of, 4096);
    out[(name + "_pages").c_str()] = array_of(table.pages, pages * 256);
}

// Plain numbers: the kernels have the same enums.
nb::dict rule_of(const split::Rule& rule) {
    nb::dict out;
    out["family"] = static_cast<std::uint32_t>(rule.family);
    out["contraction"] = static_cast<std::uint32_t>(rule.contraction);
    out["digits"] = rule.digits;
    out["tail"] = static_cast<std::uint32_t>(rule.tail);
    out["end_run"] = rule.end_run;
    out["isolate_digits"] = rule.isolate_digits;
    out["isolate_han"] = rule.isolate_han;
    out["fold_long_s"] = rule.fold_long_s;
    out["wide_classes"] = rule.wide_classes;
    return out;
}

nb::dict stage_of(const split::Stage& stage, std::size_t states) {
    nb::dict out;
    const std::size_t square = std::size_t{stage.n_classes} * stage.n_classes;
    add_classes(stage.classes, "stage", out);
    out["stage_next"] = array_of(stage.next, states << stage.shift);
    out["stage_shift"] = stage.shift;
    out["stage_classes"] = stage.n_classes;
    // Bit 0: a word always starts there. Bit 1: no match reaches over it, so a scan may start
    // there.
    std::vector<std::uint8_t> sync(stage.sync, stage.sync + square);
    for (std::size_t i = 0; i < square; ++i) {
        sync[i] = static_cast<std::uint8_t>(sync[i] | stage.separates[i] << 1);
    }
    out["stage_sync"] = array_owning(std::move(sync));
    out["stage_keeps_all"] = stage.keep_match && stage.keep_gap;
    out["stage_on_bytes"] = stage.on_bytes;
    return out;
}

// A kernel runs either the rule, or the automata one after the other.
void add_split(const split::SplitView& split, nb::dict& out) {
    out["rule"] = rule_of(split.rule);
    if (split.rule.family != split::Family::None) {
        add_classes(split.rule_classes, "rule", out);
    }
    out["joins"] = array_of(split.adjacency.joins, kByteClasses);
    out["stage_count"] = split.stage_count;
    nb::list stages;
    for (std::size_t i = 0; i < split.stage_count; ++i) {
        stages.append(stage_of(split.stages[i], split.stage_states[i]));
    }
    out["stages"] = stages;
    if (split.stage_count != 0) {
        out.update(stages[0]);  // most splits have one
    }
}

nb::object nodes_of(const split::AddedMatcher& matcher) {
    std::vector<std::uint32_t> flat;
    for (const split::AddedNode& node : matcher.nodes()) {
        flat.insert(flat.end(), {node.first_child, node.child_count, node.token});
    }
    return array_owning(std::move(flat));
}

// Both tries, the tokens that their nodes name, and the classes that their flags ask for.
void add_added(const split::AddedView& added, nb::dict& out) {
    out["raw_nodes"] = nodes_of(added.raw);
    out["raw_edges"] = array_of(added.raw.edges());
    out["normal_nodes"] = nodes_of(added.normal);
    out["normal_edges"] = array_of(added.normal.edges());
    std::vector<std::uint32_t> tokens;
    for (const split::AddedToken& token : added.tokens) {
        tokens.insert(tokens.end(), {token.id, token.flags});
    }
    out["added_tokens"] = array_owning(std::move(tokens));
    add_classes(added.classes(), "added", out);
}

void add_tokens(const vocab::VocabView& vocab, nb::dict& out) {
    vocab::TokenTable tokens = vocab.list_tokens();
    out["token_bytes"] = array_owning(std::move(tokens.bytes));
    out["token_offsets"] = array_owning(std::move(tokens.offsets));
    out["token_reachable"] = array_owning(std::move(tokens.is_reachable));
}

// What merging over characters starts from, by code point: the symbol of a character, or kIdMask
// for one that the vocabulary does not have.
std::vector<std::uint32_t> char_symbols(const vocab::VocabView& vocab) {
    std::vector<std::uint32_t> symbols(0x110000, vocab::kIdMask);
    for (std::uint32_t code = 0; code < symbols.size(); ++code) {
        std::uint32_t found = vocab::kNoMerge;
        if (code < 0x80) {
            found = vocab.external[code] != vocab::VocabView::kNoToken ? code : vocab::kNoMerge;
        } else if (code < 0x10000) {
            found = vocab.char_symbols[code];
        } else {
            const std::uint8_t text[4] = {
                static_cast<std::uint8_t>(0xF0 | code >> 18),
                static_cast<std::uint8_t>(0x80 | (code >> 12 & 63)),
                static_cast<std::uint8_t>(0x80 | (code >> 6 & 63)),
                static_cast<std::uint8_t>(0x80 | (code & 63)),
            };
            const TokenId id = vocab.find(text);
            found = id == vocab::VocabView::kNoToken ? vocab::kNoMerge : vocab.internal[id];
        }
        symbols[code] = found == vocab::kNoMerge ? vocab::kIdMask : found;
    }
    return symbols;
}

// What vocabularies over characters have besides.
void add_characters(const vocab::VocabView& vocab, nb::dict& out) {
    out["char_symbols"] = array_owning(char_symbols(vocab));
    out["first_byte_id"] = vocab.scalars().first_byte_id;
}

// What vocabularies have whose words are looked up.
void add_words(const vocab::VocabView& vocab, nb::dict& out) {
    using vocab::Trie;
    const vocab::Scalars& scalars = vocab.scalars();
    const vocab::NodeTables& nodes = vocab.nodes();
    out["trie_cells"] = array_of(nodes.trie.cells, nodes.size);
    out["trie_tokens"] = array_of(nodes.tokens, nodes.size);
    out["unk_id"] = scalars.unk_id;
    out["drop_white"] = scalars.drop_white != 0;
    out["max_characters"] = scalars.max_characters;
    out["whole_text"] = scalars.whole_text != 0;
    out["unknown_score"] = scalars.unknown_score;
    out["has_byte_ids"] = scalars.first_byte_id != 0 && vocab.external.size() > 256;
    out["doubt"] = vocab.doubt;
    if (vocab.kind() == vocab::ModelKind::Unigram) {
        out["trie_scores"] = array_of(nodes.scores, nodes.size);
    } else {
        const std::uint32_t node = nodes.trie.step(Trie::kRoot, Trie::kContinues);
        out["trie_continues"] = node == Trie::kNoNode ? 0U : nodes.trie.cells[node];
    }
    add_tokens(vocab, out);
}

// Kernels merge over bytes or characters, or look words up in a trie.
void add_vocab(const vocab::VocabView& vocab, nb::dict& out) {
    out["kind"] = static_cast<std::uint32_t>(vocab.kind());
    out["token_count"] = vocab.token_count();
    out["ignore_merges"] = vocab.ignore_merges();
    out["drops_bytes"] = vocab.drops_bytes();
    out["has_ends"] = vocab.has_ends();
    out["has_ties"] = !vocab.tied_ranks.empty();
    if (!vocab.is_merged()) {
        if (vocab.kind() != vocab::ModelKind::WordLevel) {
            add_words(vocab, out);
        }
        return;
    }
    if (vocab.kind() == vocab::ModelKind::Characters) {
        add_characters(vocab, out);
    }
    const vocab::PairTable& pairs = vocab.pairs;
    out["pair_slots"] = array_of(pairs.slots, (std::size_t{pairs.mask} + 1) * pairs.kLine);
    out["pair_shift"] = pairs.shift;
    out["pair_mask"] = pairs.mask;
    out["byte_pairs"] = array_of(pairs.byte_pairs, 65536);
    out["external"] = array_of(vocab.external);
    const vocab::JunctionFilter& filter = vocab.junctions;
    out["junction_words"] = array_of(filter.words, std::size_t{1} << filter.kWordBits);
    out["junction_flags"] = array_of(filter.flags, 65536);
    out["junction_parts"] = array_of(filter.parts, std::size_t{filter.parts_mask} + 1);
    out["junction_parts_mask"] = filter.parts_mask;
    add_tokens(vocab, out);
}

}  // namespace

nb::dict device_tables(const pipeline::Model& model) {
    nb::dict out;
    add_vocab(model.vocab(), out);
    add_split(model.split(), out);
    add_added(model.added(), out);
    const Bytes program = model.normalizer();
    out["normalizer"] = nb::bytes(program.data(), program.size());
    out["plain_ranges"] = model.has_plain_ranges();
    out["prefix_space"] = static_cast<std::uint32_t>(model.prefix_space());
    out["has_respelling"] = model.has_respelling();
    out["prefix_ids"] = array_of(model.prefix_ids());
    out["suffix_ids"] = array_of(model.suffix_ids());
    return out;
}

}  // namespace tokenmill::bind
