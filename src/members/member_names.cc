#include "members/member_names.h"

#include <fmt/format.h>

#include <charconv>

namespace cru::members {
namespace {

constexpr int64_t max_stems = 1000;

bool is_name_taken(Reader& reader, const std::string& name, std::string_view except) {
  return reader.row("SELECT 1 FROM members WHERE name = ? AND ended_at IS NULL AND id <> ?", name, except)
      .has_value();
}

}  // namespace

std::string next_name(Tx& tx, std::string stem) {
  // What clients call themselves is theirs to choose: however many words they find, the table stays small.
  bool is_new = !tx.row("SELECT 1 FROM member_numbers WHERE stem = ?", stem);
  if (is_new && tx.row("SELECT count(*) FROM member_numbers")->integer(0) >= max_stems) stem = "agent";
  for (;;) {
    tx.exec(
        "INSERT INTO member_numbers(stem, last) VALUES(?, 1) ON CONFLICT(stem) DO UPDATE SET last = last + 1",
        stem);
    auto number = tx.row("SELECT last FROM member_numbers WHERE stem = ?", stem)->integer(0);
    auto numbered = fmt::format("{}-{}", stem, number);
    if (!is_name_taken(tx, numbered, "")) return numbered;
  }
}

std::string free_name(Tx& tx, const std::string& wanted, std::string_view except, int most_tries) {
  auto free = wanted;
  for (int number = 2; is_name_taken(tx, free, except); ++number) {
    if (number > most_tries) return next_name(tx, wanted);
    free = fmt::format("{}-{}", wanted, number);
  }
  return free;
}

bool is_numbered_name(Reader& reader, std::string_view name) {
  auto dash = name.rfind('-');
  if (dash == std::string_view::npos) return false;
  int64_t number = 0;
  auto [end, error] = std::from_chars(name.data() + dash + 1, name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || number < 1) return false;
  return reader.row("SELECT 1 FROM member_numbers WHERE stem = ? AND last >= ?", name.substr(0, dash), number)
      .has_value();
}

}  // namespace cru::members
