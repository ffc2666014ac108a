#pragma once
/// For fuzzers: what must hold whatever the bytes are, and pieces of them to work with.
#include <cstdio>
#include <cstdlib>
#include <source_location>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/text.h"

namespace cru::fuzz {

/// Ends the program where something that must hold does not: libFuzzer keeps the input.
inline void require(bool holds, const char* what,
                    std::source_location where = std::source_location::current()) {
  if (holds) return;
  std::fprintf(stderr, "%s:%u: does not hold: %s\n", where.file_name(), where.line(), what);
  std::abort();
}

inline bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    auto character = first_code_point(text);
    if (!character.valid) return false;
    text.remove_prefix(character.length);
  }
  return true;
}

/// An error is for people: it says something, in characters.
inline void require_readable(const Error& error,
                             std::source_location where = std::source_location::current()) {
  require(!error.message.empty(), "an error says what is wrong", where);
  require(is_utf8(error.message) && is_utf8(error.field) && is_utf8(error.hint), "an error is UTF-8", where);
}

/// The input cut at each `mark`: at least one piece, the last has the rest.
inline std::vector<std::string_view> pieces(std::string_view text, char mark, size_t most) {
  std::vector<std::string_view> out;
  while (out.size() + 1 < most && text.find(mark) != std::string_view::npos) {
    out.push_back(text.substr(0, text.find(mark)));
    text.remove_prefix(out.back().size() + 1);
  }
  out.push_back(text);
  return out;
}

/// Each fuzzer defines this one; entry.cc calls it.
void check(std::string_view input);

}  // namespace cru::fuzz
