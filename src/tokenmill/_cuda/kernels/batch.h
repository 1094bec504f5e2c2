// Numbers that kernels and Python share: reasons, options, counters and codes.
#pragma once

// Why the CPU must encode a document: bits of Batch::doc_flags.
enum Reason : u32 {
    kInvalidUtf8 = 1,
    kNotNormalized = 2,  // a normalizer may touch it
    kAddedToken = 4,     // it may hold one
    kLongWord = 8,
    kNoSync = 16,    // too long a stretch in which no word surely begins
    kOverflow = 32,  // a list of the batch was too short
};

// Bits of Batch::options.
enum Option : u32 {
    kFindAdded = 1,    // added tokens are looked for
    kKeepRepeats = 4,  // no dedupe: every miss is merged on its own (for measurements)
    kLearn = 8,        // new words go into the tables
};

enum Counter : u32 {
    kMissCount = 0,
    kBinCount = 2,  // six classes of length: up to 16, 32, 64, 128, 512 bytes, and longer
    kFlagged = 8,   // documents with flags
    kArrival = 9,   // a scan did not end where the next one began: must stay 0
    kLearntCount = 10,
    kWordCount = 11,
    kIdCount = 12,
};
