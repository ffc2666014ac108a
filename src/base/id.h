#pragma once
/// Ids: which strings may name a task, and how random ones are made. Chance is
/// an argument: nothing here rolls a die.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace cru {

/// `[A-Za-z0-9_-]{1,64}`: safe as a file name, a branch and a URL segment.
bool is_task_id(std::string_view text);
/// Outcomes: nothing; invalid_argument naming `field` and the rule.
Result<> check_task_id(std::string_view text, std::string_view field = "id");

/// A version 4 UUID from 16 random bytes.
std::string uuid_from(std::array<uint8_t, 16> bytes);
/// A version 8 UUID that ends with a time, in milliseconds, and is random otherwise: made one after the
/// other, they stand together in an index that looks at their ends first, and still differ in their first
/// letters.
std::string timed_uuid_from(std::array<uint8_t, 16> bytes, Time now);
/// Lowercase hexadecimal.
std::string hex(std::string_view bytes);

/// FNV-1a, 64 bits, as 16 hexadecimal digits: stable across programs and versions. Tells texts apart that
/// nobody forges; it is no signature.
uint64_t fnv1a(std::string_view bytes);
std::string fnv1a_hex(std::string_view bytes);

std::string to_base64(std::string_view bytes);
/// Errors: invalid_argument if `text` is not canonical base64: padded, and without stray bits.
Result<std::string> from_base64(std::string_view text);

/// Same length and content, in time that depends on the length only.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace cru
