// Globs against a slow reader that tries everything. Two patterns and a path, a line each.
#include "base/glob.h"

#include "fuzz.h"

namespace cru::fuzz {
namespace {

/// `begins`: the pattern is at the beginning of a folder's name, where `**/` is any folders or none.
bool slow(std::string_view pattern, std::string_view path, bool begins = true) {
  if (pattern.empty()) return path.empty();
  if (begins && pattern.starts_with("**/")) {
    if (slow(pattern.substr(3), path)) return true;
    auto slash = path.find('/');
    return slash != std::string_view::npos && slow(pattern, path.substr(slash + 1));
  }
  if (pattern.starts_with("**"))
    return slow(pattern.substr(2), path, false) || (!path.empty() && slow(pattern, path.substr(1), false));
  if (pattern[0] == '*' && slow(pattern.substr(1), path, false)) return true;
  if (path.empty()) return false;
  if (pattern[0] == '*') return path[0] != '/' && slow(pattern, path.substr(1), false);
  bool fits = pattern[0] == '?' ? path[0] != '/' : pattern[0] == path[0];
  return fits && slow(pattern.substr(1), path.substr(1), pattern[0] == '/');
}

}  // namespace

void check(std::string_view input) {
  auto parts = pieces(input, '\n', 3);
  parts.resize(3);
  for (auto& part : parts) part = part.substr(0, 12);  // the slow reader is slow
  Glob one(parts[0]), two(parts[1]);
  auto path = parts[2];
  bool matches = one.matches(path);
  if (!parts[0].ends_with('/')) require(matches == slow(parts[0], path), "it is what the slow reader says");
  require(one.meets(two) == two.meets(one), "meeting is mutual");
  require(one.meets(one), "a pattern meets itself");
  require(!matches || !two.matches(path) || one.meets(two), "what matches both is where they meet");
  bool is_plain = path.find_first_of("*?") == std::string_view::npos && !path.ends_with('/');
  if (is_plain) require(matches == one.meets(Glob(path)), "a plain pattern is its own path");
}

}  // namespace cru::fuzz
