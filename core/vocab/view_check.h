// What the files that view a vocabulary share. Internal to vocab.
#pragma once

#include <cstdint>
#include <span>

namespace tokenmill::vocab {

// Throws Error(CorruptModel).
[[noreturn]] void corrupt(const char* problem);

// Collects numbers that must not be above a limit and tells at the end: a difference below 0 has
// its top bit set, and so has a number that is too large for that. No comparison and no stop in
// the middle, so that the compiler checks several numbers at a time.
template <typename Number>
class LimitCheck {
public:
    explicit constexpr LimitCheck(Number limit) : limit_(limit) {}  // below half of all numbers
    constexpr void add(Number number) noexcept { seen_ |= number | (limit_ - number); }
    [[nodiscard]] constexpr bool failed() const noexcept {
        return seen_ >> (8 * sizeof(Number) - 1) != 0;
    }

private:
    Number limit_;
    Number seen_ = 0;
};

// Is a number at or above the limit?
[[nodiscard]] inline bool has_above(std::span<const std::uint32_t> numbers, std::uint32_t limit) {
    LimitCheck<std::uint32_t> check(limit - 1);
    for (const std::uint32_t number : numbers) {
        check.add(number);
    }
    return check.failed();
}

// The same, but all ones are allowed: they mean "none".
[[nodiscard]] inline bool has_some_above(std::span<const std::uint32_t> numbers,
                                         std::uint32_t limit) {
    LimitCheck<std::uint32_t> check(limit);
    for (const std::uint32_t number : numbers) {
        check.add(number + 1);
    }
    return check.failed();
}

}  // namespace tokenmill::vocab
